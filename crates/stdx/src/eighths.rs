//! Buckets of numbers for coarse histograms: a bucket's end is at most an eighth above the numbers in it.

/// Buckets of each power of two.
const STEPS: usize = 1 << STEP_BITS;
const STEP_BITS: u32 = 3;

/// The bucket of a number: each number below 16 has its own, above that the leading bits decide.
#[inline]
pub fn bucket(number: u64) -> usize {
    let shift = (u64::BITS - (number | 1).leading_zeros()).saturating_sub(STEP_BITS + 1);
    // The leading bit, which is left in, counts as one more power.
    shift as usize * STEPS + (number >> shift) as usize
}

/// The greatest number in a bucket.
pub fn end(bucket: usize) -> u64 {
    let shift = (bucket / STEPS).saturating_sub(1);
    let leading = bucket - shift * STEPS;
    ((leading as u64 + 1) << shift) - 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_follow_each_other_without_a_hole_and_end_an_eighth_above_their_beginning_at_most() {
        let mut first = 0;
        for number in 0..280 {
            let last = end(number);
            assert_eq!((bucket(first), bucket(last), bucket(last + 1)), (number, number, number + 1));
            assert!(last - first <= first / STEPS as u64, "{first} to {last}");
            first = last + 1;
        }
    }
}
