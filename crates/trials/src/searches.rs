//! Searches: small programs for which all schedules with at most a given number of preemptions are tried. Random seeds
//! find what is common; a search finds what needs a rare moment at a known place.
//!
//! A program is a table of the mix with few rows, and two or three sessions with every operation given. If other
//! sessions must run at a known place of a transaction, the transaction may wait there. A switch to another session is
//! then no preemption, and a defect that would need two preemptions is found with none.

use engine_sim::Direction::{Backward, Forward};
use workloads_sim::mix::At::{Labelled, Notes, Ordered, Points};
use workloads_sim::mix::MixOp::{Add, Delete, Insert, InsertOr, Read, Replace, Scan, ScanBy, Update};
use workloads_sim::mix::{Act, Input, LoadedRows, MixKey, MixOp};

use crate::trial::stepped::Given;

/// A program to be searched.
#[derive(Debug)]
pub struct SearchedProgram {
    /// The name on the command line.
    pub name: &'static str,
    /// A description of the operations.
    pub says: &'static str,
    /// The most preemptions of a schedule that is tried.
    pub(crate) preemptions: u32,
    /// Whether rare changes of storage are common: see [`engine_sim::Schema::change_often`].
    pub(crate) changes_often: bool,
    rows: &'static [LoadedRows],
    /// The acts. Each act begins when the one before has ended.
    acts: &'static [Act],
}

impl SearchedProgram {
    /// Returns the program of this name.
    pub fn find(name: &str) -> Option<&'static Self> {
        SEARCHES.iter().find(|program| program.name == name)
    }

    /// Returns the index of the program among all programs.
    pub(crate) fn position(&self) -> usize {
        SEARCHES.iter().position(|program| program.name == self.name).expect("it is one of them")
    }

    /// Whether the program has transactions.
    pub fn has_acts(&self) -> bool {
        !self.acts.is_empty()
    }

    /// Returns the most sessions that the program has at the same time.
    pub(crate) fn sessions(&self) -> usize {
        self.acts.iter().map(|act| act.len()).max().unwrap_or_default()
    }

    pub(crate) fn given(&self) -> Given {
        Given { rows: self.rows, acts: self.acts }
    }
}

/// A row that exists in most programs, and another row.
const A: MixKey = at(0);
const B: MixKey = at(1);
/// Virtual nanoseconds in which the other sessions can do all that they have to do.
const LONG_NS: u64 = 50_000;
/// The number of entries of a leaf with keys of one word.
const LEAF: u64 = 31;

/// Returns the key with this number at the first home.
const fn at(number: u64) -> MixKey {
    MixKey::new(0, number)
}

/// Returns a transaction of these operations.
const fn txn(ops: &[MixOp]) -> Input {
    Input::given(ops)
}

/// Returns a scan over the ordered table between two keys.
const fn scan(from: u64, to: u64) -> MixOp {
    Scan(Ordered, at(from), at(to), Forward, u64::MAX)
}

/// All rows by label.
const BY_LABEL: MixOp = ScanBy(0, 0, 3, Forward, u64::MAX);
const BY_LABEL_BACKWARD: MixOp = ScanBy(0, 0, 3, Backward, u64::MAX);

/// One row more than fills a leaf. The last two rows are in a leaf of their own, since a leaf that splits at its end
/// moves its last row to the new leaf.
const LAST_LEAF: [LoadedRows; 2] = [LoadedRows(Ordered, at(0), LEAF), LoadedRows(Ordered, at(40), 1)];
const EMPTY_LAST_LEAF: Input = txn(&[Delete(Ordered, at(LEAF - 1)), Delete(Ordered, at(40))]);

/// A key whose hash ends in 10: it moves from bucket 0 to bucket 2.
const MOVES: MixKey = at(2);
/// Inserts a key that moves after six whose hashes end in 01: of the two buckets with which the index begins, bucket 1
/// overflows, whatever the number of its places, and bucket 0 is split.
const SPLIT_BUCKET_0: Input = txn(&[
    Read(Ordered, A),
    Insert(Points, B, 1),
    Insert(Points, at(3), 1),
    Insert(Points, at(11), 1),
    Insert(Points, at(15), 1),
    Insert(Points, at(25), 1),
    Insert(Points, at(32), 1),
    Insert(Points, MOVES, 2),
]);
/// The same insertions without the first and the last one.
const FILL_BUCKET_1: Input = txn(&[
    Insert(Points, at(3), 1),
    Insert(Points, at(11), 1),
    Insert(Points, at(15), 1),
    Insert(Points, at(25), 1),
    Insert(Points, at(32), 1),
]);

