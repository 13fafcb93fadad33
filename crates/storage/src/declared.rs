//! What the types of keys and rows know, kept as functions over words. Typed calls have their types and need
//! none of it; whoever reaches a table by number has only what was captured when it was declared.

use core::any::TypeId;

use crate::key::{Home, Key, OrderedKey};
use crate::row::{IndexOn, Row, key_in, row_of};
use crate::shape::Shape;
use crate::table::{AnyKey, IndexedKey, TableStore, Which};

/// The integer widths that indexes are built for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum KeyWidth {
    One,
    Two,
    Six,
}

impl KeyWidth {
    fn of<K: OrderedKey>() -> Self {
        let id = TypeId::of::<K>();
        if id == TypeId::of::<u64>() {
            Self::One
        } else if id == TypeId::of::<u128>() {
            Self::Two
        } else if id == TypeId::of::<[u64; 6]>() {
            Self::Six
        } else {
            panic!("keys are u64, u128 or [u64; 6]")
        }
    }

    fn words(self) -> usize {
        match self {
            Self::One => 1,
            Self::Two => 2,
            Self::Six => 6,
        }
    }
}

impl AnyKey {
    /// The key's width in words.
    pub fn words(self) -> usize {
        match self {
            Self::One(_) => KeyWidth::One.words(),
            Self::Two(_) => KeyWidth::Two.words(),
            Self::Six(_) => KeyWidth::Six.words(),
        }
    }
}

/// What the type of a key knows. The functions expect its width.
#[derive(Clone, Copy, Debug)]
pub(crate) struct KeyDecl {
    pub(crate) width: KeyWidth,
    pub(crate) suffix_bits: u32,
    /// Said of the table.
    pub(crate) is_numbered: bool,
    home: fn(AnyKey) -> Home,
    is_key: fn(AnyKey) -> bool,
}

fn typed<K: Key>(key: AnyKey) -> K {
    K::from_ordered(K::Ordered::typed(key))
}

impl KeyDecl {
    pub(crate) fn of<K: Key>() -> Self {
        Self {
            width: KeyWidth::of::<K::Ordered>(),
            suffix_bits: K::SUFFIX_BITS,
            is_numbered: false,
            home: |key| typed::<K>(key).home(),
            is_key: |key| typed::<K>(key).ordered().any() == key,
        }
    }
}

/// A declared secondary index, and what its type knows.
#[derive(Clone, Copy, Debug)]
pub(crate) struct IndexDecl {
    pub(crate) name: &'static str,
    pub(crate) key: KeyDecl,
    of_row: fn(AnyKey, &[u64]) -> AnyKey,
    primary: fn(AnyKey) -> AnyKey,
    holds: fn(AnyKey, &[u64]) -> bool,
}

impl IndexDecl {
    pub(crate) fn of<R: Row, I: IndexOn<R>>(name: &'static str) -> Self {
        Self {
            name,
            key: KeyDecl::of::<I::Key>(),
            of_row: |key, words| key_in::<R, I>(typed(key), row_of(words)).ordered().any(),
            primary: |key| I::primary(typed(key)).ordered().any(),
            holds: |key, words| I::holds(typed(key), row_of(words)),
        }
    }
}

/// Keys and rows whose types the caller does not know.
///
/// # Panics
/// Where a key or a row has another width than the table's, or there is no such column group or index.
impl<S: Shape> TableStore<S> {
    fn key_decl(&self, which: Which) -> &KeyDecl {
        match which {
            Which::Primary => self.key(),
            Which::Secondary { group, position } => &self.secondary_decl(group, position).key,
        }
    }

    /// The width in words of the keys of an index.
    pub fn key_words(&self, which: Which) -> usize {
        self.key_decl(which).width.words()
    }

    /// Whether a key of the right width is one that the type of the index's keys can be. It need not be, if
    /// the type has fewer values than the integer.
    pub fn is_key(&self, which: Which, key: AnyKey) -> bool {
        (self.key_decl(which).is_key)(key)
    }

