//! The copy of a value that a read lends.

/// Words that are copied over by each read; what it held before is never cleared.
#[derive(Debug, Default)]
pub struct CopyBuffer(Vec<u64>);

impl CopyBuffer {
    /// Room for a value of `width` words, to be written: it holds whatever it held before.
    #[inline]
    pub fn room(&mut self, width: usize) -> &mut [u64] {
        if width > self.0.len() {
            self.grow(width);
        }
        &mut self.0[..width]
    }

    #[cold]
    fn grow(&mut self, width: usize) {
        self.0.resize(width.next_power_of_two(), 0);
    }
}