/// An act that makes the versions of row `A` before the last valid for a long time, in schemes that compute timestamps
/// from the rows that were read: row `B` is written often, and both rows are accessed together.
const READ_LATE: Act = &[&[
    txn(&[Update(Points, B, 1)]),
    txn(&[Update(Points, B, 2)]),
    txn(&[Update(Points, B, 3)]),
    txn(&[Read(Points, A), Update(Points, B, 4)]),
]];

/// The fields that most programs have in common.
const COMMON: SearchedProgram =
    SearchedProgram { name: "", says: "", preemptions: 1, changes_often: false, rows: &[], acts: &[] };

/// All programs.
pub static SEARCHES: &[SearchedProgram] = &[
    SearchedProgram {
        name: "insert_after_a_miss",
        says: "looks for a key and inserts it, while another inserts it, too",
        acts: &[&[&[txn(&[Read(Points, A), Insert(Points, A, 1)])], &[txn(&[Insert(Points, A, 2)])]]],
        ..COMMON
    },
    SearchedProgram {
        name: "insert_after_a_scan",
        says: "scans a range and inserts into it, while another does the same",
        rows: &[LoadedRows(Ordered, A, 1)],
        acts: &[&[
            &[txn(&[scan(0, 9), Insert(Ordered, at(5), 1)])],
            &[txn(&[scan(0, 9), Insert(Ordered, at(6), 2)])],
        ]],
        ..COMMON
    },
    SearchedProgram {
        name: "two_change_a_row",
        says: "reads and writes one row, three times at once",
        rows: &[LoadedRows(Points, A, 1)],
        acts: &[&[
            &[txn(&[Update(Points, A, 1)])],
            &[txn(&[Read(Points, A), Replace(Points, A, 2)])],
            &[txn(&[Add(Points, A, 3)]), txn(&[Read(Points, A)])],
        ]],
        ..COMMON
    },
    SearchedProgram {
        name: "two_rows_crossed",
        says: "writes two rows in one order and in the other",
        rows: &[LoadedRows(Points, A, 2)],
        acts: &[&[
            &[txn(&[Update(Points, A, 1), Update(Points, B, 1)])],
            &[txn(&[Update(Points, B, 2), Update(Points, A, 2)])],
        ]],
        ..COMMON
    },
    SearchedProgram {
        name: "each_writes_what_the_other_reads",
        says: "reads two rows and writes one, while another writes the other",
        rows: &[LoadedRows(Points, A, 2)],
        acts: &[&[
            &[txn(&[Read(Points, A), Read(Points, B), Update(Points, A, 1)])],
            &[txn(&[Read(Points, B), Read(Points, A), Update(Points, B, 2)])],
        ]],
        ..COMMON
    },
    SearchedProgram {
        name: "a_reader_between_two_writers",
        says: "reads what two have written, the one of whom has not seen the other",
        rows: &[LoadedRows(Points, A, 2)],
        acts: &[&[
            &[txn(&[Read(Points, A), Read(Points, B), Replace(Points, A, 1)])],
            &[txn(&[Update(Points, B, 2)])],
            &[txn(&[Read(Points, A), Read(Points, B)]).reading_only()],
        ]],
        ..COMMON
    },
    SearchedProgram {
        name: "two_misses_around_another",
        says: "misses two keys, while another inserts the one and deletes the other",
        rows: &[LoadedRows(Ordered, B, 1)],
        acts: &[&[
            &[txn(&[Read(Ordered, at(5)), Read(Ordered, B)])],
            &[txn(&[Insert(Ordered, at(5), 1), Delete(Ordered, B)])],
        ]],
        ..COMMON
    },
    SearchedProgram {
        name: "misses_away_from_home",
        says: "misses a key at a home that it did not name, while another does the same and inserts what was missed",
        rows: &[LoadedRows(Points, A, 1), LoadedRows(Points, MixKey::new(1, 0), 1)],
        acts: &[&[
            &[txn(&[Read(Points, A), Read(Points, MixKey::new(1, 5)), Insert(Points, at(5), 1)])
                .telling_one_home()],
            &[txn(&[
                Read(Points, MixKey::new(1, 0)),
                Read(Points, at(5)),
                Insert(Points, MixKey::new(1, 5), 1),
            ])
            .telling_one_home()],
        ]],
        ..COMMON
    },
    SearchedProgram {
        name: "a_row_goes_and_comes_back",
        says: "deletes a row and inserts it again, under readers",
        rows: &[LoadedRows(Points, A, 2)],
        acts: &[&[
            &[txn(&[Delete(Points, A)]), txn(&[Insert(Points, A, 7)])],
            &[txn(&[Read(Points, A), Read(Points, B), Read(Points, A)]), txn(&[Update(Points, A, 3)])],
        ]],
        ..COMMON
    },
    SearchedProgram {
        name: "a_row_is_replaced_within",
        says: "deletes a row of two column groups and inserts it again in one transaction, under a writer and a scan",
        rows: &[LoadedRows(Labelled, A, 2)],
        acts: &[&[
            &[txn(&[Delete(Labelled, A), Insert(Labelled, A, 2)])],
            &[txn(&[Update(Notes, A, 3), BY_LABEL])],
        ]],
        ..COMMON
    },
    SearchedProgram {
        name: "a_label_moves_and_returns",
        says: "gives a row another secondary key and its old one again, under scans in both directions",
        rows: &[LoadedRows(Labelled, A, 2)],
        acts: &[&[
            &[txn(&[Replace(Labelled, A, 3)]), txn(&[Replace(Labelled, A, 0)])],
            &[txn(&[BY_LABEL, BY_LABEL_BACKWARD])],
        ]],
        ..COMMON
    },
    SearchedProgram {
        name: "a_label_moves_twice",
        says: "gives a row another secondary key, while another does the same, and rolls back",
        rows: &[LoadedRows(Labelled, A, 1)],
        acts: &[&[
            &[txn(&[Replace(Labelled, A, 1)]), txn(&[BY_LABEL])],
            &[txn(&[Replace(Labelled, A, 1)]).rolling_back(), txn(&[BY_LABEL_BACKWARD])],
        ]],
        ..COMMON
    },
    SearchedProgram {
        name: "an_insert_is_rolled_back",
        says: "inserts a row and takes it back, under two scans of a transaction",
        rows: &[LoadedRows(Ordered, A, 1)],
        acts: &[&[
            &[txn(&[Insert(Ordered, at(5), 1), Update(Ordered, A, 2)]).rolling_back()],
            &[txn(&[scan(0, 9), Read(Ordered, at(5)), scan(0, 9)])],
        ]],
        ..COMMON
    },
    SearchedProgram {
        name: "a_leaf_splits_under_a_scan",
        says: "scans a full leaf and inserts elsewhere, while another inserts into it, which splits it",
        rows: &[LoadedRows(Ordered, at(10), LEAF)],
        acts: &[&[
            &[txn(&[scan(30, 60), Insert(Points, A, 1)])],
            &[txn(&[Read(Points, A), Insert(Ordered, at(50), 1)])],
        ]],
        ..COMMON
    },
    SearchedProgram {
        name: "a_leaf_splits_behind_a_mark",
        says: "inserts into a leaf that was scanned by a younger transaction and has split since",
        rows: &[LoadedRows(Points, A, 2), LoadedRows(Ordered, at(10), LEAF)],
        acts: &[
            READ_LATE,
            &[
                &[txn(&[Read(Points, A), Insert(Ordered, at(55), 1)])],
                &[txn(&[scan(30, 60), Update(Points, A, 2)]), txn(&[Insert(Ordered, at(50), 3)])],
            ],
        ],
        ..COMMON
    },
    SearchedProgram {
        name: "a_leaf_is_emptied_under_a_scan",
        says: "scans a leaf of two rows, while another deletes them and inserts where they were",
        rows: &[LAST_LEAF[0], LAST_LEAF[1]],
        acts: &[&[
            &[txn(&[scan(30, 60), Update(Ordered, A, 1)])],
            &[EMPTY_LAST_LEAF, txn(&[Read(Ordered, A), Insert(Ordered, at(41), 2)])],
        ]],
        ..COMMON
    },
    SearchedProgram {
        name: "a_leaf_vanishes_behind_a_mark",
        says: "inserts where a younger transaction has missed a key in a leaf that has been emptied since",
        rows: &[LoadedRows(Points, A, 2), LAST_LEAF[0], LAST_LEAF[1]],
        acts: &[
            READ_LATE,
            &[
                &[txn(&[Read(Points, A), Insert(Ordered, at(50), 1)])],
                &[txn(&[Read(Ordered, at(50)), Update(Points, A, 2)]), EMPTY_LAST_LEAF],
            ],
        ],
        ..COMMON
    },
    SearchedProgram {
        name: "a_leaf_comes_and_goes_behind_a_mark",
        says: "inserts where a younger transaction has missed a key in a leaf that was there for a moment",
        preemptions: 0,
        // The first insert fills the leaf, and the second one splits it: the new leaf holds only these two rows.
        rows: &[LoadedRows(Points, A, 2), LoadedRows(Ordered, at(0), LEAF - 1)],
        acts: &[
            READ_LATE,
            &[
                &[txn(&[Read(Points, A), Insert(Ordered, at(50), 1)]).waiting_after(0, 2 * LONG_NS)],
                &[txn(&[Insert(Ordered, at(30), 2), Insert(Ordered, at(40), 2)])
                    .waiting_after(1, LONG_NS)
                    .rolling_back()],
                &[txn(&[Read(Ordered, at(50)), Update(Points, A, 3)])],
            ],
        ],
        ..COMMON
    },
    SearchedProgram {
        name: "a_key_comes_and_goes_behind_a_mark",
        says: "inserts a key that a younger transaction has found without a value, in a row that has left since",
        preemptions: 0,
        rows: &[LoadedRows(Points, A, 1)],
        acts: &[&[
            &[txn(&[Read(Points, A), Insert(Ordered, at(5), 1)]).waiting_after(0, 2 * LONG_NS)],
            &[txn(&[Insert(Ordered, at(5), 2)]).waiting_after(0, LONG_NS).rolling_back()],
            &[txn(&[Update(Points, A, 1)]), txn(&[Read(Points, A), Read(Ordered, at(5))])],
        ]],
        ..COMMON
    },
    SearchedProgram {
        name: "a_key_is_inserted_where_another_was_rolled_back",
        says: "scans a range and inserts into it, while another does the same under a key that a third has inserted \
               and taken back since the scans",
        rows: &[LoadedRows(Ordered, at(9), 1)],
        acts: &[&[
            &[txn(&[scan(0, 8), Insert(Ordered, at(6), 1)]).waiting_after(0, 1)],
            &[txn(&[scan(0, 8), Insert(Ordered, at(5), 2)]).waiting_after(0, 1)],
            &[txn(&[Insert(Ordered, at(5), 3)]).rolling_back()],
        ]],
        ..COMMON
    },
    SearchedProgram {
        name: "a_label_is_given_where_another_was_rolled_back",
        says: "scans a label and updates a row, while another reads that row and gives a row the label, which a third \
               has given it and taken back since the scan",
        rows: &[LoadedRows(Points, A, 1), LoadedRows(Labelled, A, 1)],
        acts: &[&[
            &[txn(&[ScanBy(0, 3, 3, Forward, u64::MAX), Update(Points, A, 1)]).waiting_after(0, 1)],
            &[txn(&[Read(Points, A), Replace(Labelled, A, 3)]).waiting_after(0, 1)],
            &[txn(&[Replace(Labelled, A, 3)]).rolling_back()],
        ]],
        ..COMMON
    },
    SearchedProgram {
        name: "an_insert_finds_a_row_and_changes_it",
        says: "reads a column group twice, while another finds the row when it inserts the key, and overwrites the \
               group because a third has told it to",
        rows: &[LoadedRows(Points, A, 1), LoadedRows(Labelled, A, 1)],
        acts: &[&[
            &[txn(&[Update(Points, A, 1)])],
            &[txn(&[InsertOr(Notes, A, 7, A)])],
            &[txn(&[Read(Notes, A), Read(Notes, A)])],
        ]],
        ..COMMON
    },
    SearchedProgram {
        name: "an_insert_splits_what_was_scanned",
        says: "scans a range, splits its leaf by an insert of its own and updates a row, while another reads that row \
               and inserts into the range, in the new leaf",
        rows: &[LoadedRows(Ordered, A, LEAF), LoadedRows(Points, A, 1)],
        acts: &[&[
            &[txn(&[scan(40, 99), Insert(Ordered, at(32), 1), Update(Points, A, 1)])],
            &[txn(&[Read(Points, A), Insert(Ordered, at(90), 2)])],
        ]],
        ..COMMON
    },
    SearchedProgram {
        name: "a_bucket_splits_behind_a_miss",
        says: "looks for a missing key and updates a row, while another reads that row, makes the index grow, so that \
               the key belongs to another bucket, and inserts it there",
        changes_often: true,
        rows: &[LoadedRows(Ordered, A, 1)],
        acts: &[&[&[txn(&[Read(Points, MOVES), Update(Ordered, A, 1)])], &[SPLIT_BUCKET_0]]],
        ..COMMON
    },
    SearchedProgram {
        name: "a_bucket_splits_behind_a_mark",
        says: "inserts a key that a younger transaction has missed, after the index has grown, so that the key belongs \
               to another bucket",
        changes_often: true,
        rows: &[LoadedRows(Points, A, 2)],
        acts: &[
            READ_LATE,
            &[
                &[txn(&[Read(Points, A), Insert(Points, MOVES, 1)])],
                &[txn(&[Read(Points, MOVES), Update(Points, A, 2)]), FILL_BUCKET_1],
            ],
        ],
        ..COMMON
    },
    SearchedProgram {
        name: "memory_serves_again",
        says: "reads a row, while another deletes it, goes on until its memory serves again, and inserts another row",
        changes_often: true,
        rows: &[LoadedRows(Points, A, 1)],
        acts: &[&[
            &[txn(&[Read(Points, A)])],
            &[
                txn(&[Delete(Points, A)]),
                txn(&[Read(Points, B)]),
                txn(&[Read(Points, B)]),
                txn(&[Read(Points, B)]),
                txn(&[Read(Points, B)]),
                txn(&[Insert(Points, at(5), 1)]),
            ],
        ]],
        ..COMMON
    },
];