    /// Where the rows of a key live.
    pub fn home(&self, which: Which, key: AnyKey) -> Home {
        (self.key_decl(which).home)(key)
    }

    /// Above how many low bits the keys of an index differ that grow apart: see [`Key::SUFFIX_BITS`].
    #[inline]
    pub fn suffix_bits(&self, which: Which) -> u32 {
        self.key_decl(which).suffix_bits
    }

    /// The primary key that a key of a secondary index contains.
    pub fn primary_key(&self, group: u16, position: u16, key: AnyKey) -> AnyKey {
        (self.secondary_decl(group, position).primary)(key)
    }

    /// The key in a secondary index of a row with this primary key and these words of the index's group.
    pub fn secondary_key(&self, group: u16, position: u16, key: AnyKey, words: &[u64]) -> AnyKey {
        (self.secondary_decl(group, position).of_row)(key, words)
    }

    /// As [`IndexOn::holds`]; a primary index holds a row under no other key than its own.
    pub fn holds(&self, which: Which, key: AnyKey, words: &[u64]) -> bool {
        match which {
            Which::Primary => true,
            Which::Secondary { group, position } => (self.secondary_decl(group, position).holds)(key, words),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::row::{Table, TableId};
    use crate::schema::{Lookup, Schema};
    use crate::shape::InPlace;
    use crate::tables::Tables;
    use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

    #[derive(FromBytes, IntoBytes, KnownLayout, Immutable)]
    #[repr(C)]
    struct Pair([u64; 2]);

    impl Row for Pair {
        type Key = u64;
        type Indexes = (BySecond,);
    }

    struct BySecond;

    /// A key of 32 bits for each part, in a wider integer.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    struct SecondKey(u32, u32);

    impl Key for SecondKey {
        type Ordered = u128;

        fn ordered(self) -> u128 {
            u128::from(self.0) << 64 | u128::from(self.1)
        }

        fn from_ordered(ordered: u128) -> Self {
            Self((ordered >> 64) as u32, ordered as u32)
        }

        fn home(self) -> Home {
            Home::At(u64::from(self.0))
        }
    }

    impl IndexOn<Pair> for BySecond {
        type Key = SecondKey;

        fn key(key: u64, row: &Pair) -> SecondKey {
            SecondKey(row.0[1] as u32, key as u32)
        }

        fn primary(key: SecondKey) -> u64 {
            u64::from(key.1)
        }
    }

    #[derive(Debug)]
    struct Plain;

    impl Shape for Plain {
        type Header = ();
        type Version = ();
        type Leaf = ();
        type Data = InPlace;
    }

    #[test]
    fn a_table_knows_by_words_what_its_types_know() {
        let mut schema = Schema::new();
        let mut table = schema.table::<u64>("pairs", Lookup::Point, 4);
        let pairs: Table<Pair> = table.group();
        let which = table.index::<Pair, BySecond>(pairs, "by_second").which();
        let tables = Tables::<Plain>::new(&schema, 1, 0, false);
        let store = tables.get(TableId(0));
        let second = AnyKey::Two(SecondKey(7, 3).ordered());
        assert_eq!(store.secondary_key(0, 0, AnyKey::One(3), &[9, 7]), second);
        assert!(store.holds(which, second, &[9, 7]));
        assert!(!store.holds(which, second, &[7, 9]), "another row is not held under this key");
        assert_eq!(store.home(Which::Primary, AnyKey::One(5)), Home::At(5));
        assert_eq!(store.home(which, second), Home::At(7));
        assert_eq!([Which::Primary, which].map(|which| store.key_words(which)), [1, 2]);
        assert!(store.is_key(which, second));
        assert!(!store.is_key(which, AnyKey::Two(1 << 40)), "bits that the type has not");
    }
}
