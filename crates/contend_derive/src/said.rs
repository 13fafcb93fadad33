//! The arguments of `#[table(...)]`.

use proc_macro2::Ident;
use syn::parse::{Parse, ParseStream};
use syn::punctuated::Punctuated;
use syn::{Attribute, Error, LitInt, LitStr, Meta, Result, Token, parenthesized};

use crate::{Errors, nearest};

/// The possible values.
const WORDS: [&str; 5] = ["name", "point", "rows", "prefix", "index"];
const ALL: &str = "`name = \"...\"`, `point`, `rows = ...`, `prefix = ...` or `index(by_x = (field, field))`";

/// A secondary index and its fields.
pub(crate) struct Index {
    pub(crate) name: Ident,
    pub(crate) fields: Vec<Ident>,
}

/// The arguments given for the struct.
#[derive(Default)]
pub(crate) struct Said {
    pub(crate) name: Option<LitStr>,
    pub(crate) rows: Option<(Ident, usize)>,
    pub(crate) prefix: Option<(Ident, usize)>,
    pub(crate) point: Option<Ident>,
    pub(crate) indexes: Vec<Index>,
}

/// One thing in `#[table(...)]`.
enum Saying {
    Name(Ident, LitStr),
    Rows(Ident, usize),
    Prefix(Ident, usize),
    Point(Ident),
    Indexes(Vec<Index>),
}

impl Parse for Saying {
    fn parse(input: ParseStream) -> Result<Self> {
        let word: Ident = input.parse().map_err(|error| Error::new(error.span(), format!("write {ALL}")))?;
        match word.to_string().as_str() {
            "name" => {
                let text: LitStr = value(input, "`name` is a text: `name = \"jobs\"`")?;
                if text.value().is_empty() {
                    return Err(Error::new(
                        text.span(),
                        "a table's name is not empty: leave `name` out, or give one",
                    ));
                }
                Ok(Self::Name(word, text))
            }
            "rows" => {
                let rows = number(input, "`rows` is how many rows are expected: `rows = 1_000_000`")?;
                Ok(Self::Rows(word, rows))
            }
            "prefix" => {
                let columns = number(input, "`prefix` is how many fields of the key are one: `prefix = 1`")?;
                Ok(Self::Prefix(word, columns))
            }
            "point" if input.is_empty() || input.peek(Token![,]) => Ok(Self::Point(word)),
            "point" => Err(input.error("`point` stands alone: `#[table(point)]`")),
            "index" => indexes(input).map(Self::Indexes),
            other => Err(Error::new(word.span(), unknown(other))),
        }
    }
}

/// The error for an unknown word.
fn unknown(word: &str) -> String {
    if ["key", "group"].contains(&word) {
        return format!("`{word}` is said of fields: mark them `#[{word}]`");
    }
    match nearest(word, WORDS) {
        Some(near) => {
            format!("there is no `{word}` in `#[table(...)]`: did you mean `{near}`? There are {ALL}")
        }
        None => format!("there is no `{word}` in `#[table(...)]`: write {ALL}"),
    }
}

/// The value after `=`.
fn value<T: Parse>(input: ParseStream, says: &str) -> Result<T> {
    let parsed = input.parse::<Token![=]>().and_then(|_| input.parse());
    parsed.map_err(|error| Error::new(error.span(), says))
}

fn number(input: ParseStream, says: &str) -> Result<usize> {
    let number: LitInt = value(input, says)?;
    number.base10_parse().map_err(|error| Error::new(number.span(), format!("{says}; {error}")))
}

fn indexes(input: ParseStream) -> Result<Vec<Index>> {
    const SAYS: &str = "an index has a name and its fields: `index(by_state = (state, due))`";
    let parse = || {
        let list;
        parenthesized!(list in input);
        Punctuated::<Index, Token![,]>::parse_terminated(&list)
    };
    let indexes = parse().map_err(|error| Error::new(error.span(), SAYS))?;
    if indexes.is_empty() {
        return Err(input.error(SAYS));
    }
    Ok(indexes.into_iter().collect())
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
    pub(crate) fn of(attributes: &[Attribute], errors: &mut Errors) -> Self {
        let mut said = Self::default();
        for attribute in attributes {
            if !attribute.path().is_ident("table") {
                misplaced(attribute, errors);
                continue;
            }
            let Meta::List(list) = &attribute.meta else {
                let says = format!("`#[table(...)]` says of the struct, in parentheses: {ALL}");
                errors.add(attribute, says);
                continue;
            };
            let sayings = list.parse_args_with(Punctuated::<Saying, Token![,]>::parse_terminated);
            for saying in errors.keep(sayings).into_iter().flatten() {
                said.take(saying, errors);
            }
        }
        said
    }

    fn take(&mut self, saying: Saying, errors: &mut Errors) {
        let (word, was_said) = match saying {
            Saying::Name(word, name) => (word, self.name.replace(name).is_some()),
            Saying::Rows(word, rows) => (word.clone(), self.rows.replace((word, rows)).is_some()),
            Saying::Prefix(word, columns) => (word.clone(), self.prefix.replace((word, columns)).is_some()),
            Saying::Point(word) => (word.clone(), self.point.replace(word).is_some()),
            Saying::Indexes(indexes) => return self.indexes.extend(indexes),
        };
        if was_said {
            errors.add(&word, format!("`{word}` is said twice of the table: leave one of them out"));
        }
    }
}

/// Refuses, above the struct, what is said of fields.
fn misplaced(attribute: &Attribute, errors: &mut Errors) {
    for word in ["key", "index", "group"] {
        if attribute.path().is_ident(word) {
            let or = if word == "index" { ", or write `#[table(index(by_x = (field, field)))]`" } else { "" };
            errors.add(attribute, format!("`#[{word}]` is said of a field: put it before one{or}"));
        }
    }
}
