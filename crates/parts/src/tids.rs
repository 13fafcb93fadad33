//! TIDs, by which the words of records tell values apart: of the epoch of their commit, without a central counter (Tu,
//! Zheng, Kohler, Liskov, Madden, SOSP 2013, 4.2).
//!
//! WORD        bits 0 to 2 as in [`value_word`](crate::value_word), bit 3 the scheme's own, bits 4..32 sequence, bits
//!             32.. epoch. Without its four status bits it is the TID of the commit that wrote the value.

/// All bits that do not belong to the TID.
pub const STATUS: u64 = 15;
/// One step of the sequence.
pub const STEP: u64 = 16;
/// The place of the epoch.
pub const EPOCH_SHIFT: u32 = 32;

// ANCHOR: tid
/// The TID of a commit in an epoch: above those of all words that the attempt met, and above the slot's last.
#[inline]
pub fn choose(last: u64, met: impl Iterator<Item = u64>, epoch: u64) -> u64 {
    let above = met.fold(last, |tid, word| tid.max(word & !STATUS)) + STEP;
    above.max(epoch << EPOCH_SHIFT)
}
// ANCHOR_END: tid
