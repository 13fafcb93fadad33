//! Claims about filling a database by words.

use engine::setting::{Settings, Values};
use engine::{AnyKey, Database, Env, Lookup, Row, Schema, Scheme, Share, TableId};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

use crate::optimistic::silo::Silo;

#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, KnownLayout, Immutable)]
#[repr(C)]
struct Number(u64);

impl Row for Number {
    type Key = u64;
    type Indexes = ();
}

fn database(lookup: Lookup) -> Database<Silo> {
    let mut schema = Schema::new();
    let _ = schema.table::<u64>("numbers", lookup, 64).group::<Number>();
    let values = Values::new(<Silo as Scheme>::Settings::ALL, &[]).expect("the standard settings");
    Database::new(&schema, &values, Env { slots: 4, workers: 1 }).expect("the standard settings")
}

#[test]
fn all_rows_are_found_when_the_loader_is_gone() {
    for lookup in [Lookup::Point, Lookup::Ordered] {
        // Fewer rows than are entered later, as many, and more.
        for count in [0, 1, 16, 17, 100] {
            let db = database(lookup);
            let mut loader = db.word_loader();
            (0..count).for_each(|number| loader.insert(TableId(0), AnyKey::One(number * 7), &[number]));
            drop(loader);
            let mut found = Vec::new();
            db.quiesced().each_row(TableId(0), Share::WHOLE, |key, words| found.push((key, words[0])));
            found.sort_unstable();
            let expected: Vec<_> = (0..count).map(|number| (Some(AnyKey::One(number * 7)), number)).collect();
            assert_eq!(found, expected);
        }
    }
}

#[test]
#[should_panic(expected = "is loaded into `numbers` twice")]
fn a_key_that_is_there_is_told_at_the_end_at_the_latest() {
    let db = database(Lookup::Point);
    let mut loader = db.word_loader();
    (0..3).for_each(|number| loader.insert(TableId(0), AnyKey::One(number % 2), &[number]));
}

#[test]
#[should_panic(expected = "is loaded into `numbers` twice")]
fn of_several_keys_that_are_there_one_is_told() {
    let db = database(Lookup::Point);
    let mut loader = db.word_loader();
    (0..100).for_each(|number| loader.insert(TableId(0), AnyKey::One(number % 3), &[number]));
}
