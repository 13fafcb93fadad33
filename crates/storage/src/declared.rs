//! The properties of the types of keys and rows, kept as functions over words. Typed calls have the types and need
//! none of these functions; a caller that reaches a table by number has only what was captured when the table was
//! declared.

use core::any::TypeId;
use core::ops::Range;

use zerocopy::IntoBytes;

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

    /// The narrowest width that has room for `bytes` bytes.
    fn of_bytes(bytes: usize) -> Self {
        match bytes {
            ..=8 => Self::One,
            9..=16 => Self::Two,
            _ => Self::Six,
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
    /// The maximum number of bytes of a key.
    pub const BYTES_MAX: usize = 48;

    /// The key that compares as these bytes do, among keys of the same number of bytes. It has the narrowest width
    /// with room for them.
    ///
    /// # Panics
    /// When there are more than [`BYTES_MAX`](Self::BYTES_MAX).
    #[inline]
    pub fn from_bytes(bytes: &[u8]) -> Self {
        let (rest, last) = bytes.split_at(bytes.len().saturating_sub(8));
        match KeyWidth::of_bytes(bytes.len()) {
            KeyWidth::One => Self::One(word_of(last)),
            KeyWidth::Two => Self::Two(u128::from(word_of(rest)) << 64 | u128::from(word_of(last))),
            KeyWidth::Six => {
                let mut all = [0; Self::BYTES_MAX];
                all[Self::BYTES_MAX - bytes.len()..].copy_from_slice(bytes);
                Self::Six(core::array::from_fn(|number| word_of(&all[number * 8..][..8])))
            }
        }
    }

    /// The bytes given to [`from_bytes`](Self::from_bytes), preceded by zeros.
    #[inline]
    pub fn to_bytes(self) -> [u8; Self::BYTES_MAX] {
        let words = match self {
            Self::One(key) => [0, 0, 0, 0, 0, key],
            Self::Two(key) => [0, 0, 0, 0, (key >> 64) as u64, key as u64],
            Self::Six(words) => words,
        };
        let mut bytes = [0; Self::BYTES_MAX];
        for (to, word) in bytes.chunks_exact_mut(8).zip(words) {
            to.copy_from_slice(&word.to_be_bytes());
        }
        bytes
    }

    /// The key's width in words.
    #[inline]
    pub fn words(self) -> usize {
        match self {
            Self::One(_) => KeyWidth::One.words(),
            Self::Two(_) => KeyWidth::Two.words(),
            Self::Six(_) => KeyWidth::Six.words(),
        }
    }
}

/// The integer that at most eight bytes represent, the highest byte first. It is put together from pieces that may
/// overlap, and not byte by byte through memory: that would wait for bytes that were just written in other pieces.
#[inline]
fn word_of(bytes: &[u8]) -> u64 {
    fn piece<const N: usize>(bytes: Option<&[u8; N]>) -> [u8; N] {
        *bytes.expect("as many bytes as were looked for")
    }
    let len = bytes.len();
    match len {
        8.. => u64::from_be_bytes(piece(bytes.first_chunk())),
        4.. => {
            let (first, last) = (piece(bytes.first_chunk()), piece(bytes.last_chunk()));
            u64::from(u32::from_be_bytes(first)) << (8 * (len - 4)) | u64::from(u32::from_be_bytes(last))
        }
        2.. => {
            let (first, last) = (piece(bytes.first_chunk()), piece(bytes.last_chunk()));
            u64::from(u16::from_be_bytes(first)) << (8 * (len - 2)) | u64::from(u16::from_be_bytes(last))
        }
        1 => u64::from(bytes[0]),
        0 => 0,
    }
}

/// The properties of a key's type. The functions expect keys of its width.
#[derive(Clone, Copy, Debug)]
pub(crate) struct KeyDecl {
    pub(crate) width: KeyWidth,
    pub(crate) suffix_bits: u32,
    /// Declared of the table, not known from the type.
    pub(crate) is_numbered: bool,
    /// The greatest integer that is a key.
    greatest: AnyKey,
    /// The further properties of a type. `None` for keys of bytes: every value is a key, and its row lives at home 0.
    typed: Option<TypedKey>,
}

#[derive(Clone, Copy, Debug)]
struct TypedKey {
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
            greatest: K::Ordered::MAX.any(),
            typed: Some(TypedKey {
                home: |key| typed::<K>(key).home(),
                is_key: |key| typed::<K>(key).ordered().any() == key,
            }),
        }
    }

    /// Keys of `bytes` bytes, whatever they mean. All their rows live at one home.
    fn of_bytes(bytes: usize) -> Self {
        assert!(bytes <= AnyKey::BYTES_MAX, "a key has {} bytes at most, not {bytes}", AnyKey::BYTES_MAX);
        Self {
            width: KeyWidth::of_bytes(bytes),
            suffix_bits: u32::MAX,
            is_numbered: false,
            greatest: AnyKey::from_bytes(&[u8::MAX; AnyKey::BYTES_MAX][..bytes]),
            typed: None,
        }
    }

    #[inline]
    fn admits(&self, key: &AnyKey) -> bool {
        let is_small = match (key, &self.greatest) {
            (AnyKey::One(key), AnyKey::One(greatest)) => key <= greatest,
            (AnyKey::Two(key), AnyKey::Two(greatest)) => key <= greatest,
            (AnyKey::Six(key), AnyKey::Six(greatest)) => key <= greatest,
            _ => false,
        };
        is_small && self.typed.is_none_or(|typed| (typed.is_key)(*key))
    }

    #[inline]
    fn home(&self, key: AnyKey) -> Home {
        self.typed.map_or(Home::At(0), |typed| (typed.home)(key))
    }
}

