//! Bytes as a test case: taken from the front, and zero when there are no more, so that every input is one and
//! a piece that is cut out or put in leaves the rest as it was.

/// The rest of an input.
pub(crate) struct Bytes<'a>(pub(crate) &'a [u8]);

impl Bytes<'_> {
    /// Whether nothing is left.
    pub(crate) fn are_over(&self) -> bool {
        self.0.is_empty()
    }

    /// The next byte.
    pub(crate) fn next(&mut self) -> u8 {
        let Some((first, rest)) = self.0.split_first() else { return 0 };
        self.0 = rest;
        *first
    }

    /// The next two bytes as a number.
    pub(crate) fn next_u16(&mut self) -> u16 {
        u16::from_le_bytes([self.next(), self.next()])
    }
}
