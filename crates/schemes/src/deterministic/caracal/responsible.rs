//! Responsible workers for contended records (Qin, Brown, Goel: Caracal, SOSP 2021, "split on demand"): each contended
//! record has a worker that is responsible for it, and the transactions that write the record execute there. Every
//! access is Relaxed: the caller's barriers are between the steps that forget, spread and ask.

use sync::atomic::{AtomicU64, Ordering};

use super::version_arrays::VersionArray;

/// By place of a batch: the number of versions of the most contended record that the transaction writes, above
/// `WORKER_BITS` for one more than the worker responsible for it; 0 if there is none.
#[derive(Debug)]
pub struct Responsible(Box<[AtomicU64]>);

const WORKER_BITS: u32 = 32;

impl Responsible {
    /// Makes the state for batches of at most `places` places, with no responsible workers.
    pub fn new(places: usize) -> Self {
        Self((0..places).map(|_| AtomicU64::new(0)).collect())
    }

    /// Records that the transaction at a place writes no contended record, as far as is known.
    pub fn forget(&self, place: usize) {
        self.0[place].store(0, Ordering::Relaxed);
    }

    /// Spreads the contended records of a share, which have these arrays, over the workers, by the numbers of their
    /// versions. Each share begins with another worker, since most shares have few such records.
    // ANCHOR: spread
    pub fn spread<'a>(
        &self,
        contended: impl Iterator<Item = VersionArray<'a>> + Clone,
        share: usize,
        workers: usize,
    ) {
        let sum: usize = contended.clone().map(VersionArray::len).sum();
        let mut before = 0;
        for array in contended {
            let worker = (workers * (before + array.len() / 2) / sum + share) % workers;
            before += array.len();
            let responsible = (array.len() as u64) << WORKER_BITS | (worker as u64 + 1);
            for place in array.places() {
                self.0[place as usize].fetch_max(responsible, Ordering::Relaxed);
            }
        }
    }
    // ANCHOR_END: spread

    /// The worker that executes the transaction at a place: `home`, if the transaction writes no contended record.
    #[inline]
    pub fn worker_of(&self, place: usize, home: usize) -> usize {
        let worker = self.0[place].load(Ordering::Relaxed) as u32;
        worker.checked_sub(1).map_or(home, |worker| worker as usize)
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::super::version_arrays::VersionArrays;
    use super::*;

    #[test]
    fn contended_records_are_spread_by_their_versions_and_the_most_contended_decides() {
        let arrays = VersionArrays::new(1, 1);
        let places = |from: u32, to: u32| (from..to).collect::<Vec<_>>();
        let all = [places(0, 30), places(30, 50), places(50, 60), places(5, 15)];
        let all = all.map(|places| arrays.get(arrays.pending(&places)));
        let responsible = Responsible::new(70);
        responsible.spread(all.into_iter(), 0, 2);
        let workers: Vec<_> = (0..70).map(|place| responsible.worker_of(place, 9)).collect();
        assert_eq!(workers[..30], [0; 30], "those of 5 to 15, too, since fewer write the other record");
        assert_eq!(workers[30..60], [1; 30]);
        assert_eq!(workers[60..], [9; 10], "who writes nothing contended stays");
        (0..70).for_each(|place| responsible.forget(place));
        assert!((0..70).all(|place| responsible.worker_of(place, 3) == 3));
        responsible.spread(all.into_iter().take(1), 1, 2);
        assert_eq!(responsible.worker_of(0, 9), 0, "one alone is in the middle, from where its share begins");
    }
}
