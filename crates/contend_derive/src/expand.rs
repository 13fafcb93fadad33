//! The generated code. The code for a field has the place of the field's type, so that the compiler reports errors
//! there. Code that requires a trait is generated in one form only, so that the compiler reports a missing trait once.

use proc_macro2::{Ident, Span, TokenStream};
use quote::{quote, quote_spanned};
use syn::spanned::Spanned;
use syn::{DeriveInput, Result, Type};

use crate::fields::{Described, Field, constant, of_group};
use crate::said::Index;

/// Returns the place of a type, for code that is generated for a field of this type.
fn place(kind: &Type) -> Span {
    Span::call_site().located_at(kind.span())
}

/// Returns a type, or the tuple of several types.
fn tuple(kinds: &[&Type]) -> TokenStream {
    match kinds {
        [one] => quote!(#one),
        several => {
            let first = several.first().map_or_else(Span::call_site, |kind| place(kind));
            quote_spanned!(first=> (#(#several),*))
        }
    }
}

/// The expression of a column's type in the library.
fn column_type(kind: &Type) -> TokenStream {
    quote_spanned!(place(kind)=> <#kind as ::contend::Column>::TYPE)
}

/// The expression of the total width of some columns, in bytes.
fn width<'k>(kinds: impl IntoIterator<Item = &'k Type>) -> TokenStream {
    let kinds = kinds.into_iter().map(|kind| {
        let column = column_type(kind);
        quote_spanned!(place(kind)=> #column.bytes())
    });
    quote!(0 #(+ #kinds)*)
}

pub(crate) fn table(input: &DeriveInput) -> Result<TokenStream> {
    let described = Described::of(input)?;
    let definition = definition(input, &described);
    let constants = constants(input, &described);
    let widths = widths(&input.ident, &described);
    let table = implementation(&input.ident, &described, &definition);
    Ok(quote!(#table #constants #widths))
}

/// The expression of the table's definition.
fn definition(input: &DeriveInput, Described { said, fields, indexes }: &Described) -> TokenStream {
    let name = said.name.as_ref().map_or_else(|| input.ident.to_string().to_lowercase(), syn::LitStr::value);
    let columns = fields.iter().map(|Field { name, kind, is_group, .. }| {
        let (name, place) = (name.to_string(), place(kind));
        if *is_group {
            return quote_spanned! {place=>
                .column_group_of(#name, <#kind as ::contend::ColumnGroup>::columns())
            };
        }
        let column = column_type(kind);
        quote_spanned!(place=> .column_of(#name, #column))
    });
    let keys = fields.iter().filter(|field| field.is_key).map(|key| key.name.to_string());
    let indexes = indexes.iter().map(|Index { name, fields }| {
        let (name, fields) = (name.to_string(), fields.iter().map(ToString::to_string));
        quote!(.index(#name, [#(#fields),*]))
    });
    let point = said.point.as_ref().map(|_| quote!(.point()));
    let rows = said.rows.as_ref().map(|(_, rows)| quote!(.expect_rows(#rows)));
    let prefix = said.prefix.as_ref().map(|(_, columns)| quote!(.prefix(#columns)));
    quote!(::contend::Definition::new(#name) #(#columns)* .key([#(#keys),*]) #(#indexes)* #point #rows #prefix)
}

/// The handles of the indexes and of the column groups.
fn constants(input: &DeriveInput, described: &Described) -> TokenStream {
    let (row, visibility) = (&input.ident, &input.vis);
    let mut constants = Vec::new();
    for (position, Index { name, fields }) in described.indexes.iter().enumerate() {
        let kinds: Vec<&Type> =
            fields.iter().filter_map(|name| described.field(name)).map(|field| &field.kind).collect();
        let (keys, position, constant) = (tuple(&kinds), position as u16, constant(name));
        let doc = format!("The secondary index `{name}`.");
        constants.push(quote! {
            #[doc = #doc]
            #[allow(dead_code, reason = "an index may be there for another program")]
            #visibility const #constant: ::contend::Index<Self, #keys> = ::contend::Index::at(#position);
        });
    }
    let groups = described.fields.iter().filter(|field| field.is_group);
    let first = usize::from(has_others(&described.fields));
    for (number, Field { name, kind, .. }) in groups.enumerate() {
        let (number, constant) = ((first + number) as u16, constant(name));
        let doc = format!("The column group `{name}`.");
        constants.push(quote! {
            #[doc = #doc]
            #[allow(dead_code, reason = "a column group may be read with the others only")]
            #visibility const #constant: ::contend::Group<Self, #kind> = ::contend::Group::at(#number);
        });
    }
    quote!(#[automatically_derived] impl #row { #(#constants)* })
}

/// Code that makes the compiler refuse keys that are too wide, or whose columns cannot be part of a key, with the names
/// of their fields.
fn widths(row: &Ident, described: &Described) -> TokenStream {
    let kinds: Vec<&Type> = described.keys().map(|key| &key.kind).collect();
    let named = |fields: &mut dyn Iterator<Item = &Ident>| {
        let names: Vec<String> = fields.map(|name| format!("`{name}`")).collect();
        names.join(", ")
    };
    let keys = named(&mut described.keys().map(|key| &key.name));
    let fits = |kinds: &[&Type], says: &str| {
        let width = width(kinds.iter().copied());
        kinds.first().map(|first| {
            quote_spanned!(place(first)=> const _: () = ::core::assert!(::contend::key_fits(#width), #says);)
        })
    };
    let primary =
        fits(&kinds, &format!("struct `{row}`: the key ({keys}) has more than 48 bytes: shorten a field"));
    let indexes = described.indexes.iter().map(|Index { name, fields }| {
        let of_index = fields.iter().filter_map(|name| described.field(name)).map(|field| &field.kind);
        let all: Vec<&Type> = of_index.chain(kinds.iter().copied()).collect();
        let fields = named(&mut fields.iter());
        fits(&all, &format!(
            "struct `{row}`: index `{name}` ({fields}) with the key ({keys}) has more than 48 bytes: shorten a field"
        ))
    });
    let of_indexes = described.indexes.iter().flat_map(|index| &index.fields);
    let are_keys = of_indexes.filter_map(|name| described.field(name)).filter(|field| !field.is_key);
    // For a key of one field the trait `Key` reports it.
    let of_key = described.keys().filter(|_| kinds.len() > 1);
    let are_keys = are_keys.chain(of_key).map(
        |Field { kind, .. }| quote_spanned!(place(kind)=> const _: () = <#kind as ::contend::KeyColumn>::IS_ONE;),
    );
    quote!(#primary #(#indexes)* #(#are_keys)*)
}

/// Whether there are columns outside of the key that are in no column group, or there is no group. Such columns come
/// first.
fn has_others(fields: &[Field]) -> bool {
    let is_other = |field: &Field| !field.is_key && !field.is_group;
    fields.iter().any(is_other) || !fields.iter().any(|field| field.is_group)
}

/// The implementation of the trait.
fn implementation(row: &Ident, described: &Described, definition: &TokenStream) -> TokenStream {
    let fields = &described.fields;
    let (key_names, key_kinds): (Vec<&Ident>, Vec<&Type>) =
        described.keys().map(|key| (&key.name, &key.kind)).unzip();
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
    let (group_writes, group_reads): (Vec<_>, Vec<_>) = groups.iter().map(|group| grouped(group)).unzip();
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
                #(#group_writes)*
                let _ = (__row, __end);
            }

            fn read(#pattern: Self::Key, __row: &[u8]) -> Self {
                const __BYTES: usize = #bytes;
                let __columns = &__row[..__BYTES];
                #reads
                let __end = __BYTES;
                #(#group_reads)*
                let _ = (__row, __end);
                Self { #(#names),* }
            }
        }
    }
}

/// Code that writes a column group to a row, and code that reads it, behind `__end`.
fn grouped(Field { name, kind, .. }: &Field) -> (TokenStream, TokenStream) {
    let place = place(kind);
    let found = quote_spanned! {place=>
        let __place = ::contend::placed(__end, <#kind as ::contend::ColumnGroup>::BYTES);
        let __end = __place.end;
    };
    let write =
        quote_spanned!(place=> <#kind as ::contend::ColumnGroup>::write(&self.#name, &mut __row[__place]););
    let read = quote_spanned!(place=> let #name = <#kind as ::contend::ColumnGroup>::read(&__row[__place]););
    (quote!(#found #write), quote!(#found #read))
}

/// The width of the columns of some fields in bytes, and code that writes them to, and reads them from, that many
/// bytes, `__columns`.
fn columns(fields: &[&Field]) -> (TokenStream, TokenStream, TokenStream) {
    let bytes = width(fields.iter().map(|field| &field.kind));
    let writes = fields.iter().map(|Field { name, kind, .. }| {
        let width = column_type(kind);
        quote_spanned! {place(kind)=>
            let (__column, __columns) = __columns.split_at_mut(#width.bytes());
            <#kind as ::contend::Column>::write(&self.#name, __column);
        }
    });
    let reads = fields.iter().map(|Field { name, kind, .. }| {
        let width = column_type(kind);
        quote_spanned! {place(kind)=>
            let (__column, __columns) = __columns.split_at(#width.bytes());
            let #name = <#kind as ::contend::Column>::read(__column);
        }
    });
    (bytes, quote!(#(#writes)* let _ = __columns;), quote!(#(#reads)* let _ = __columns;))
}

/// The implementation of a column group.
pub(crate) fn group(input: &DeriveInput) -> Result<TokenStream> {
    let fields = of_group(input)?;
    let (bytes, writes, reads) = columns(&fields.iter().collect::<Vec<_>>());
    let definitions = fields.iter().map(|Field { name, kind, .. }| {
        let (name, column) = (name.to_string(), column_type(kind));
        quote_spanned!(place(kind)=> (::core::convert::Into::into(#name), #column))
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
