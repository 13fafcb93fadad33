//! The speed of the indexes on their own: nanoseconds of each operation, in the best of several rounds
//! so short that most are undisturbed.
//!
//! `cargo run --release -p contend-storage --example index_speed`
#![allow(clippy::print_stdout, reason = "an example shows its figures")]

use std::convert::Infallible;
use std::hint::black_box;
use std::num::NonZero;
use std::ops::{Bound, ControlFlow};

use storage::index::{BTree, Hash, Inserted, LeafRef, RowPtr, Visitor};
use storage::{Direction, OrderedKey, Watcher};
use sync::clock;

type Tree<K> = BTree<K, ()>;

struct Nobody;

impl<'t> Watcher<'t, ()> for Nobody {
    type Stop = Infallible;

    fn adding(&mut self, _: LeafRef<'t, ()>) -> Result<(), Infallible> {
        Ok(())
    }

    fn added(&mut self, _: LeafRef<'t, ()>, _: u64) {}

    fn split(&mut self, _: LeafRef<'t, ()>, _: u64, _: LeafRef<'t, ()>) {}
}

struct Sum {
    rows: usize,
    left: usize,
}

impl<K> Visitor<'_, K, ()> for Sum {
    type Stop = Infallible;

    fn leaf(&mut self, _: LeafRef<'_, ()>) -> Result<(), Infallible> {
        Ok(())
    }

    fn entry(&mut self, _: K, row: RowPtr) -> Result<ControlFlow<()>, Infallible> {
        self.rows ^= row.address();
        self.left -= 1;
        Ok(if self.left == 0 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
    }
}

/// Lookups of a round.
const ROUND: usize = 1 << 14;
/// Rounds.
const ROUNDS: usize = 64;

/// Measures `rounds` rounds of `count` operations, and prints the best time of one.
fn measure(what: &str, size: usize, count: usize, rounds: usize, mut round: impl FnMut(usize)) {
    let times = (0..rounds).map(|nth| {
        let start = clock::now_ns();
        round(nth);
        clock::now_ns() - start
    });
    let best = times.min().expect("at least a round");
    println!("{what:<40} {size:>9} entries {:>8.2} ns", best as f64 / count as f64);
}

fn row(number: usize) -> RowPtr {
    RowPtr::to_nowhere(NonZero::new((number + 1) * 8).expect("not zero"))
}

/// Numbers below `size` in an order without a pattern, with repetitions.
fn random(size: usize, count: usize, seed: u64) -> Vec<u64> {
    (0..count as u64).map(|nth| (nth | seed << 40).hash() % size as u64).collect()
}

/// All numbers below `size` in an order without a pattern.
fn shuffled(size: usize) -> Vec<u64> {
    let mut all: Vec<u64> = (0..size as u64).collect();
    for at in (1..size).rev() {
        all.swap(at, ((at as u64).hash() % (at as u64 + 1)) as usize);
    }
    all
}

fn points<K: OrderedKey>(name: &str, size: usize, key: impl Fn(u64) -> K) {
    let gets: Vec<K> = random(size, ROUND * ROUNDS, 1).into_iter().map(&key).collect();
    let order: Vec<K> = shuffled(size).into_iter().map(&key).collect();
    let tree = Tree::new();
    measure(&format!("{name} tree insert, random"), size, size, 1, |_| {
        for (nth, &key) in order.iter().enumerate() {
            let Ok(_) = tree.insert(key, row(nth), &mut Nobody);
        }
    });
    println!("    {:.1} bytes an entry", tree.bytes() as f64 / size as f64);
    measure(&format!("{name} tree get"), size, ROUND, ROUNDS, |round| {
        for &key in &gets[round * ROUND..][..ROUND] {
            black_box(tree.peek(black_box(key)));
        }
    });
    measure(&format!("{name} tree get, prefetched 8 ahead"), size, ROUND, ROUNDS, |round| {
        for at in round * ROUND..(round + 1) * ROUND {
            tree.prefetch(gets[(at + 8) % gets.len()]);
            black_box(tree.peek(black_box(gets[at])));
        }
    });
    let hash: Hash<K, ()> = Hash::with_capacity(size);
    let buckets = hash.buckets();
    measure(&format!("{name} hash insert, random"), size, size, 1, |_| {
        for (nth, &key) in order.iter().enumerate() {
            let Ok(_) = hash.insert(key, row(nth), &mut Nobody);
        }
    });
    assert_eq!(hash.buckets(), buckets, "a declared table does not grow");
    println!("    {:.1} bytes an entry", hash.bytes() as f64 / size as f64);
    measure(&format!("{name} hash get"), size, ROUND, ROUNDS, |round| {
        for &key in &gets[round * ROUND..][..ROUND] {
            black_box(hash.peek(black_box(key)));
        }
    });
    measure(&format!("{name} hash get, prefetched 8 ahead"), size, ROUND, ROUNDS, |round| {
        for at in round * ROUND..(round + 1) * ROUND {
            hash.prefetch(gets[(at + 8) % gets.len()]);
            black_box(hash.peek(black_box(gets[at])));
        }
    });
}

fn scans(size: usize) {
    let tree: Tree<u64> = BTree::new();
    for key in 0..size as u64 {
        let Ok(_) = tree.insert(key, row(key as usize), &mut Nobody);
    }
    for length in [1, 10, 100, 10_000] {
        let scans = (ROUND / length).max(1);
        let starts = random(size - length, scans * ROUNDS, 2);
        for direction in [Direction::Forward, Direction::Backward] {
            let what = format!("u64 scan of {length}, {direction:?}, per row");
            measure(&what, size, length * scans, ROUNDS, |round| {
                for &start in &starts[round * scans..][..scans] {
                    let mut sum = Sum { rows: 0, left: length };
                    let (from, to) = (Bound::Included(start), Bound::Excluded(start + length as u64));
                    let Ok(()) = tree.scan(from, to, direction, &mut sum);
                    black_box(sum.rows);
                }
            });
        }
    }
}

/// Inserts that ascend in ten runs, as order lines do: fifteen in one run, fifteen in the next.
fn runs() {
    const RUNS: u64 = 10;
    const TURNS: usize = 100;
    const LINES: u64 = 15;
    let tree: Tree<u64> = BTree::new();
    let count = RUNS as usize * TURNS * LINES as usize;
    measure("u64 ascending runs", count * ROUNDS, count, ROUNDS, |round| {
        for turn in (round * TURNS) as u64..((round + 1) * TURNS) as u64 {
            for run in 0..RUNS {
                for line in 0..LINES {
                    let key = run << 40 | turn << 8 | line;
                    let Ok(inserted) = tree.insert(key, row(1), &mut Nobody);
                    assert_eq!(inserted, Inserted::Added);
                }
            }
        }
    });
    println!("    {:.1} entries a leaf", (count * ROUNDS) as f64 / tree.leaves() as f64);
}

fn main() {
    for size in [1 << 12, 1 << 17, 1 << 20] {
        points("u64", size, |key| key * 7);
    }
    points("u128", 1 << 17, |key| u128::from(key) << 64 | 5);
    points("[u64; 6]", 1 << 17, |key| [1, 2, 3, 4, key, 6]);
    scans(1 << 17);
    runs();
}