/// Bytes that are a part of a secondary key of rows without a type. Such keys compare as bytes, from the first to the
/// last.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KeyPart {
    /// Bytes of the primary key.
    OfKey(Range<usize>),
    /// Bytes of the row's column group.
    OfRow(Range<usize>),
}

/// A column group of a table without types: only its bytes are known.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PlainGroup {
    /// Its width in words, one at least.
    pub words: usize,
    /// Whether amounts may be added to it, word by word.
    pub is_additive: bool,
    /// The secondary indexes, two at most: a name, and the parts of a key that stand before the primary key, which
    /// ends it. The bytes of rows are those of the group.
    pub indexes: Vec<(&'static str, Vec<KeyPart>)>,
}

/// The keys and rows of a table without types: only their bytes are known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlainTable {
    /// The number of bytes of the primary key: see [`AnyKey::from_bytes`].
    pub key_bytes: usize,
    /// The number of last bytes of the primary key that number the rows of one prefix, the bytes before them: see
    /// [`Key::SUFFIX_BITS`].
    pub suffix_bytes: Option<usize>,
    /// The column groups, one at least.
    pub groups: Vec<PlainGroup>,
}

impl PlainTable {
    /// The maximum number of secondary indexes of a table of plain rows.
    pub const INDEXES_MAX: usize = 2;

    pub(crate) fn key(&self) -> KeyDecl {
        let suffix_bits = self.suffix_bytes.map_or(u32::MAX, |bytes| bytes as u32 * 8);
        KeyDecl { suffix_bits, ..KeyDecl::of_bytes(self.key_bytes) }
    }

    /// The secondary indexes of a column group.
    ///
    /// # Panics
    /// When there are too many, or their keys are too long, or made of bytes that do not exist.
    pub(crate) fn index_decls(&self, group: &PlainGroup) -> Vec<IndexDecl> {
        assert!(group.indexes.len() <= Self::INDEXES_MAX, "a table has two secondary indexes at most");
        group.indexes.iter().map(|(name, parts)| self.index_decl(group, name, parts)).collect()
    }

    fn index_decl(&self, group: &PlainGroup, name: &'static str, parts: &[KeyPart]) -> IndexDecl {
        let mut bytes = self.key_bytes;
        for part in parts {
            let (range, of) = match part {
                KeyPart::OfKey(range) => (range, self.key_bytes),
                KeyPart::OfRow(range) => (range, group.words * 8),
            };
            assert!(range.end <= of, "a key of `{name}` is made of bytes that are there");
            bytes += range.len();
        }
        let keys = Keys::Parts { parts: parts.into(), key_bytes: self.key_bytes, bytes };
        IndexDecl { name, key: KeyDecl::of_bytes(bytes), keys }
    }
}

