//! The fields of a struct as declared, and whether a table can be made of it.

use std::collections::BTreeMap;

use proc_macro2::Ident;
use quote::format_ident;
use syn::ext::IdentExt;
use syn::{DeriveInput, Meta, Result, Type};

use crate::said::{Index, Said};
use crate::{Errors, kinds, named, nearest};

/// The most fields of a key.
const KEY_FIELDS_MAX: usize = 4;
/// The most secondary indexes of a table.
const INDEXES_MAX: usize = 2;

/// A field and its attributes.
pub(crate) struct Field {
    pub(crate) name: Ident,
    pub(crate) kind: Type,
    pub(crate) is_key: bool,
    pub(crate) is_group: bool,
}

/// A table as its struct describes it, without errors that the derive can find.
pub(crate) struct Described {
    pub(crate) said: Said,
    pub(crate) fields: Vec<Field>,
    /// The indexes: first those over single fields, then those over several fields.
    pub(crate) indexes: Vec<Index>,
}

impl Described {
    pub(crate) fn of(input: &DeriveInput) -> Result<Self> {
        let mut errors = Errors::default();
        let mut said = Said::of(&input.attrs, &mut errors);
        let Some(named) = errors.keep(named(input, "a row of a table")) else {
            return Err(errors.0.expect("there is one"));
        };
        let (mut fields, mut indexes) = (Vec::new(), Vec::new());
        for field in &named.named {
            let name = field.ident.clone().expect("a named field has a name");
            let marks = Marks::of(field, &name, &mut errors);
            if marks.is_group && (marks.is_key || marks.is_index) {
                let with = if marks.is_key { "key" } else { "index" };
                let says = "a column group is neither of the key nor of an index";
                errors.add(&name, format!("field `{name}`: {says}: leave `#[group]` or `#[{with}]` out"));
            }
            if marks.is_index {
                indexes.push(Index { name: format_ident!("by_{}", name), fields: vec![name.clone()] });
            }
            let Marks { is_key, is_group, .. } = marks;
            fields.push(Field { name, kind: field.ty.clone(), is_key, is_group });
        }
        for field in &fields {
            check_kind(field, &mut errors);
        }
        indexes.append(&mut said.indexes);
        let described = Self { said, fields, indexes };
        described.check_key(input, &mut errors);
        described.check_indexes(&mut errors);
        described.check_constants(&mut errors);
        errors.into_result().map(|()| described)
    }

    pub(crate) fn keys(&self) -> impl Iterator<Item = &Field> {
        self.fields.iter().filter(|field| field.is_key)
    }

    pub(crate) fn field(&self, name: &Ident) -> Option<&Field> {
        self.fields.iter().find(|field| field.name == *name)
    }

    fn check_key(&self, input: &DeriveInput, errors: &mut Errors) {
        let keys = self.keys().count();
        if keys == 0 {
            let says = "no field is marked `#[key]`: mark those of the primary key, one to four";
            errors.add(&input.ident, format!("struct `{}`: {says}", input.ident));
        }
        if let Some(field) = self.keys().nth(KEY_FIELDS_MAX) {
            let name = &field.name;
            let says = "a key has four fields at most: leave one out, or make one column of several, a `[u8; N]` for \
                        example";
            errors.add(name, format!("field `{name}`: {says}"));
        }
        self.keys().for_each(|field| check_key_kind(field, "the key", errors));
        if let Some((word, columns)) = &self.said.prefix {
            if self.said.point.is_some() {
                errors.add(
                    word,
                    "rows that are found by equality only have no order: leave `prefix` or `point` out",
                );
            } else if *columns >= keys && keys > 0 {
                let says = format!(
                    "a prefix is of fewer fields than the key, which has {keys}: leave `prefix` out, or give less"
                );
                errors.add(word, says);
            }
        }
    }

    fn check_indexes(&self, errors: &mut Errors) {
        if let Some(Index { name, .. }) = self.indexes.get(INDEXES_MAX) {
            let says =
                "a table has two secondary indexes at most: leave one out, or keep it as a table of its own";
            errors.add(name, format!("index `{name}`: {says}"));
        }
        for Index { name: index, fields } in &self.indexes {
            if !(1..=KEY_FIELDS_MAX).contains(&fields.len()) {
                let given = fields.len();
                errors.add(
                    index,
                    format!("index `{index}`: it is over one to four fields, and {given} are named"),
                );
            }
            for (place, name) in fields.iter().enumerate() {
                let Some(field) = self.field(name) else {
                    let all: Vec<String> = self.fields.iter().map(|field| field.name.to_string()).collect();
                    let near = nearest(&name.to_string(), all.iter().map(String::as_str));
                    let near =
                        near.map_or_else(|| "name another".into(), |near| format!("did you mean `{near}`?"));
                    errors.add(name, format!("index `{index}`: there is no field `{name}`: {near}"));
                    continue;
                };
                if fields[..place].contains(name) {
                    errors.add(name, format!("index `{index}`: field `{name}` is named twice: name it once"));
                }
                if field.is_group && !is_by_itself(index, name) {
                    let says =
                        "is a column group, and indexes are over columns in none: keep the column out of it";
                    errors.add(name, format!("index `{index}`: field `{name}` {says}"));
                }
                if !field.is_key {
                    check_key_kind(field, &format!("index `{index}`"), errors);
                }
            }
        }
    }

