//! Keys: one or several columns by which rows are found.

use core::ops::{Bound, RangeBounds};

use engine::AnyKey;

use crate::column::{KeyColumn, Type};

/// A primary or secondary key: a [`KeyColumn`], or a tuple of two to four key columns, which compares as tuples do. A
/// primary key has 48 bytes at most; so has a secondary key together with the primary key.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no key of a table",
    label = "a key is a column that may be part of one, or two to four of them",
    note = "of the key, and of indexes, are integers, `bool`, `[u8; N]`, `contend::Text<N>`, and types that implement \
            `contend::KeyColumn`"
)]
pub trait Key: Clone + 'static {
    /// The total width of the key's columns in bytes.
    const BYTES: usize;

    /// The types of the key's columns, in their order.
    fn types() -> Vec<Type>;

    /// Writes the columns one after the other to `to`, which has `BYTES` bytes.
    fn write(&self, to: &mut [u8]);

    /// Reads the key that was written to these bytes.
    fn read(from: &[u8]) -> Self;
}

/// Whether a key of `bytes` bytes is narrow enough. The derive checks this at compile time.
#[doc(hidden)]
pub const fn key_fits(bytes: usize) -> bool {
    bytes <= AnyKey::BYTES_MAX
}

#[diagnostic::do_not_recommend]
impl<C: KeyColumn> Key for C {
    const BYTES: usize = C::TYPE.bytes();

    fn types() -> Vec<Type> {
        vec![C::TYPE]
    }

    #[inline]
    fn write(&self, to: &mut [u8]) {
        <C as crate::Column>::write(self, to);
    }

    #[inline]
    fn read(from: &[u8]) -> Self {
        <C as crate::Column>::read(from)
    }
}

macro_rules! tuples {
    ($(($($column:ident $number:tt),+))+) => {
        $(
            #[diagnostic::do_not_recommend]
            impl<$($column: KeyColumn),+> Key for ($($column,)+) {
                const BYTES: usize = 0 $(+ $column::TYPE.bytes())+;

                fn types() -> Vec<Type> {
                    vec![$($column::TYPE),+]
                }

                #[inline]
                fn write(&self, to: &mut [u8]) {
                    let mut _to = to;
                    $(
                        let (column, rest) = _to.split_at_mut($column::TYPE.bytes());
                        crate::Column::write(&self.$number, column);
                        _to = rest;
                    )+
                }

                #[inline]
                fn read(from: &[u8]) -> Self {
                    let mut _from = from;
                    ($(
                        {
                            let (column, rest) = _from.split_at($column::TYPE.bytes());
                            _from = rest;
                            <$column as crate::Column>::read(column)
                        },
                    )+)
                }
            }
        )+
    };
}

tuples! {
    (A 0, B 1)
    (A 0, B 1, C 2)
    (A 0, B 1, C 2, D 3)
}

/// Converts a primary key to the form that indexes compare.
#[inline]
pub(crate) fn any<K: Key>(key: &K) -> AnyKey {
    let mut bytes = [0; AnyKey::BYTES_MAX];
    let own = &mut bytes[..K::BYTES];
    key.write(own);
    AnyKey::from_bytes(own)
}

/// Reads the primary key from the end of an index's key.
#[inline]
pub(crate) fn primary<K: Key>(key: AnyKey) -> K {
    K::read(&key.to_bytes()[AnyKey::BYTES_MAX - K::BYTES..])
}

/// Converts a range of primary keys to the form that indexes compare.
pub(crate) fn bounds<K: Key>(keys: &impl RangeBounds<K>) -> (Bound<AnyKey>, Bound<AnyKey>) {
    (keys.start_bound().map(any), keys.end_bound().map(any))
}

/// Converts a range of secondary keys to the form that indexes compare: a primary key of `primary` bytes follows each
/// secondary key.
pub(crate) fn secondary_bounds<K: Key>(
    keys: &impl RangeBounds<K>,
    primary: usize,
) -> (Bound<AnyKey>, Bound<AnyKey>) {
    // The bound of an included first key or an excluded last key lies before all its primary keys; the bound of an
    // excluded first key or an included last key lies after them.
    let followed_by = |key: &K, rest: u8| {
        let mut bytes = [rest; AnyKey::BYTES_MAX];
        key.write(&mut bytes[..K::BYTES]);
        AnyKey::from_bytes(&bytes[..K::BYTES + primary])
    };
    let from = match keys.start_bound() {
        Bound::Included(key) => Bound::Included(followed_by(key, 0)),
        Bound::Excluded(key) => Bound::Excluded(followed_by(key, u8::MAX)),
        Bound::Unbounded => Bound::Unbounded,
    };
    let to = match keys.end_bound() {
        Bound::Included(key) => Bound::Included(followed_by(key, u8::MAX)),
        Bound::Excluded(key) => Bound::Excluded(followed_by(key, 0)),
        Bound::Unbounded => Bound::Unbounded,
    };
    (from, to)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Text;

    #[test]
    fn keys_compare_as_tuples_do_and_come_back() {
        let keys: [(i16, Text<3>, u8); 4] = [(-1, "b", 9), (0, "", 1), (0, "a", 0), (0, "a", 1)]
            .map(|(first, text, last)| (first, Text::new(text).unwrap(), last));
        assert!(keys.windows(2).all(|pair| any(&pair[0]) < any(&pair[1])));
        for key in keys {
            assert_eq!(primary::<(i16, Text<3>, u8)>(any(&key)), key);
        }
        assert_eq!(any(&7_u64), AnyKey::One(7));
        assert_eq!(any(&(1_u64, 2_u64)), AnyKey::Two(1 << 64 | 2));
        assert_eq!(<(u64, u8)>::types().len(), 2);
    }

    #[test]
    fn a_range_of_secondary_keys_has_all_their_primary_keys() {
        let within = |range: (Bound<AnyKey>, Bound<AnyKey>), key: (u32, u32)| range.contains(&any(&key));
        let of = |keys: (Bound<u32>, Bound<u32>)| secondary_bounds(&keys, 4);
        let both = of((Bound::Included(5), Bound::Included(6)));
        assert!(within(both, (5, 0)) && within(both, (6, u32::MAX)));
        assert!(!within(both, (4, u32::MAX)) && !within(both, (7, 0)));
        let neither = of((Bound::Excluded(5), Bound::Excluded(7)));
        assert!(!within(neither, (5, u32::MAX)) && within(neither, (6, 0)) && !within(neither, (7, 0)));
        let all = of((Bound::Unbounded, Bound::Unbounded));
        assert!(within(all, (0, 0)) && within(all, (u32::MAX, u32::MAX)));
    }
}
