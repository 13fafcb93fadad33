//! New values that an attempt keeps to itself until it commits.

use sync::clock;

/// Words of an attempt's private values, one after the other; emptied when it ends.
#[derive(Debug, Default)]
pub struct WriteBuffer {
    /// Those beyond `len` are free, and hold what earlier attempts left.
    words: Vec<u64>,
    len: usize,
}

/// Where a value is in its buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WordRange {
    start: u32,
    len: u32,
}

impl WriteBuffer {
    /// Room for a value of `len` words, to be written: it holds whatever it held before.
    #[inline]
    pub fn push(&mut self, len: usize) -> WordRange {
        clock::compute(len as u64);
        let start = self.len;
        self.len += len;
        if self.len > self.words.len() {
            self.grow();
        }
        WordRange { start: start as u32, len: len as u32 }
    }

    #[cold]
    fn grow(&mut self) {
        self.words.resize(self.len.next_power_of_two(), 0);
    }

    /// A copy of a value.
    #[inline]
    pub fn push_copy(&mut self, value: &[u64]) -> WordRange {
        let room = self.push(value.len());
        self.get_mut(room).copy_from_slice(value);
        room
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
        self.len = 0;
    }
}