    /// Checks that the constants of indexes and column groups have different names.
    fn check_constants(&self, errors: &mut Errors) {
        let groups = self.fields.iter().filter(|field| field.is_group).map(|field| &field.name);
        let mut names = BTreeMap::new();
        for name in self.indexes.iter().map(|index| &index.name).chain(groups) {
            let constant = constant(name);
            if let Some(other) = names.insert(constant.to_string(), name) {
                let says =
                    format!("`{other}` and `{name}` would both be the constant `{constant}`: rename one");
                errors.add(name, says);
            }
        }
    }
}

/// Whether an index is the index of a single field that is marked `#[index]`. A group with that mark is refused at the
/// field.
fn is_by_itself(index: &Ident, name: &Ident) -> bool {
    *index == format_ident!("by_{}", name)
}

/// The name of the constant that is the handle of an index or a column group.
pub(crate) fn constant(name: &Ident) -> Ident {
    Ident::new(&name.unraw().to_string().to_uppercase(), proc_macro2::Span::call_site())
}

/// The attributes of a field.
struct Marks {
    is_key: bool,
    is_index: bool,
    is_group: bool,
}

impl Marks {
    fn of(field: &syn::Field, name: &Ident, errors: &mut Errors) -> Self {
        let mut has = |word: &str, more: &str| {
            let attributes = field.attrs.iter().filter(|attribute| attribute.path().is_ident(word));
            let mut found = false;
            for attribute in attributes {
                if !matches!(attribute.meta, Meta::Path(_)) {
                    let says =
                        format!("field `{name}`: `#[{word}]` stands alone, nothing is said with it{more}");
                    errors.add(attribute, says);
                } else if found {
                    errors
                        .add(attribute, format!("field `{name}`: `#[{word}]` is there twice: leave one out"));
                }
                found = true;
            }
            found
        };
        let more =
            ": an index of several fields is `#[table(index(by_x = (field, field)))]` above the struct";
        let marks = Self {
            is_key: has("key", ": the key has the fields that are marked, in their order"),
            is_index: has("index", more),
            is_group: has("group", ": its name is the field's"),
        };
        for attribute in field.attrs.iter().filter(|attribute| attribute.path().is_ident("table")) {
            let says = "`#[table(...)]` is said of the struct: put it above that";
            errors.add(attribute, format!("field `{name}`: {says}"));
        }
        marks
    }
}

/// Refuses a type that is recognizably no column, or no column group.
fn check_kind(field: &Field, errors: &mut Errors) {
    let Field { name, kind, is_group, .. } = field;
    let text = written(kind);
    if *is_group {
        if kinds::no_group(kind) {
            let says =
                "is no column group: leave `#[group]` out, or take a struct that derives `ColumnGroup`";
            errors.add(kind, format!("field `{name}`: `{text}` {says}"));
        }
    } else if let Some(says) = kinds::no_column(kind) {
        errors.add(kind, format!("field `{name}`: `{text}` is no column: {says}"));
    }
}

/// Refuses a type that recognizably cannot be part of a key.
fn check_key_kind(Field { name, kind, .. }: &Field, of: &str, errors: &mut Errors) {
    if let Some(says) = kinds::no_key(kind) {
        let text = written(kind);
        errors.add(kind, format!("field `{name}`: `{text}` cannot be part of {of}: {says}"));
    }
}

/// Formats a type as it is usually written.
fn written(kind: &Type) -> String {
    let text = quote::quote!(#kind).to_string();
    let joined = [" <", "< ", " >", " ,", " ;", "& ", " ::", ":: ", "[ ", " ]"];
    joined.iter().fold(text, |text, with_space| text.replace(with_space, with_space.trim()))
}

/// The fields of a column group.
pub(crate) fn of_group(input: &DeriveInput) -> Result<Vec<Field>> {
    let mut errors = Errors::default();
    let Some(named) = errors.keep(named(input, "a column group")) else {
        return Err(errors.0.expect("there is one"));
    };
    let attributes = input.attrs.iter().chain(named.named.iter().flat_map(|field| &field.attrs));
    for attribute in attributes {
        for word in ["table", "key", "index", "group"] {
            if attribute.path().is_ident(word) {
                let says = "is said of a table and not of a column group: leave it out";
                errors.add(attribute, format!("`#[{word}]` {says}"));
            }
        }
    }
    let field = |field: &syn::Field| {
        let name = field.ident.clone().expect("a named field has a name");
        Field { name, kind: field.ty.clone(), is_key: false, is_group: false }
    };
    let fields: Vec<Field> = named.named.iter().map(field).collect();
    for field in &fields {
        check_kind(field, &mut errors);
    }
    if fields.is_empty() {
        let name = &input.ident;
        errors.add(name, format!("`{name}` has no fields, and a column group has one at least: add it"));
    }
    errors.into_result().map(|()| fields)
}
