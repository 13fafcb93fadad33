//! `#[derive(Table)]` and `#[derive(ColumnGroup)]` of the crate `contend`, which documents them: what a struct says of
//! its fields becomes a table's definition, and its fields are written to and read from the columns.
#![forbid(unsafe_code)]

use proc_macro2::{Ident, Span, TokenStream};
use quote::{format_ident, quote};
use syn::parse::{Parse, ParseStream};
use syn::punctuated::Punctuated;
use syn::spanned::Spanned;
use syn::{
    Attribute, Data, DataStruct, DeriveInput, Error, Fields, FieldsNamed, LitInt, LitStr, Result, Token,
    Type, parenthesized,
};

/// Makes a struct the rows of a table. Documented where it is used: `contend::Table`.
#[proc_macro_derive(Table, attributes(table, key, index, group))]
pub fn derive_table(input: proc_macro::TokenStream) -> proc_macro::TokenStream {
    let input = syn::parse_macro_input!(input as DeriveInput);
    expand(&input).unwrap_or_else(Error::into_compile_error).into()
}

/// Makes a struct a column group. Documented where it is used: `contend::ColumnGroup`.
#[proc_macro_derive(ColumnGroup)]
pub fn derive_column_group(input: proc_macro::TokenStream) -> proc_macro::TokenStream {
    let input = syn::parse_macro_input!(input as DeriveInput);
    expand_group(&input).unwrap_or_else(Error::into_compile_error).into()
}

/// A field and what is said of it.
struct Field {
    name: Ident,
    kind: Type,
    is_key: bool,
    is_group: bool,
}

/// A secondary index and its fields.
struct Index {
    name: Ident,
    fields: Vec<Ident>,
}

/// What is said of the struct.
#[derive(Default)]
struct Said {
    name: Option<LitStr>,
    rows: Option<LitInt>,
    prefix: Option<LitInt>,
    is_point: bool,
    indexes: Vec<Index>,
}

/// One thing in `#[table(...)]`.
enum Saying {
    Name(LitStr),
    Rows(LitInt),
    Prefix(LitInt),
    Point,
    Indexes(Vec<Index>),
}

impl Parse for Saying {
    fn parse(input: ParseStream) -> Result<Self> {
        let word: Ident = input.parse()?;
        match word.to_string().as_str() {
            "name" => {
                input.parse::<Token![=]>()?;
                Ok(Self::Name(input.parse()?))
            }
            "rows" => {
                input.parse::<Token![=]>()?;
                Ok(Self::Rows(input.parse()?))
            }
            "prefix" => {
                input.parse::<Token![=]>()?;
                Ok(Self::Prefix(input.parse()?))
            }
            "point" => Ok(Self::Point),
            "index" => {
                let list;
                parenthesized!(list in input);
                let indexes = Punctuated::<Index, Token![,]>::parse_terminated(&list)?;
                Ok(Self::Indexes(indexes.into_iter().collect()))
            }
            _ => {
                let says = "write `name = \"...\"`, `point`, `rows = ...`, `prefix = ...` or \
                            `index(name = (field, field))`";
                Err(Error::new(word.span(), says))
            }
        }
    }
}

impl Parse for Index {
    fn parse(input: ParseStream) -> Result<Self> {
        let name = input.parse()?;
        input.parse::<Token![=]>()?;
        let list;
        parenthesized!(list in input);
        let fields = Punctuated::<Ident, Token![,]>::parse_terminated(&list)?;
        Ok(Self { name, fields: fields.into_iter().collect() })
    }
}

impl Said {
    fn of(attributes: &[Attribute]) -> Result<Self> {
        let mut said = Self::default();
        for attribute in attributes.iter().filter(|attribute| attribute.path().is_ident("table")) {
            for saying in attribute.parse_args_with(Punctuated::<Saying, Token![,]>::parse_terminated)? {
                match saying {
                    Saying::Name(name) => said.name = Some(name),
                    Saying::Rows(rows) => said.rows = Some(rows),
                    Saying::Prefix(columns) => said.prefix = Some(columns),
                    Saying::Point => said.is_point = true,
                    Saying::Indexes(indexes) => said.indexes.extend(indexes),
                }
            }
        }
        Ok(said)
    }
}

/// The named fields of a struct without parameters, which is what `refused` says.
fn named<'i>(input: &'i DeriveInput, refused: &str) -> Result<&'i FieldsNamed> {
    if !input.generics.params.is_empty() {
        return Err(Error::new(input.generics.span(), refused));
    }
    match &input.data {
        Data::Struct(DataStruct { fields: Fields::Named(named), .. }) => Ok(named),
        _ => Err(Error::new(input.span(), refused)),
    }
}

