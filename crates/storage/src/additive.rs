//! Rows that amounts are added to: all their columns are 64-bit integers, so that adding word by word is adding
//! column by column, in any order.

use crate::row::Row;

/// A row all of whose columns are 64-bit integers, without a secondary index: transactions may add to it when
/// they commit. The macro [`additive!`](crate::additive) implements it, and looks at each column.
pub trait Additive: Row<Indexes = ()> + Sized {}

/// A column of an [`Additive`] row: a 64-bit integer, or several.
pub trait Column {}

impl Column for u64 {}
impl Column for i64 {}
impl<C: Column, const N: usize> Column for [C; N] {}

/// Accepts a [`Column`] only: for any other type the call does not compile.
#[doc(hidden)]
pub fn column(_: &impl Column) {}

/// Makes a type an [`Additive`] row of a key. All its columns are named (those of tuples by number); it does not
/// compile if a column is missing or is not a 64-bit integer.
///
/// ```
/// # use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};
/// #[derive(FromBytes, IntoBytes, KnownLayout, Immutable)]
/// #[repr(C)]
/// struct Sales {
///     cents: i64,
///     count: u64,
/// }
///
/// storage::additive!(Sales of u64 { cents, count });
/// ```
///
/// A column of 32 bits would be carried into from its neighbour:
///
/// ```compile_fail,E0277
/// # use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};
/// #[derive(FromBytes, IntoBytes, KnownLayout, Immutable)]
/// #[repr(C)]
/// struct Sales {
///     cents: i64,
///     count: u32,
///     returned: u32,
/// }
///
/// storage::additive!(Sales of u64 { cents, count, returned });
/// ```
///
/// A column that is left out does not compile either:
///
/// ```compile_fail,E0027
/// # use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};
/// #[derive(FromBytes, IntoBytes, KnownLayout, Immutable)]
/// #[repr(C)]
/// struct Sales {
///     cents: i64,
///     count: u64,
/// }
///
/// storage::additive!(Sales of u64 { cents });
/// ```
#[macro_export]
macro_rules! additive {
    ($row:ident of $key:ty { $($column:tt),+ $(,)? }) => {
        impl $crate::Row for $row {
            type Key = $key;
            type Indexes = ();
            const IS_ADDITIVE: bool = true;
        }

        impl $crate::Additive for $row {}

        const _: fn(&$row) = |row| {
            let $row { $($column: _),+ } = row;
            $($crate::column(&row.$column);)+
        };
    };
}

/// Adds amounts to a row, word by word; sums wrap at 64 bits.
///
/// # Panics
/// When the widths differ.
#[inline]
pub fn accumulate(words: &mut [u64], amounts: &[u64]) {
    assert_eq!(words.len(), amounts.len(), "amounts have the row's width");
    for (word, amount) in words.iter_mut().zip(amounts) {
        *word = word.wrapping_add(*amount);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_below_zero_are_added_and_sums_wrap() {
        let mut words = [10, u64::MAX, 7];
        accumulate(&mut words, &[-3_i64 as u64, 1, 0]);
        assert_eq!(words, [7, 0, 7]);
    }

    #[test]
    #[should_panic(expected = "width")]
    fn amounts_of_another_width_are_refused() {
        accumulate(&mut [0; 2], &[0]);
    }
}
