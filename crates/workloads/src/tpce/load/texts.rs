//! Texts that nobody looks into: only their length matters.

use engine::Text;
use stdx::Rng;

/// Fills with random letters from `a` to `p`, eight for each random number.
pub(super) fn fill(rng: &mut Rng, bytes: &mut [u8]) {
    for chunk in bytes.chunks_mut(8) {
        // Four bits of each byte choose its letter.
        let letters = (rng.next_u64() & 0x0f0f_0f0f_0f0f_0f0f) + 0x6161_6161_6161_6161;
        chunk.copy_from_slice(&letters.to_le_bytes()[..chunk.len()]);
    }
}

/// Returns a text of a random length between two limits, of which the greater one is at most `N`.
pub(super) fn letters<const N: usize>(rng: &mut Rng, shortest: usize, longest: usize) -> Text<N> {
    let mut bytes = [0; N];
    let len = rng.between(shortest as u64, longest as u64) as usize;
    fill(rng, &mut bytes[..len]);
    Text::new(&bytes)
}

/// Returns a text of a number of random digits, at most 16 and at most `N`.
pub(super) fn digits<const N: usize>(rng: &mut Rng, count: usize) -> Text<N> {
    let mut bytes = [0; N];
    let mut number = rng.next_u64();
    for byte in &mut bytes[..count] {
        *byte = b'0' + (number % 10) as u8;
        number /= 10;
    }
    Text::new(&bytes)
}

/// Returns a text that is formatted.
pub(super) fn text<const N: usize>(text: &str) -> Text<N> {
    Text::new(text.as_bytes())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn texts_have_all_lengths_within_their_limits_and_printable_letters() {
        let rng = &mut Rng::new(1);
        let mut lengths = BTreeSet::new();
        for _ in 0..500 {
            let text = letters::<30>(rng, 10, 30);
            assert!(text.as_bytes().iter().all(u8::is_ascii_lowercase));
            lengths.insert(text.as_bytes().len());
        }
        assert!(lengths.into_iter().eq(10..=30));
        let number = digits::<10>(rng, 7);
        assert!(number.as_bytes().len() == 7 && number.as_bytes().iter().all(u8::is_ascii_digit));
    }
}