/// The fields in their order, and the indexes over single ones.
fn fields(input: &DeriveInput) -> Result<(Vec<Field>, Vec<Index>)> {
    let named = named(input, "rows of a table are a struct with named fields, without parameters")?;
    let (mut fields, mut indexes) = (Vec::new(), Vec::new());
    for field in &named.named {
        let name = field.ident.clone().expect("a named field has a name");
        let has = |word: &str| field.attrs.iter().any(|attribute| attribute.path().is_ident(word));
        if has("index") {
            indexes.push(Index { name: format_ident!("by_{name}"), fields: vec![name.clone()] });
        }
        let (is_key, is_group) = (has("key"), has("group"));
        if is_group && (is_key || has("index")) {
            let says =
                "a column group is neither of the key nor of an index: take the field out of the group";
            return Err(Error::new(name.span(), says));
        }
        fields.push(Field { name, kind: field.ty.clone(), is_key, is_group });
    }
    Ok((fields, indexes))
}

/// A type, or the tuple of several.
fn tuple(kinds: &[&Type]) -> TokenStream {
    match kinds {
        [one] => quote!(#one),
        several => quote!((#(#several),*)),
    }
}

fn expand(input: &DeriveInput) -> Result<TokenStream> {
    let said = Said::of(&input.attrs)?;
    let (fields, mut indexes) = fields(input)?;
    indexes.extend(said.indexes);
    let keys: Vec<&Field> = fields.iter().filter(|field| field.is_key).collect();
    if !(1..=4).contains(&keys.len()) {
        return Err(Error::new(input.ident.span(), "mark one to four fields with `#[key]`: the primary key"));
    }
    let name = said.name.map_or_else(|| input.ident.to_string().to_lowercase(), |name| name.value());
    let definition = definition(&name, &fields, &keys, &indexes);
    let point = said.is_point.then(|| quote!(.point()));
    let rows = said.rows.map(|rows| quote!(.expect_rows(#rows)));
    let prefix = said.prefix.map(|columns| quote!(.prefix(#columns)));
    let definition = quote!(#definition #point #rows #prefix);
    let constants = constants(input, &fields, &indexes)?;
    let table = table(&input.ident, &fields, &keys, &definition);
    Ok(quote!(#table #constants))
}

/// The expression of the table's definition.
fn definition(name: &str, fields: &[Field], keys: &[&Field], indexes: &[Index]) -> TokenStream {
    let columns = fields.iter().map(|Field { name, kind, is_group, .. }| {
        let name = name.to_string();
        if *is_group { quote!(.column_group::<#kind>(#name)) } else { quote!(.column::<#kind>(#name)) }
    });
    let keys = keys.iter().map(|key| key.name.to_string());
    let indexes = indexes.iter().map(|Index { name, fields }| {
        let (name, fields) = (name.to_string(), fields.iter().map(ToString::to_string));
        quote!(.index(#name, [#(#fields),*]))
    });
    quote!(::contend::Definition::new(#name) #(#columns)* .key([#(#keys),*]) #(#indexes)*)
}

/// The handles of the indexes and of the column groups.
fn constants(input: &DeriveInput, fields: &[Field], indexes: &[Index]) -> Result<TokenStream> {
    let (row, visibility) = (&input.ident, &input.vis);
    let mut constants = Vec::new();
    for (position, index) in indexes.iter().enumerate() {
        let kind = |name: &Ident| {
            let field = fields.iter().find(|field| field.name == *name && !field.is_group);
            let says = "there is no such field, or it is a column group";
            field.map(|field| &field.kind).ok_or_else(|| Error::new(name.span(), says))
        };
        let kinds = index.fields.iter().map(kind).collect::<Result<Vec<&Type>>>()?;
        if !(1..=4).contains(&kinds.len()) {
            return Err(Error::new(index.name.span(), "an index is over one to four fields"));
        }
        let (keys, position) = (tuple(&kinds), position as u16);
        let constant = Ident::new(&index.name.to_string().to_uppercase(), Span::call_site());
        let doc = format!("The secondary index `{}`.", index.name);
        constants.push(quote! {
            #[doc = #doc]
            #[allow(dead_code, reason = "an index may be there for another program")]
            #visibility const #constant: ::contend::Index<Self, #keys> = ::contend::Index::at(#position);
        });
    }
    let first = usize::from(has_others(fields));
    for (number, Field { name, kind, .. }) in fields.iter().filter(|field| field.is_group).enumerate() {
        let constant = Ident::new(&name.to_string().to_uppercase(), Span::call_site());
        let (number, doc) = ((first + number) as u16, format!("The column group `{name}`."));
        constants.push(quote! {
            #[doc = #doc]
            #[allow(dead_code, reason = "a column group may be read with the others only")]
            #visibility const #constant: ::contend::Group<Self, #kind> = ::contend::Group::at(#number);
        });
    }
    Ok(quote!(#[automatically_derived] impl #row { #(#constants)* }))
}

/// Whether there are columns beside the key that are in no column group, or there is no group: they come first.
fn has_others(fields: &[Field]) -> bool {
    let is_other = |field: &Field| !field.is_key && !field.is_group;
    fields.iter().any(is_other) || !fields.iter().any(|field| field.is_group)
}

/// The implementation of the trait.
fn table(row: &Ident, fields: &[Field], keys: &[&Field], definition: &TokenStream) -> TokenStream {
    let key_kinds: Vec<&Type> = keys.iter().map(|key| &key.kind).collect();
    let key_names: Vec<&Ident> = keys.iter().map(|key| &key.name).collect();
    let key_kind = tuple(&key_kinds);
    let key = match &key_names[..] {
        [one] => quote!(::core::clone::Clone::clone(&self.#one)),
        several => quote!((#(::core::clone::Clone::clone(&self.#several)),*)),
    };
    let pattern = match &key_names[..] {
        [one] => quote!(#one),
        several => quote!((#(#several),*)),
    };
    let others: Vec<&Field> = fields.iter().filter(|field| !field.is_key && !field.is_group).collect();
    let (bytes, writes, reads) = columns(&others);
    let groups: Vec<&Field> = fields.iter().filter(|field| field.is_group).collect();
    let (group_names, group_kinds): (Vec<_>, Vec<_>) =
        groups.iter().map(|Field { name, kind, .. }| (name, kind)).unzip();
    let count = groups.len() + usize::from(has_others(fields));
    let names = fields.iter().map(|field| &field.name);
    quote! {
        #[automatically_derived]
        impl ::contend::Table for #row {
            type Key = #key_kind;

            const GROUPS: usize = #count;

            fn definition() -> ::contend::Definition {
                #definition
            }

            fn key(&self) -> Self::Key {
                #key
            }

            fn write(&self, __row: &mut [u8]) {
                const __BYTES: usize = #bytes;
                let __columns = &mut __row[..__BYTES];
                #writes
                let __end = __BYTES;
                #(
                    let __place = ::contend::placed(__end, <#group_kinds as ::contend::ColumnGroup>::BYTES);
                    let __end = __place.end;
                    ::contend::ColumnGroup::write(&self.#group_names, &mut __row[__place]);
                )*
                let _ = (__row, __end);
            }

            fn read(#pattern: Self::Key, __row: &[u8]) -> Self {
                const __BYTES: usize = #bytes;
                let __columns = &__row[..__BYTES];
                #reads
                let __end = __BYTES;
                #(
                    let __place = ::contend::placed(__end, <#group_kinds as ::contend::ColumnGroup>::BYTES);
                    let __end = __place.end;
                    let #group_names = <#group_kinds as ::contend::ColumnGroup>::read(&__row[__place]);
                )*
                let _ = (__row, __end);
                Self { #(#names),* }
            }
        }
    }
}

/// How many bytes the columns of fields have, and how they are written to and read from as many bytes, `__columns`.
fn columns(fields: &[&Field]) -> (TokenStream, TokenStream, TokenStream) {
    let kinds = fields.iter().map(|field| &field.kind);
    let bytes = quote!(0 #(+ <#kinds as ::contend::Column>::TYPE.bytes())*);
    let writes = fields.iter().map(|Field { name, kind, .. }| {
        quote! {
            let (__column, __columns) = __columns.split_at_mut(<#kind as ::contend::Column>::TYPE.bytes());
            ::contend::Column::write(&self.#name, __column);
        }
    });
    let reads = fields.iter().map(|Field { name, kind, .. }| {
        quote! {
            let (__column, __columns) = __columns.split_at(<#kind as ::contend::Column>::TYPE.bytes());
            let #name = <#kind as ::contend::Column>::read(__column);
        }
    });
    (bytes, quote!(#(#writes)* let _ = __columns;), quote!(#(#reads)* let _ = __columns;))
}

/// The implementation of a column group.
fn expand_group(input: &DeriveInput) -> Result<TokenStream> {
    let named = named(input, "a column group is a struct with named fields, without parameters")?;
    let fields: Vec<Field> = named
        .named
        .iter()
        .map(|field| {
            let name = field.ident.clone().expect("a named field has a name");
            Field { name, kind: field.ty.clone(), is_key: false, is_group: false }
        })
        .collect();
    if fields.is_empty() {
        return Err(Error::new(input.ident.span(), "a column group has a field at least"));
    }
    let (bytes, writes, reads) = columns(&fields.iter().collect::<Vec<_>>());
    let definitions = fields.iter().map(|Field { name, kind, .. }| {
        let name = name.to_string();
        quote!((#name.into(), <#kind as ::contend::Column>::TYPE))
    });
    let (group, names) = (&input.ident, fields.iter().map(|field| &field.name));
    Ok(quote! {
        #[automatically_derived]
        impl ::contend::ColumnGroup for #group {
            const BYTES: usize = #bytes;

            fn columns() -> ::std::vec::Vec<(::std::borrow::Cow<'static, str>, ::contend::Type)> {
                ::std::vec![#(#definitions),*]
            }

            fn write(&self, __columns: &mut [u8]) {
                #writes
            }

            fn read(__columns: &[u8]) -> Self {
                #reads
                Self { #(#names),* }
            }
        }
    })
}
