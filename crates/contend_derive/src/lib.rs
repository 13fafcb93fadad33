//! `#[derive(Table)]` of the crate `contend`, which documents it: what a struct says of its fields becomes a table's
//! definition, and its fields are written to and read from the columns.
#![forbid(unsafe_code)]

use proc_macro2::{Ident, Span, TokenStream};
use quote::{format_ident, quote};
use syn::parse::{Parse, ParseStream};
use syn::punctuated::Punctuated;
use syn::spanned::Spanned;
use syn::{Attribute, Data, DeriveInput, Error, Fields, LitInt, LitStr, Result, Token, Type, parenthesized};

/// Makes a struct the rows of a table. Documented where it is used: `contend::Table`.
#[proc_macro_derive(Table, attributes(table, key, index))]
pub fn derive_table(input: proc_macro::TokenStream) -> proc_macro::TokenStream {
    let input = syn::parse_macro_input!(input as DeriveInput);
    expand(&input).unwrap_or_else(Error::into_compile_error).into()
}

/// A field and what is said of it.
struct Field {
    name: Ident,
    kind: Type,
    is_key: bool,
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
    is_point: bool,
    indexes: Vec<Index>,
}

/// One thing in `#[table(...)]`.
enum Saying {
    Name(LitStr),
    Rows(LitInt),
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
            "point" => Ok(Self::Point),
            "index" => {
                let list;
                parenthesized!(list in input);
                let indexes = Punctuated::<Index, Token![,]>::parse_terminated(&list)?;
                Ok(Self::Indexes(indexes.into_iter().collect()))
            }
            _ => {
                let says = "write `name = \"...\"`, `point`, `rows = ...` or `index(name = (field, field))`";
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
                    Saying::Point => said.is_point = true,
                    Saying::Indexes(indexes) => said.indexes.extend(indexes),
                }
            }
        }
        Ok(said)
    }
}

/// The fields in their order, and the indexes over single ones.
fn fields(input: &DeriveInput) -> Result<(Vec<Field>, Vec<Index>)> {
    let refused = "rows of a table are a struct with named fields";
    let Data::Struct(data) = &input.data else { return Err(Error::new(input.span(), refused)) };
    let Fields::Named(named) = &data.fields else { return Err(Error::new(input.span(), refused)) };
    let (mut fields, mut indexes) = (Vec::new(), Vec::new());
    for field in &named.named {
        let name = field.ident.clone().expect("a named field has a name");
        let has = |word: &str| field.attrs.iter().any(|attribute| attribute.path().is_ident(word));
        if has("index") {
            indexes.push(Index { name: format_ident!("by_{name}"), fields: vec![name.clone()] });
        }
        fields.push(Field { name, kind: field.ty.clone(), is_key: has("key") });
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
    if !input.generics.params.is_empty() {
        return Err(Error::new(input.generics.span(), "a table has rows of one type, without parameters"));
    }
    let said = Said::of(&input.attrs)?;
    let (fields, mut indexes) = fields(input)?;
    indexes.extend(said.indexes);
    let keys: Vec<&Field> = fields.iter().filter(|field| field.is_key).collect();
    if !(1..=4).contains(&keys.len()) {
        return Err(Error::new(input.ident.span(), "mark one to four fields with `#[key]`: the primary key"));
    }
    let name = said.name.map_or_else(|| input.ident.to_string().to_lowercase(), |name| name.value());
    let definition = definition(&name, &fields, &keys, &indexes, said.is_point, said.rows.as_ref());
    let constants = constants(input, &fields, &indexes)?;
    let table = table(&input.ident, &fields, &keys, &definition);
    Ok(quote!(#table #constants))
}

/// The expression of the table's definition.
fn definition(
    name: &str,
    fields: &[Field],
    keys: &[&Field],
    indexes: &[Index],
    is_point: bool,
    rows: Option<&LitInt>,
) -> TokenStream {
    let columns = fields.iter().map(|Field { name, kind, .. }| {
        let name = name.to_string();
        quote!(.column::<#kind>(#name))
    });
    let keys = keys.iter().map(|key| key.name.to_string());
    let indexes = indexes.iter().map(|Index { name, fields }| {
        let (name, fields) = (name.to_string(), fields.iter().map(ToString::to_string));
        quote!(.index(#name, [#(#fields),*]))
    });
    let point = is_point.then(|| quote!(.point()));
    let rows = rows.map(|rows| quote!(.expect_rows(#rows)));
    quote!(::contend::Definition::new(#name) #(#columns)* .key([#(#keys),*]) #(#indexes)* #point #rows)
}

/// The handles of the indexes.
fn constants(input: &DeriveInput, fields: &[Field], indexes: &[Index]) -> Result<TokenStream> {
    let (row, visibility) = (&input.ident, &input.vis);
    let mut constants = Vec::new();
    for (position, index) in indexes.iter().enumerate() {
        let kind = |name: &Ident| {
            let field = fields.iter().find(|field| field.name == *name);
            field.map(|field| &field.kind).ok_or_else(|| Error::new(name.span(), "there is no such field"))
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
    Ok(quote!(#[automatically_derived] impl #row { #(#constants)* }))
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
    let others: Vec<&Field> = fields.iter().filter(|field| !field.is_key).collect();
    let writes = others.iter().map(|Field { name, kind, .. }| {
        quote! {
            let (__column, __row) = __row.split_at_mut(<#kind as ::contend::Column>::TYPE.bytes());
            ::contend::Column::write(&self.#name, __column);
        }
    });
    let reads = others.iter().map(|Field { name, kind, .. }| {
        quote! {
            let (__column, __row) = __row.split_at(<#kind as ::contend::Column>::TYPE.bytes());
            let #name = <#kind as ::contend::Column>::read(__column);
        }
    });
    let names = fields.iter().map(|field| &field.name);
    quote! {
        #[automatically_derived]
        impl ::contend::Table for #row {
            type Key = #key_kind;

            fn definition() -> ::contend::Definition {
                #definition
            }

            fn key(&self) -> Self::Key {
                #key
            }

            fn write(&self, __row: &mut [u8]) {
                #(#writes)*
                let _ = __row;
            }

            fn read(#pattern: Self::Key, __row: &[u8]) -> Self {
                #(#reads)*
                let _ = __row;
                Self { #(#names),* }
            }
        }
    }
}
