//! Sets of transactions as words of bits, so that a batch of up to 64 transactions is one word.

/// The number of words for a set of `len` transactions.
pub(crate) fn words_for(len: usize) -> usize {
    len.div_ceil(64)
}

/// Makes a set empty, for `len` transactions.
pub(crate) fn clear(set: &mut Vec<u64>, len: usize) {
    set.clear();
    set.resize(words_for(len), 0);
}

/// Makes a set the set of all of `len` transactions.
pub(crate) fn fill(set: &mut Vec<u64>, len: usize) {
    set.clear();
    set.resize(words_for(len), u64::MAX);
    if let Some(last) = set.last_mut().filter(|_| !len.is_multiple_of(64)) {
        *last = (1 << (len % 64)) - 1;
    }
}

/// Returns `true` if a set has the transaction.
#[inline]
pub(crate) fn has(set: &[u64], at: usize) -> bool {
    set[at / 64] >> (at % 64) & 1 != 0
}

/// Adds a transaction to a set.
#[inline]
pub(crate) fn insert(set: &mut [u64], at: usize) {
    set[at / 64] |= 1 << (at % 64);
}

/// Removes a transaction from a set.
#[inline]
pub(crate) fn remove(set: &mut [u64], at: usize) {
    set[at / 64] &= !(1 << (at % 64));
}

/// The number of transactions in a set.
#[inline]
pub(crate) fn count(set: &[u64]) -> u32 {
    set.iter().map(|word| word.count_ones()).sum()
}

/// The number of transactions that are in both sets.
#[inline]
pub(crate) fn count_both(one: &[u64], other: &[u64]) -> u32 {
    one.iter().zip(other).map(|(one, other)| (one & other).count_ones()).sum()
}

/// Returns `true` if two sets have a transaction in common.
#[inline]
pub(crate) fn meet(one: &[u64], other: &[u64]) -> bool {
    one.iter().zip(other).any(|(one, other)| one & other != 0)
}

/// The positions of the bits of one word, ascending.
#[inline]
pub(crate) fn ones_of(word: u64) -> impl Iterator<Item = usize> {
    let mut rest = word;
    core::iter::from_fn(move || {
        let at = rest.trailing_zeros() as usize;
        (rest != 0).then(|| {
            rest &= rest - 1;
            at
        })
    })
}

/// The transactions of a set, ascending.
#[inline]
pub(crate) fn ones(set: &[u64]) -> impl Iterator<Item = usize> {
    set.iter().enumerate().flat_map(|(at, word)| ones_of(*word).map(move |bit| at * 64 + bit))
}

/// The first transaction of a set.
#[inline]
pub(crate) fn first(set: &[u64]) -> Option<usize> {
    ones(set).next()
}

/// Removes and returns the first transaction of a set.
#[inline]
pub(crate) fn pop(set: &mut [u64]) -> Option<usize> {
    let (at, word) = set.iter_mut().enumerate().find(|(_, word)| **word != 0)?;
    let bit = word.trailing_zeros() as usize;
    *word &= *word - 1;
    Some(at * 64 + bit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_set_has_all_transactions_and_no_more() {
        for len in [0, 1, 63, 64, 65, 128, 200] {
            let mut set = Vec::new();
            fill(&mut set, len);
            assert!(ones(&set).eq(0..len), "{len}");
            assert_eq!(count(&set) as usize, len);
        }
    }

    #[test]
    fn the_first_is_taken_first() {
        let mut set = vec![0; 3];
        for at in [130, 5, 64] {
            insert(&mut set, at);
        }
        remove(&mut set, 64);
        assert!(has(&set, 5) && !has(&set, 64) && first(&set) == Some(5));
        assert_eq!([pop(&mut set), pop(&mut set), pop(&mut set)], [Some(5), Some(130), None]);
    }
}