/// A declared secondary index, and the properties of its keys.
#[derive(Clone, Debug)]
pub(crate) struct IndexDecl {
    pub(crate) name: &'static str,
    pub(crate) key: KeyDecl,
    keys: Keys,
}

/// The way in which the keys of a secondary index are made.
#[derive(Clone, Debug)]
enum Keys {
    /// By functions of their type.
    Typed {
        of_row: fn(AnyKey, &[u64]) -> AnyKey,
        primary: fn(AnyKey) -> AnyKey,
        holds: fn(AnyKey, &[u64]) -> bool,
    },
    /// From bytes, the primary key last.
    Parts { parts: Box<[KeyPart]>, key_bytes: usize, bytes: usize },
}

impl IndexDecl {
    pub(crate) fn of<R: Row, I: IndexOn<R>>(name: &'static str) -> Self {
        let keys = Keys::Typed {
            of_row: |key, words| key_in::<R, I>(typed(key), row_of(words)).ordered().any(),
            primary: |key| I::primary(typed(key)).ordered().any(),
            holds: |key, words| I::holds(typed(key), row_of(words)),
        };
        Self { name, key: KeyDecl::of::<I::Key>(), keys }
    }

    /// The secondary key of a row.
    fn of_row(&self, key: AnyKey, words: &[u64]) -> AnyKey {
        match &self.keys {
            Keys::Typed { of_row, .. } => of_row(key, words),
            Keys::Parts { parts, key_bytes, bytes } => {
                let (primary, row) = (key.to_bytes(), words.as_bytes());
                let primary = &primary[AnyKey::BYTES_MAX - key_bytes..];
                let (mut made, mut end) = ([0; AnyKey::BYTES_MAX], 0);
                let mut append = |part: &[u8]| {
                    made[end..][..part.len()].copy_from_slice(part);
                    end += part.len();
                };
                for part in parts {
                    append(match part {
                        KeyPart::OfKey(range) => &primary[range.clone()],
                        KeyPart::OfRow(range) => &row[range.clone()],
                    });
                }
                append(primary);
                AnyKey::from_bytes(&made[..*bytes])
            }
        }
    }

    /// The primary key that a secondary key contains.
    pub(crate) fn primary(&self, key: AnyKey) -> AnyKey {
        match &self.keys {
            Keys::Typed { primary, .. } => primary(key),
            Keys::Parts { key_bytes, .. } => {
                AnyKey::from_bytes(&key.to_bytes()[AnyKey::BYTES_MAX - key_bytes..])
            }
        }
    }

    /// Whether a row has the secondary key.
    fn holds(&self, key: AnyKey, words: &[u64]) -> bool {
        match &self.keys {
            Keys::Typed { holds, .. } => holds(key, words),
            Keys::Parts { .. } => self.of_row(self.primary(key), words) == key,
        }
    }
}

/// Access to keys and rows whose types the caller does not know.
///
/// # Panics
/// Where a key or a row has another width than the table's, or there is no such column group or index.
impl<S: Shape> TableStore<S> {
    #[inline]
    fn key_decl(&self, which: Which) -> &KeyDecl {
        match which {
            Which::Primary => self.key(),
            Which::Secondary { group, position } => &self.secondary_decl(group, position).key,
        }
    }

    /// The width in words of the keys of an index.
    #[inline]
    pub fn key_words(&self, which: Which) -> usize {
        self.key_decl(which).width.words()
    }

    /// Whether a key is a value of the type of the index's keys. A key of the right width need not be one, if the
    /// type has fewer values than the integer.
    #[inline]
    pub fn is_key(&self, which: Which, key: &AnyKey) -> bool {
        self.key_decl(which).admits(key)
    }

    /// Like [`is_key`](Self::is_key), for a primary key.
    #[inline]
    pub fn is_primary_key(&self, key: &AnyKey) -> bool {
        self.key().admits(key)
    }

    /// Where the rows of a key live.
    #[inline]
    pub fn home(&self, which: Which, key: AnyKey) -> Home {
        self.key_decl(which).home(key)
    }

