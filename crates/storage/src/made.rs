//! A map from numbers to addresses or places, for what simulated databases make at first touch. It is not part of what
//! is simulated.

/// Open addressing: the key of a place, and its value plus one, 0 for none.
#[derive(Debug)]
pub(crate) struct Made {
    places: Vec<(u64, usize)>,
    used: usize,
}

impl Default for Made {
    fn default() -> Self {
        Self { places: vec![(0, 0); 1 << 6], used: 0 }
    }
}

impl Made {
    /// The value of a key.
    pub(crate) fn get(&self, key: u64) -> Option<usize> {
        self.places[self.place(key)].1.checked_sub(1)
    }

    /// Sets the value of a key.
    pub(crate) fn set(&mut self, key: u64, value: usize) {
        let at = self.place(key);
        self.used += usize::from(self.places[at].1 == 0);
        self.places[at] = (key, value + 1);
        if self.used * 4 > self.places.len() * 3 {
            let grown = vec![(0, 0); self.places.len() * 2];
            for (key, value) in core::mem::replace(&mut self.places, grown) {
                if value != 0 {
                    let at = self.place(key);
                    self.places[at] = (key, value);
                }
            }
        }
    }

    /// The number of keys.
    pub(crate) fn len(&self) -> usize {
        self.used
    }

    /// The place of a key, or where it would be.
    fn place(&self, key: u64) -> usize {
        let shift = u64::BITS - self.places.len().trailing_zeros();
        let mut at = (key.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> shift) as usize;
        while self.places[at].1 != 0 && self.places[at].0 != key {
            at = (at + 1) & (self.places.len() - 1);
        }
        at
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_key_keeps_its_last_value() {
        let mut made = Made::default();
        for key in 0..10_000 {
            made.set(key << 40, key as usize);
            made.set(key << 40, key as usize + 1);
        }
        assert!((0..10_000).all(|key| made.get(key << 40) == Some(key as usize + 1)));
        assert_eq!((made.len(), made.get(7)), (10_000, None));
    }
}
