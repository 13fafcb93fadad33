//! New values that an attempt keeps to itself until it commits.

/// Words of an attempt's private values, one after the other; emptied when it ends.
#[derive(Debug, Default)]
pub struct WriteBuffer {
    words: Vec<u64>,
}

/// Where a value is in its buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WordRange {
    start: u32,
    len: u32,
}

impl WriteBuffer {
    /// Room for a value of `len` words; they are zero.
    #[inline]
    pub fn push(&mut self, len: usize) -> WordRange {
        let start = self.words.len();
        self.words.resize(start + len, 0);
        WordRange { start: start as u32, len: len as u32 }
    }

    /// A copy of a value.
    #[inline]
    pub fn push_copy(&mut self, value: &[u64]) -> WordRange {
        let start = self.words.len();
        self.words.extend_from_slice(value);
        WordRange { start: start as u32, len: value.len() as u32 }
    }

    /// A value.
    #[inline]
    pub fn get(&self, range: WordRange) -> &[u64] {
        &self.words[range.start as usize..][..range.len as usize]
    }

    /// A value, to be written.
    #[inline]
    pub fn get_mut(&mut self, range: WordRange) -> &mut [u64] {
        &mut self.words[range.start as usize..][..range.len as usize]
    }

    /// Forgets all values.
    #[inline]
    pub fn clear(&mut self) {
        self.words.clear();
    }
}
