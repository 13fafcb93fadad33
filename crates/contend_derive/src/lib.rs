//! `#[derive(Table)]` and `#[derive(ColumnGroup)]` of the crate `contend`, which documents them. The derives make a
//! table's definition from the fields of a struct and their attributes, and code that writes the fields to the columns
//! and reads them from there.
//!
//! Errors are in the terms of the struct's author: at the field, with its name and with what to write instead, and all
//! of them at once. Some errors only the compiler finds, for example that a type is no column. It reports them at the
//! field, too, since all code that is generated for a field has the place of the field's type.
#![forbid(unsafe_code)]

mod expand;
mod fields;
mod kinds;
mod said;

use core::fmt::Display;

use quote::ToTokens;
use syn::{Data, DataStruct, DeriveInput, Error, Fields, FieldsNamed, Result};

/// Makes a struct the rows of a table. Documented where it is used: `contend::Table`.
#[proc_macro_derive(Table, attributes(table, key, index, group))]
pub fn derive_table(input: proc_macro::TokenStream) -> proc_macro::TokenStream {
    let input = syn::parse_macro_input!(input as DeriveInput);
    expand::table(&input).unwrap_or_else(Error::into_compile_error).into()
}

/// Makes a struct a column group. Documented where it is used: `contend::ColumnGroup`.
#[proc_macro_derive(ColumnGroup, attributes(table, key, index, group))]
pub fn derive_column_group(input: proc_macro::TokenStream) -> proc_macro::TokenStream {
    let input = syn::parse_macro_input!(input as DeriveInput);
    expand::group(&input).unwrap_or_else(Error::into_compile_error).into()
}

/// All errors of a struct.
#[derive(Default)]
struct Errors(Option<Error>);

impl Errors {
    /// Adds an error at the place of these tokens.
    fn add(&mut self, at: impl ToTokens, says: impl Display) {
        self.join(Error::new_spanned(at, says));
    }

    fn join(&mut self, error: Error) {
        match &mut self.0 {
            Some(errors) => errors.combine(error),
            None => self.0 = Some(error),
        }
    }

    /// Returns the value of a result, or adds its error.
    fn keep<T>(&mut self, result: Result<T>) -> Option<T> {
        result.map_err(|error| self.join(error)).ok()
    }

    fn into_result(self) -> Result<()> {
        self.0.map_or(Ok(()), Err)
    }
}

/// Returns the named fields of a struct without parameters. `what` is the thing that the struct is to be, in the
/// singular.
fn named<'i>(input: &'i DeriveInput, what: &str) -> Result<&'i FieldsNamed> {
    let name = &input.ident;
    if !input.generics.params.is_empty() {
        let says = format!(
            "`{name}` has parameters, and {what} is of one type: write a struct without them for each type that they \
             stand for"
        );
        return Err(Error::new_spanned(&input.generics, says));
    }
    let says = match &input.data {
        Data::Struct(DataStruct { fields: Fields::Named(named), .. }) => return Ok(named),
        Data::Struct(DataStruct { fields: Fields::Unnamed(_), .. }) => format!(
            "the fields of `{name}` have no names, and {what} is a struct whose fields name its columns: write \
             `struct {name} {{ id: u64, ... }}`"
        ),
        Data::Struct(_) => {
            format!("`{name}` has no fields, and {what} is a struct whose fields are its columns: add some")
        }
        Data::Enum(_) => format!(
            "`{name}` is an enum, and {what} is a struct with named fields: have a field for each thing that a variant \
             holds; an enum can be a column, if it implements `contend::Column`"
        ),
        Data::Union(_) => {
            format!("`{name}` is a union, and {what} is a struct with named fields: write `struct`")
        }
    };
    Err(Error::new_spanned(name, says))
}

/// Returns the known word that is most like an unknown one, if any is close.
fn nearest<'w>(word: &str, words: impl IntoIterator<Item = &'w str>) -> Option<&'w str> {
    let word = word.to_lowercase();
    let distances = words.into_iter().map(|other| (distance(&word, &other.to_lowercase()), other));
    let near = distances.filter(|(distance, other)| *distance <= word.len().max(other.len()).div_ceil(3));
    near.min_by_key(|(distance, _)| *distance).map(|(_, other)| other)
}

/// The number of letters to add, leave out or replace to make one word of another.
fn distance(from: &str, to: &str) -> usize {
    let to: Vec<char> = to.chars().collect();
    let mut row: Vec<usize> = (0..=to.len()).collect();
    for (taken, letter) in from.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = taken + 1;
        for (at, other) in to.iter().enumerate() {
            let replaced = diagonal + usize::from(letter != *other);
            diagonal = row[at + 1];
            row[at + 1] = replaced.min(diagonal + 1).min(row[at] + 1);
        }
    }
    row[to.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_word_is_much_like_it() {
        let words = ["name", "point", "rows", "prefix", "index"];
        let near = |word| nearest(word, words);
        assert_eq!(
            ["nme", "Name", "row", "prefx", "unique"].map(near),
            [Some("name"), Some("name"), Some("rows"), Some("prefix"), None]
        );
        assert_eq!((distance("", "abc"), distance("abc", "abc"), distance("kitten", "sitting")), (3, 0, 3));
    }
}