    /// The number of low bits below the prefix of an index's keys: see [`Key::SUFFIX_BITS`].
    #[inline]
    pub fn suffix_bits(&self, which: Which) -> u32 {
        self.key_decl(which).suffix_bits
    }

    /// The primary key that a key of a secondary index contains.
    pub fn primary_key(&self, group: u16, position: u16, key: AnyKey) -> AnyKey {
        self.secondary_decl(group, position).primary(key)
    }

    /// The key in a secondary index of a row with this primary key and these words of the index's group.
    pub fn secondary_key(&self, group: u16, position: u16, key: AnyKey, words: &[u64]) -> AnyKey {
        self.secondary_decl(group, position).of_row(key, words)
    }

    /// Like [`IndexOn::holds`]; a primary index holds a row under its own key only.
    pub fn holds(&self, which: Which, key: AnyKey, words: &[u64]) -> bool {
        match which {
            Which::Primary => true,
            Which::Secondary { group, position } => self.secondary_decl(group, position).holds(key, words),
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
        assert!(store.is_key(which, &second));
        assert!(!store.is_key(which, &AnyKey::Two(1 << 40)), "bits that the type has not");
    }

    #[test]
    fn keys_of_bytes_compare_as_their_bytes_and_give_them_back() {
        for bytes in [1, 7, 8, 9, 16, 17, 48] {
            let of = |first: u8, last: u8| {
                let mut all = vec![9; bytes];
                all[bytes - 1] = last;
                all[0] = first;
                AnyKey::from_bytes(&all)
            };
            let lowest = of(1, if bytes == 1 { 1 } else { 200 });
            assert!(lowest < of(2, 3), "{bytes} bytes");
            assert_eq!(lowest.to_bytes()[AnyKey::BYTES_MAX - bytes], 1);
            assert_eq!(AnyKey::from_bytes(&lowest.to_bytes()[AnyKey::BYTES_MAX - bytes..]), lowest);
        }
        for len in 0..=AnyKey::BYTES_MAX {
            let bytes: Vec<u8> = (1..=len as u8).collect();
            let all = AnyKey::from_bytes(&bytes).to_bytes();
            let (rest, own) = all.split_at(AnyKey::BYTES_MAX - len);
            assert!(own == bytes && rest.iter().all(|byte| *byte == 0), "{len} bytes: {all:?}");
        }
        let words = [8, 9, 16, 17, 48].map(|bytes| AnyKey::from_bytes(&vec![0; bytes]).words());
        assert_eq!(words, [1, 2, 2, 6, 6]);
    }

    #[test]
    fn secondary_keys_of_plain_rows_are_made_of_their_bytes() {
        let indexes = vec![("by", vec![KeyPart::OfRow(4..6), KeyPart::OfKey(0..1)])];
        let groups = vec![
            PlainGroup { words: 2, is_additive: false, indexes },
            PlainGroup { words: 1, ..PlainGroup::default() },
        ];
        let plain = PlainTable { key_bytes: 3, suffix_bytes: Some(2), groups };
        let mut schema = Schema::new();
        let id = schema.plain_table("plain", Lookup::Ordered, 4, &plain);
        let tables = Tables::<Plain>::new(&schema, 1, 0, false);
        let store = tables.get(id);
        let which = Which::Secondary { group: 0, position: 0 };
        assert_eq!([Which::Primary, which].map(|which| store.key_words(which)), [1, 1]);
        assert_eq!([0, 1].map(|group| store.row_width(group)), [2, 1]);
        assert_eq!((store.suffix_bits(Which::Primary), store.suffix_bits(which)), (16, u32::MAX));
        let key = AnyKey::from_bytes(&[1, 2, 3]);
        let words = [u64::from_ne_bytes([0, 0, 0, 0, 7, 8, 0, 0]), 0];
        let secondary = AnyKey::from_bytes(&[7, 8, 1, 1, 2, 3]);
        assert_eq!(store.secondary_key(0, 0, key, &words), secondary);
        assert_eq!(store.primary_key(0, 0, secondary), key);
        assert!(store.holds(which, secondary, &words) && !store.holds(which, secondary, &[0, 0]));
        assert!(store.is_key(Which::Primary, &key));
        assert!(!store.is_key(Which::Primary, &AnyKey::One(1 << 24)), "a byte more than a key has");
    }
}
