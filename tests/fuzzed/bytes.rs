//! Bytes as a test case. Bytes are taken from the front, and are zero after the end, so that every input is a
//! test case and an inserted or removed piece leaves the meaning of the rest unchanged.

/// The rest of an input.
pub(crate) struct Bytes<'a>(pub(crate) &'a [u8]);

impl Bytes<'_> {
    /// Returns `true` if no bytes are left.
    pub(crate) fn are_over(&self) -> bool {
        self.0.is_empty()
    }

    /// Takes the next byte.
    pub(crate) fn next(&mut self) -> u8 {
        let Some((first, rest)) = self.0.split_first() else { return 0 };
        self.0 = rest;
        *first
    }

    /// Takes the next two bytes as a number.
    pub(crate) fn next_u16(&mut self) -> u16 {
        u16::from_le_bytes([self.next(), self.next()])
    }
}
