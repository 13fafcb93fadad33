//! The format of a transaction in the log: little-endian words.
//!
//! ```text
//! word 0   words in all (bits 0..32), writes (32..64)
//! word 1   the epoch
//! word 2   the order within the epoch
//! then, for each write
//!   word   table (0..16), column group (16..32), kind (32..40), words of the key (40..48)
//!   words  the key
//!   words  of a value: the row of the column group, as wide as the layout says
//! ```

use storage::AnyKey;

use crate::layout::Layouts;

/// The number of words before a transaction's writes.
pub(crate) const HEAD: usize = 3;

/// Stands for a column group: all groups, one after the other.
pub(crate) const ALL: u16 = u16::MAX;

/// The write gives a value.
pub(crate) const VALUE: u8 = 1;
/// The write deletes the row.
pub(crate) const GONE: u8 = 2;

/// The first word of a write.
#[inline]
pub(crate) fn head_of_write(table: u16, group: u16, kind: u8, key_words: usize) -> u64 {
    u64::from(table) | u64::from(group) << 16 | u64::from(kind) << 32 | (key_words as u64) << 40
}

/// The key with these words; `None` if no keys have that width.
pub(crate) fn key_of(words: &[u64]) -> Option<AnyKey> {
    match *words {
        [key] => Some(AnyKey::One(key)),
        [high, low] => Some(AnyKey::Two(u128::from(high) << 64 | u128::from(low))),
        _ => <[u64; 6]>::try_from(words).ok().map(AnyKey::Six),
    }
}

/// A write of a logged transaction.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Write {
    pub(crate) table: u16,
    pub(crate) group: u16,
    pub(crate) is_gone: bool,
    /// The index at which its key begins, in words from the transaction's first; the row follows the key.
    pub(crate) key_at: usize,
    pub(crate) key_words: usize,
}

/// The head of a logged transaction. Only the words of the head are sure to be present.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Head {
    pub(crate) words: usize,
    pub(crate) writes: usize,
    pub(crate) epoch: u64,
    pub(crate) order: u64,
}

impl Head {
    /// The head of the transaction that begins with these words.
    pub(crate) fn of(words: &[u64]) -> Option<Self> {
        let [first, epoch, order] = *words.first_chunk::<HEAD>()?;
        let (len, writes) = (first as u32 as usize, (first >> 32) as usize);
        (len >= HEAD).then_some(Self { words: len, writes, epoch, order })
    }
}

/// Visits the writes of the transaction at the start of these bytes; `None` if the bytes are not a valid transaction.
pub(crate) fn writes(bytes: &[u8], layouts: &Layouts, mut see: impl FnMut(&Head, Write)) -> Option<Head> {
    let head = Head::of(&[word(bytes, 0)?, word(bytes, 1)?, word(bytes, 2)?])?;
    let mut at = HEAD;
    if bytes.len() / 8 < head.words {
        return None;
    }
    for _ in 0..head.writes {
        let first = word(bytes, at)?;
        let (table, group, kind) = (first as u16, (first >> 16) as u16, (first >> 32) as u8);
        let key_words = (first >> 40) as usize;
        let declared = layouts.0.get(usize::from(table))?;
        let width = layouts.width(usize::from(table), group)?;
        if declared.key_words as usize != key_words || !matches!(kind, VALUE | GONE) {
            return None;
        }
        let is_gone = kind == GONE;
        let row_words = if is_gone { 0 } else { width };
        let key_at = at + 1;
        at = key_at + key_words + row_words;
        if at > head.words {
            return None;
        }
        see(&head, Write { table, group, is_gone, key_at, key_words });
    }
    (at == head.words).then_some(head)
}

/// The word number `nth` of little-endian bytes.
#[inline]
pub(crate) fn word(bytes: &[u8], nth: usize) -> Option<u64> {
    bytes.get(nth * 8..)?.first_chunk().map(|bytes| u64::from_le_bytes(*bytes))
}

/// Copies little-endian words over other words.
///
/// # Panics
/// When their numbers differ.
#[inline]
pub(crate) fn copy_words(to: &mut [u64], from: &[u8]) {
    assert_eq!(to.len() * 8, from.len(), "a row has its width");
    for (to, from) in to.iter_mut().zip(from.as_chunks().0) {
        *to = u64::from_le_bytes(*from);
    }
}
