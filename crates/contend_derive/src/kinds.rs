//! Types of fields that cannot be columns or parts of a key, recognized by their spelling: types of the language and of
//! the prelude, whose names nobody gives to types of their own. The compiler refuses all other unsuitable types, with
//! messages that `contend` has beside its traits.

use syn::{Expr, ExprLit, GenericArgument, Lit, PathArguments, PathSegment, Type, TypeArray};

/// The most bytes of a column of text or bytes.
const BYTES_MAX: u64 = 65_535;

/// Returns the reason for which a type is no column, and a replacement, if its spelling shows that.
pub(crate) fn no_column(kind: &Type) -> Option<String> {
    match kind {
        Type::Reference(_) | Type::Ptr(_) => Some(
            "a reference has nothing to refer to in a row: take what it refers to, for a text `Text<N>`"
                .into(),
        ),
        Type::Tuple(_) => Some("a tuple is several columns: have a field for each, or a column group".into()),
        Type::Slice(_) => Some("a row has a fixed width: take `[u8; N]`".into()),
        Type::Array(array) => no_array(array),
        Type::BareFn(_) | Type::TraitObject(_) | Type::ImplTrait(_) | Type::Never(_) => {
            Some("that is no value: take a number, `bool`, `[u8; N]` or `Text<N>`".into())
        }
        Type::Paren(inner) => no_column(&inner.elem),
        Type::Group(inner) => no_column(&inner.elem),
        _ => no_named(segment(kind)?),
    }
}

fn no_array(array: &TypeArray) -> Option<String> {
    let element = segment(&array.elem).map(|element| element.ident.to_string());
    if element.as_deref() != Some("u8") {
        return Some(
            "of arrays, those of bytes are columns: take `[u8; N]`, or a field for each element".into(),
        );
    }
    too_long(&array.len)
}

/// Like `no_column`, for a type with a plain name.
fn no_named(segment: &PathSegment) -> Option<String> {
    let name = segment.ident.to_string();
    let says = match (name.as_str(), argument(segment)) {
        ("String" | "str", None) => {
            "a text in a row has a fixed width: take `Text<N>`, with the most bytes that it may have"
        }
        ("Vec", Some(_)) => {
            "a row has a fixed width: take `[u8; N]` for bytes, `Text<N>` for a text, or a table with a row for each \
             element"
        }
        ("usize" | "isize", None) => "its width is another on other machines: take `u64` or `i64`",
        ("char", None) => "take `u32`, or `Text<4>`",
        ("Box" | "Rc" | "Arc" | "Cow", Some(_)) => {
            "a row holds values and no pointers: take the type within, if that is a column"
        }
        ("HashMap" | "HashSet" | "BTreeMap" | "BTreeSet", Some(_)) => {
            "a row has a fixed width: have a table with a row for each element"
        }
        ("Text", Some(GenericArgument::Const(length))) => return too_long(length),
        ("Option", Some(GenericArgument::Type(within))) => return no_optional(within),
        _ => return None,
    };
    Some(says.into())
}

fn no_optional(within: &Type) -> Option<String> {
    if segment(within).is_some_and(|within| within.ident == "Option") {
        return Some("a column holds a value or none: take one `Option`".into());
    }
    no_column(within)
}

/// Like `no_column`, for a length that is written as a number.
fn too_long(length: &Expr) -> Option<String> {
    let Expr::Lit(ExprLit { lit: Lit::Int(length), .. }) = length else { return None };
    let is_too_long = length.base10_parse::<u64>().is_ok_and(|length| length > BYTES_MAX);
    is_too_long.then(|| "a column has 65,535 bytes at most: keep what is longer in several rows".into())
}

/// Returns the reason for which the type of a column cannot be part of a key, if its spelling shows that.
pub(crate) fn no_key(kind: &Type) -> Option<&'static str> {
    let segment = segment(kind)?;
    match segment.ident.to_string().as_str() {
        "f32" | "f64" => Some("a floating-point number has no place in the order of keys: take an integer"),
        "Option" if argument(segment).is_some() => {
            Some("a key always holds a value: take the type without `Option`, and some value for none")
        }
        _ => None,
    }
}

/// Whether the spelling of a type shows that the type is a column, and so no column group.
pub(crate) fn no_group(kind: &Type) -> bool {
    const COLUMNS: [&str; 14] = [
        "u8", "u16", "u32", "u64", "u128", "i8", "i16", "i32", "i64", "i128", "f32", "f64", "bool", "Option",
    ];
    let is_column = |segment: &PathSegment| COLUMNS.contains(&segment.ident.to_string().as_str());
    no_column(kind).is_some() || matches!(kind, Type::Array(_)) || segment(kind).is_some_and(is_column)
}

/// Returns the name of a type that is written as a name alone, and so has its usual meaning.
fn segment(kind: &Type) -> Option<&PathSegment> {
    let Type::Path(path) = kind else { return None };
    let is_plain = path.qself.is_none() && path.path.leading_colon.is_none() && path.path.segments.len() == 1;
    path.path.segments.first().filter(|_| is_plain)
}

/// Returns the first argument of a type.
fn argument(segment: &PathSegment) -> Option<&GenericArgument> {
    let PathArguments::AngleBracketed(arguments) = &segment.arguments else { return None };
    arguments.args.first()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kind(text: &str) -> Type {
        syn::parse_str(text).expect("a type")
    }

    #[test]
    fn what_may_be_a_column_is_left_to_the_compiler() {
        for text in [
            "u64",
            "f64",
            "Text<20>",
            "Text<LENGTH>",
            "[u8; 65535]",
            "[u8; N]",
            "Option<u8>",
            "Own",
            "own::String",
            "std::string::String",
            "Vec",
            "String<8>",
            "Option",
            "(u64)",
            "Box",
        ] {
            assert_eq!(no_column(&kind(text)), None, "{text}");
        }
        assert!(!no_group(&kind("Progress")) && !no_group(&kind("own::Progress")));
        assert!(["u64", "Option<u8>", "[u8; 4]", "String"].iter().all(|text| no_group(&kind(text))));
        assert!(no_key(&kind("own::f64")).is_none() && no_key(&kind("f64")).is_some());
    }
}
