//! Texts: small changes of columns of text, without memory of their own. What has no room at the end is cut off.

use engine::Text;

/// Returns where a word begins in a text.
pub(super) fn find(text: &[u8], word: &[u8]) -> Option<usize> {
    text.windows(word.len()).position(|part| part == word)
}

/// Returns a text in which other bytes stand for some of its bytes: `removed` from a place on, or fewer if the text
/// ends before.
pub(super) fn spliced<const N: usize>(text: Text<N>, at: usize, removed: usize, inserted: &[u8]) -> Text<N> {
    let old = text.as_bytes();
    let at = at.min(old.len());
    let after = at.saturating_add(removed).min(old.len());
    let mut bytes = [0; N];
    let mut len = 0;
    for part in [&old[..at], inserted, &old[after..]] {
        let room = part.len().min(N - len);
        bytes[len..][..room].copy_from_slice(&part[..room]);
        len += room;
    }
    Text::new(&bytes)
}

/// Puts the second word into a text in the place of the first, or the first in the place of the second. Returns `false`
/// if the text has neither.
pub(super) fn swap_word<const N: usize>(text: &mut Text<N>, first: &[u8], second: &[u8]) -> bool {
    for (word, other) in [(first, second), (second, first)] {
        if let Some(at) = find(text.as_bytes(), word) {
            *text = spliced(*text, at, word.len(), other);
            return true;
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_is_replaced_and_the_end_is_cut_off() {
        let text = Text::<10>::new(b"abcdef");
        assert_eq!(spliced(text, 2, 2, b"xyz").as_bytes(), b"abxyzef");
        assert_eq!(spliced(text, 6, 0, b"xyz").as_bytes(), b"abcdefxyz");
        assert_eq!(spliced(text, 1, 0, b"123456").as_bytes(), b"a123456bcd");
        assert_eq!(spliced(text, 4, 99, b"").as_bytes(), b"abcd");
        assert_eq!(spliced(text, 99, 99, b"!").as_bytes(), b"abcdef!");
    }

    #[test]
    fn words_are_swapped_and_swapped_back() {
        let mut text = Text::<20>::new(b"100 shares of X");
        assert!(swap_word(&mut text, b"shares of", b"Shares of"));
        assert_eq!(text.as_bytes(), b"100 Shares of X");
        assert!(swap_word(&mut text, b"shares of", b"Shares of"));
        assert_eq!(text.as_bytes(), b"100 shares of X");
        assert!(!swap_word(&mut text, b"bonds", b"Bonds"));
        assert_eq!(text.as_bytes(), b"100 shares of X");
    }
}
