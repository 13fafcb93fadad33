//! Model of how commits reach the log: a thread that ends an epoch and waits until it is closed takes every commit that
//! has drawn it, whole, and none twice, also where the ring wraps around and where it has no room.
//!
//! `RUSTFLAGS="--cfg loom" cargo test --release -p contend-durability --test loom_handover`
#![cfg(loom)]

use durability::{Epochs, Giver, Handover};
use loom::sync::Arc;
use loom::thread;

struct Shared {
    epochs: Epochs,
    handover: sync::Arc<Handover>,
}

/// Commits a transaction of `words` words, each of which, except the first two, is the number of the commit.
fn commit(shared: &Shared, giver: &mut Giver, number: u64, words: usize) -> u64 {
    let epoch = shared.epochs.open(0).epoch;
    giver.begin(epoch, number);
    for _ in 3..words {
        giver.append(number, &[], &[]);
    }
    giver.end(0);
    shared.epochs.close(0);
    epoch
}

/// Ends an epoch, and takes its commits: their epochs and numbers.
fn round(shared: &Shared, taken: &mut Vec<(u64, u64)>) -> u64 {
    let ended = shared.epochs.advance();
    while !shared.epochs.is_closed(ended) {
        thread::yield_now();
    }
    let mut bytes = Vec::new();
    shared.handover.take(ended, &mut bytes);
    let words: Vec<u64> =
        bytes.chunks_exact(8).map(|word| u64::from_le_bytes(word.try_into().expect("eight bytes"))).collect();
    let mut rest = &words[..];
    while let [len, epoch, number, ..] = *rest {
        assert!(epoch <= ended, "nothing is sealed with an epoch that has not ended");
        assert!(rest[2..len as usize].iter().all(|word| *word == number), "a commit is taken whole");
        taken.push((epoch, number));
        rest = &rest[len as usize..];
    }
    ended
}

fn check(room: usize, words: [usize; 2]) {
    loom::model(move || {
        let handover = sync::Arc::new(Handover::new(room));
        let mut giver = Giver::new(sync::Arc::clone(&handover));
        let shared = Arc::new(Shared { epochs: Epochs::new(1, 1), handover });
        let theirs = Arc::clone(&shared);
        let session = thread::spawn(move || {
            [1, 2].map(|number| (commit(&theirs, &mut giver, number, words[number as usize - 1]), number))
        });
        let mut taken = Vec::new();
        let sealed = round(&shared, &mut taken);
        let first = taken.clone();
        let committed = session.join().expect("nobody panics");
        let due: Vec<_> = committed.into_iter().filter(|(epoch, _)| *epoch <= sealed).collect();
        assert_eq!(first, due, "what is sealed is what has drawn the epoch");
        round(&shared, &mut taken);
        taken.sort_unstable();
        assert_eq!(taken, committed, "each commit is taken once");
    });
}

#[test]
fn commits_are_sealed_with_the_epoch_that_they_drew() {
    check(8, [4, 4]);
}

#[test]
fn what_comes_round_is_written_over_when_it_was_taken() {
    check(4, [3, 4]);
}
