//! Column groups: whole rows behave as without groups, and transactions that use different groups do not conflict.

mod place;

use core::ops::{Bound, ControlFlow};
use std::borrow::Cow;

use contend::{
    ColumnGroup, Database, Definition, Direction, Error, Handle, OpenError, Options, Sum, Table, Text, Type,
    Value, schemes,
};
use place::Place;
use sync::workers;

#[derive(Clone, Debug, PartialEq, Table)]
#[table(name = "articles")]
struct Article {
    #[key]
    id: u64,
    #[group]
    visits: Visits,
    #[index]
    author: Text<8>,
    #[group]
    text: Body,
    stars: u8,
}

#[derive(Clone, Debug, PartialEq, ColumnGroup)]
struct Visits {
    count: Sum,
    seconds: Sum,
}

/// A group whose width is no multiple of a word.
#[derive(Clone, Debug, PartialEq, ColumnGroup)]
struct Body {
    draft: bool,
    text: [u8; 30],
}

fn article(id: u64, author: &str) -> Article {
    Article {
        id,
        visits: Visits { count: Sum(id as i64), seconds: Sum(-1) },
        author: author.parse().expect("short"),
        text: Body { draft: id.is_multiple_of(2), text: [id as u8; 30] },
        stars: (id % 6) as u8,
    }
}

fn options() -> Options {
    Options::new().table::<Article>()
}

fn articles(count: u64) -> (Database, Handle<Article>) {
    let db = Database::in_memory(options()).expect("legal options");
    let articles = db.table::<Article>().expect("it was declared");
    fill(&db, articles, count);
    (db, articles)
}

fn fill(db: &Database, articles: Handle<Article>, count: u64) {
    let author = |id: u64| if id.is_multiple_of(3) { "Ann" } else { "Bob" };
    db.transact(|txn| {
        for id in 0..count {
            assert!(txn.insert(articles, &article(id, author(id)))?);
        }
        Ok(())
    })
    .expect("it commits");
}

#[test]
fn a_row_is_the_same_with_groups_as_without() {
    let (db, articles) = articles(4);
    db.transact(|txn| {
        assert_eq!(txn.get(articles, 2)?, Some(article(2, "Bob")));
        assert_eq!(txn.get(articles, 9)?, None);
        assert!(!txn.insert(articles, &article(2, "Eve"))?, "the key is there");
        assert!(!txn.replace(articles, &article(9, "Eve"))?, "the key is not there");
        assert_eq!(txn.update(articles, 9, |_| ())?, None);
        let stars = txn.update(articles, 2, |row| {
            row.text.draft = false;
            row.visits.count.0 += 5;
            row.author = "Cem".parse().expect("short");
            row.stars
        })?;
        assert_eq!(stars, Some(2));
        let mut changed = article(2, "Cem");
        changed.text.draft = false;
        changed.visits.count = Sum(7);
        assert_eq!(txn.get(articles, 2)?.as_ref(), Some(&changed));
        let cem: Text<8> = "Cem".parse()?;
        let by_author =
            txn.scan_by(articles, Article::BY_AUTHOR, cem..=cem).collect::<Result<Vec<_>, _>>()?;
        assert_eq!(by_author, [changed]);
        assert!(txn.put(articles, &article(9, "Eve"))? && !txn.put(articles, &article(9, "Eva"))?);
        assert!(txn.delete(articles, 0)? && !txn.delete(articles, 0)?);
        assert!(!txn.contains(articles, 0)? && txn.contains(articles, 9)?);
        Ok(())
    })
    .unwrap();
    let left = db.transact(|txn| txn.scan(articles, ..).collect::<Result<Vec<_>, _>>()).unwrap();
    assert_eq!(left.iter().map(|row| row.id).collect::<Vec<_>>(), [1, 2, 3, 9]);
    assert_eq!(left[3], article(9, "Eva"));
    let moved = db.transact(|txn| txn.update(articles, 1, |row| row.id = 8)).unwrap_err();
    assert!(moved.to_string().contains("may not change the key"), "{moved}");
    assert_eq!(db.snapshot(|txn| txn.get(articles, 1)).unwrap(), Some(article(1, "Bob")));
}

#[test]
fn a_group_is_read_and_written_alone() {
    let (db, articles) = articles(4);
    db.transact(|txn| {
        assert_eq!(txn.get_group(articles, Article::TEXT, 3)?, Some(article(3, "Ann").text));
        assert_eq!(txn.get_group(articles, Article::VISITS, 7)?, None);
        assert_eq!(txn.get_group_with(articles, Article::TEXT, 3, |text| text.text[0])?, Some(3));
        assert_eq!(txn.get_group_with(articles, Article::TEXT, 7, |_| ())?, None);
        assert_eq!(txn.get_with(articles, 3, |row| (row.id, row.stars))?, Some((3, 3)));
        assert_eq!(txn.get_with(articles, 7, |_| ())?, None);
        let before =
            txn.update_group(articles, Article::TEXT, 3, |text| core::mem::replace(&mut text.draft, true))?;
        assert_eq!(before, Some(false));
        assert_eq!(txn.update_group(articles, Article::TEXT, 7, |_| ())?, None);
        let visits = Visits { count: Sum(70), seconds: Sum(8) };
        assert!(txn.replace_group(articles, Article::VISITS, 3, &visits)?);
        assert!(!txn.replace_group(articles, Article::VISITS, 7, &visits)?);
        assert!(txn.add_group(articles, Article::VISITS, 3, &Visits { count: Sum(-1), seconds: Sum(2) })?);
        assert!(!txn.add_group(articles, Article::VISITS, 7, &visits)?);
        let mut expected = article(3, "Ann");
        expected.text.draft = true;
        expected.visits = Visits { count: Sum(69), seconds: Sum(10) };
        assert_eq!(txn.get(articles, 3)?, Some(expected));
        let mut seen = Vec::new();
        txn.visit_group(articles, Article::VISITS, 1.., Direction::Backward, |id, visits| {
            seen.push((id, visits.count.0));
            if seen.len() < 2 { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        })?;
        assert_eq!(seen, [(3, 69), (2, 2)]);
        Ok(())
    })
    .unwrap();
    let sums = db.transact(|txn| txn.add_group(articles, Article::TEXT, 3, &article(3, "Ann").text));
    assert!(matches!(sums, Err(Error::Misuse(_))), "a text is no sum: {sums:?}");
    let rows = db.transact(|txn| txn.add(articles, &article(3, "Ann")));
    assert!(matches!(rows, Err(Error::Misuse(_))), "nor are all of its row: {rows:?}");
}

/// Executes a transaction with another one in its middle, which commits meanwhile. Returns the number of executions of
/// the first.
fn between(
    db: &Database,
    first: impl Fn(&mut contend::Txn<'_>) -> Result<(), Error>,
    other: impl Fn(&mut contend::Txn<'_>) -> Result<(), Error> + Sync,
    last: impl Fn(&mut contend::Txn<'_>) -> Result<(), Error>,
) -> u32 {
    let mut times = 0;
    db.transact(|txn| {
        times += 1;
        first(txn)?;
        if times == 1 {
            workers::run(1, false, |_| db.transact(&other).expect("nobody is in its way"));
        }
        last(txn)
    })
    .expect("it commits");
    times
}

#[test]
fn who_keeps_to_one_group_is_in_nobodys_way_in_another() {
    let (db, articles) = articles(4);
    let reads_text = |txn: &mut contend::Txn<'_>| txn.get_group(articles, Article::TEXT, 1).map(|_| ());
    let reads_all = |txn: &mut contend::Txn<'_>| txn.get(articles, 1).map(|_| ());
    let visits = |txn: &mut contend::Txn<'_>| {
        txn.update_group(articles, Article::VISITS, 1, |visits| visits.count.0 += 1).map(|_| ())
    };
    let visits_of_row =
        |txn: &mut contend::Txn<'_>| txn.update(articles, 1, |row| row.visits.count.0 += 1).map(|_| ());
    let writes = |txn: &mut contend::Txn<'_>| {
        txn.update_group(articles, Article::TEXT, 2, |text| text.draft = !text.draft).map(|_| ())
    };
    assert_eq!(between(&db, reads_text, visits, writes), 1);
    assert_eq!(
        between(&db, reads_text, visits_of_row, writes),
        1,
        "an update writes the groups that it changes"
    );
    assert_eq!(between(&db, reads_all, visits, writes), 2, "a row is all of its groups");
    assert_eq!(db.snapshot(|txn| txn.get(articles, 1)).unwrap().unwrap().visits.count, Sum(1 + 3));
}

#[test]
fn series_of_keys_are_kept_apart_if_they_are_prefixes() {
    fn conflicts(prefix: usize) -> u32 {
        let queue =
            Definition::new("jobs").column::<u32>("queue").column::<u64>("number").column::<u8>("kind");
        let queue = queue.key(["queue", "number"]).prefix(prefix);
        let db = Database::in_memory(Options::new().define(queue)).expect("legal options");
        let jobs = db.table_named("jobs").unwrap();
        let row = |queue: u32, number: u64| -> Vec<Value> { vec![queue.into(), number.into(), 1_u8.into()] };
        for queue in [1, 2] {
            db.transact(|txn| txn.insert_values(&jobs, &row(queue, 5))).unwrap();
        }
        let takes_first_of_2 = |txn: &mut contend::Txn<'_>| {
            let from = [Value::from(2_u32), Value::from(0_u64)];
            let mut seen = Vec::new();
            let keys = (Bound::Included(&from[..]), Bound::Unbounded);
            txn.visit_values(&jobs, None, keys, Direction::Forward, |row| {
                seen.push(row);
                ControlFlow::Break(())
            })?;
            assert_eq!(seen, [row(2, 5)]);
            Ok(())
        };
        let adds_behind_1 = |txn: &mut contend::Txn<'_>| txn.insert_values(&jobs, &row(1, 6)).map(|_| ());
        let writes = |txn: &mut contend::Txn<'_>| txn.insert_values(&jobs, &row(3, 5)).map(|_| ());
        between(&db, takes_first_of_2, adds_behind_1, writes)
    }
    assert_eq!(conflicts(1), 1);
    assert_eq!(
        conflicts(0),
        2,
        "without prefixes all of so few keys share a leaf, which is protected as one"
    );
}

#[test]
fn an_update_of_a_row_that_another_changes_meanwhile_loses_nothing() {
    let (db, articles) = articles(4);
    let mut times = 0;
    db.transact(|txn| {
        times += 1;
        txn.update(articles, 1, |row| {
            if times == 1 {
                let other = || db.transact(|txn| txn.update(articles, 1, |row| row.visits.count.0 += 10));
                workers::run(1, false, |_| other().expect("nobody is in its way"));
            }
            row.visits.count.0 += 100;
        })
        .map(|_| ())
        // A transaction whose errors were ignored does not commit.
        .or(Ok(()))
    })
    .unwrap();
    assert_eq!(times, 2);
    assert_eq!(db.snapshot(|txn| txn.get(articles, 1)).unwrap().unwrap().visits.count, Sum(1 + 10 + 100));
}

#[test]
fn scans_of_many_pages_give_each_row_once_with_all_its_groups() {
    const ROWS: u64 = 3_000;
    let (db, articles) = articles(ROWS);
    db.transact(|txn| {
        assert!(txn.delete(articles, 1_000)?);
        txn.update_group(articles, Article::VISITS, 20, |visits| visits.seconds = Sum(20))?;
        let all = txn.scan(articles, ..).collect::<Result<Vec<_>, _>>()?;
        assert_eq!(all.len() as u64, ROWS - 1);
        for row in &all {
            let mut expected = article(row.id, if row.id.is_multiple_of(3) { "Ann" } else { "Bob" });
            expected.visits.seconds = Sum(if row.id == 20 { 20 } else { -1 });
            assert_eq!(*row, expected);
        }
        let (from, to) = (900, 1_100);
        let ids: Vec<u64> = txn
            .scan(articles, from..to)
            .backward()
            .map(|row| row.map(|row| row.id))
            .collect::<Result<_, _>>()?;
        assert_eq!(ids, (from..to).rev().filter(|id| *id != 1_000).collect::<Vec<_>>());
        let ann: Text<8> = "Ann".parse()?;
        let mut seen = Vec::new();
        txn.visit_by(articles, Article::BY_AUTHOR, ann..=ann, Direction::Forward, |row| {
            seen.push((row.id, row.visits.count.0 as u64));
            if seen.len() < 100 { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        })?;
        assert_eq!(seen, (0..100).map(|number| (3 * number, 3 * number)).collect::<Vec<_>>());
        Ok(())
    })
    .unwrap();
}

#[test]
fn rows_of_groups_alone_and_of_points_are_rows() {
    #[derive(Debug, PartialEq, Table)]
    #[table(point)]
    struct Stock {
        #[key]
        warehouse: u16,
        #[key]
        item: u32,
        #[group]
        level: Level,
        #[group]
        visits: Visits,
    }
    #[derive(Debug, PartialEq, ColumnGroup)]
    struct Level {
        quantity: i32,
        ordered: Option<u16>,
    }
    let db = Database::in_memory(Options::new().table::<Stock>()).unwrap();
    let stocks = db.table::<Stock>().unwrap();
    let stock = |item| Stock {
        warehouse: 3,
        item,
        level: Level { quantity: -7, ordered: item.is_multiple_of(2).then_some(9) },
        visits: Visits { count: Sum(5), seconds: Sum(6) },
    };
    db.transact(|txn| {
        for item in 0..100 {
            assert!(txn.insert(stocks, &stock(item))?);
        }
        txn.prefetch(stocks, (0..100).map(|item| (3, item)));
        txn.prefetch(stocks, [(9, 9)]);
        txn.prefetch_group(stocks, Stock::LEVEL, (0..50).map(|item| (3, 2 * item)));
        for item in 0..100 {
            assert_eq!(txn.get(stocks, (3, item))?, Some(stock(item)));
        }
        let visits = Visits { count: Sum(1), seconds: Sum(1) };
        assert!(txn.add_group(stocks, Stock::VISITS, (3, 7), &visits)?);
        let ordered = txn.update_group(stocks, Stock::LEVEL, (3, 8), |level| level.ordered.take())?;
        assert_eq!(ordered, Some(Some(9)));
        assert_eq!(txn.get(stocks, (3, 7))?.map(|row| row.visits.seconds), Some(Sum(7)));
        assert!(txn.delete(stocks, (3, 8))? && txn.get_group(stocks, Stock::VISITS, (3, 8))?.is_none());
        Ok(())
    })
    .unwrap();
}

/// The derived table, put together by hand.
fn declared() -> Definition {
    Definition::new("articles")
        .column::<u64>("id")
        .column::<Sum>("visits.count")
        .column::<Sum>("visits.seconds")
        .column::<Text<8>>("author")
        .column::<bool>("text.draft")
        .column::<[u8; 30]>("text.text")
        .column::<u8>("stars")
        .key(["id"])
        .group("visits", ["visits.count", "visits.seconds"])
        .group("text", ["text.draft", "text.text"])
        .index("by_author", ["author"])
}

#[test]
fn a_table_declared_at_run_time_is_the_derived_one() {
    assert_eq!(Article::definition(), declared());
    let db = Database::in_memory(Options::new().define(declared())).unwrap();
    let (typed, named) = (db.table::<Article>().unwrap(), db.table_named("articles").unwrap());
    let values = |row: &Article| -> Vec<Value> {
        let Article { id, visits, author, text, stars } = row;
        vec![
            (*id).into(),
            visits.count.0.into(),
            visits.seconds.0.into(),
            author.as_str().into(),
            text.draft.into(),
            text.text[..].into(),
            (*stars).into(),
        ]
    };
    let (ann, bob) = (article(2, "Ann"), article(3, "Bob"));
    db.transact(|txn| {
        assert!(txn.insert(typed, &ann)? && txn.insert_values(&named, &values(&bob))?);
        assert_eq!(txn.get_values(&named, &[2_u64.into()])?, Some(values(&ann)));
        assert_eq!(txn.get_values(&named, &[4_u64.into()])?, None);
        assert_eq!(txn.get(typed, 3)?, Some(bob.clone()));
        let mut seen = Vec::new();
        for index in [None, Some("by_author")] {
            let all = (Bound::Unbounded, Bound::Unbounded);
            txn.visit_values(&named, index, all, Direction::Backward, |row| {
                seen.push(row);
                ControlFlow::Continue(())
            })?;
        }
        assert_eq!(seen, [values(&bob), values(&ann), values(&bob), values(&ann)]);
        assert!(txn.replace_values(&named, &values(&article(2, "Zoe")))?);
        assert_eq!(txn.get(typed, 2)?, Some(article(2, "Zoe")));
        Ok(())
    })
    .unwrap();
}

#[test]
fn a_table_by_hand_says_how_many_groups_it_has() {
    struct Wrong;
    impl Table for Wrong {
        type Key = u64;
        fn definition() -> Definition {
            declared()
        }
        fn key(&self) -> u64 {
            0
        }
        fn write(&self, _: &mut [u8]) {}
        fn read(_: u64, _: &[u8]) -> Self {
            Self
        }
    }
    struct Nothing;
    impl ColumnGroup for Nothing {
        const BYTES: usize = 0;
        fn columns() -> Vec<(Cow<'static, str>, Type)> {
            Vec::new()
        }
        fn write(&self, _: &mut [u8]) {}
        fn read(_: &[u8]) -> Self {
            Self
        }
    }
    let (db, _) = articles(0);
    let error = db.table::<Wrong>().unwrap_err().to_string();
    assert!(error.contains("3 column groups, and `Table::GROUPS` is 1"), "{error}");
    let empty = Definition::new("t").column::<u8>("id").key(["id"]).column_group::<Nothing>("none");
    let refused = Database::in_memory(Options::new().define(empty)).unwrap_err().to_string();
    assert!(refused.contains("`none` has no columns"), "{refused}");
}

#[test]
fn groups_are_there_when_the_database_is_opened_again_and_must_be_the_same() {
    let place = Place::new("groups");
    let open = |options| Database::open(place.path(), options);
    let db = open(options()).expect("it opens");
    let articles = db.table::<Article>().unwrap();
    fill(&db, articles, 10);
    db.transact(|txn| {
        txn.update_group(articles, Article::TEXT, 3, |text| text.draft = true)?;
        txn.add_group(articles, Article::VISITS, 3, &Visits { count: Sum(4), seconds: Sum(1) })?;
        txn.delete(articles, 4)
    })
    .unwrap();
    db.checkpoint().unwrap();
    db.transact(|txn| txn.update(articles, 5, |row| row.stars = 77)).unwrap();
    let all = |db: &Database, articles| {
        db.transact(|txn| txn.scan(articles, ..).collect::<Result<Vec<Article>, _>>()).expect("it reads")
    };
    let before = all(&db, articles);
    db.close().unwrap();
    assert_eq!((before.len(), before[3].visits.count, before[4].stars), (9, Sum(7), 77));
    for scheme in schemes().filter(|scheme| scheme.is_built && scheme.unsuited.is_none()) {
        let db = open(options().scheme(scheme.name)).expect("it opens");
        assert_eq!(all(&db, db.table().unwrap()), before, "{}", scheme.name);
        db.close().unwrap();
    }
    let others = Definition::new("articles")
        .column::<u64>("id")
        .column::<Sum>("visits.count")
        .column::<Sum>("visits.seconds")
        .column::<Text<8>>("author")
        .column::<bool>("text.draft")
        .column::<[u8; 30]>("text.text")
        .column::<u8>("stars")
        .key(["id"])
        .group("visits", ["visits.count", "visits.seconds"]);
    let error = open(Options::new().define(others)).expect_err("it has another group less");
    let OpenError::Schema(mismatch) = &error else { panic!("{error}") };
    assert_eq!(mismatch.column.as_deref(), Some("text.draft"), "{error}");
    assert!(error.to_string().contains("in column group `text` and declared in no column group"), "{error}");
}

#[test]
fn many_threads_add_to_one_group_and_change_another() {
    const TIMES: u64 = 500;
    for scheme in schemes().filter(|scheme| scheme.is_built && scheme.unsuited.is_none()) {
        let db = Database::in_memory(options().scheme(scheme.name)).expect("legal options");
        let articles = db.table::<Article>().unwrap();
        fill(&db, articles, 2);
        workers::run(3, false, |worker| {
            for time in 0..TIMES {
                let key = time % 2;
                let one = Visits { count: Sum(1), seconds: Sum(2) };
                let done = match worker {
                    0 => db.transact(|txn| txn.add_group(articles, Article::VISITS, key, &one)),
                    1 => db.transact(|txn| {
                        txn.update(articles, key, |row| row.visits.count.0 += 1).map(|row| row.is_some())
                    }),
                    _ => db.transact(|txn| {
                        txn.update_group(articles, Article::TEXT, key, |text| {
                            text.text[0] = text.text[0].wrapping_add(1);
                        })
                        .map(|text| text.is_some())
                    }),
                };
                assert!(done.expect("it commits"));
            }
        });
        // Not a snapshot, which may show the state of a moment ago.
        let rows = db.transact(|txn| txn.scan(articles, ..).collect::<Result<Vec<_>, _>>()).unwrap();
        for (id, row) in rows.iter().enumerate() {
            let half = TIMES as i64 / 2;
            let expected = (Sum(id as i64 + 2 * half), Sum(-1 + 2 * half), (id as u64 + TIMES / 2) as u8);
            assert_eq!((row.visits.count, row.visits.seconds, row.text.text[0]), expected, "{}", scheme.name);
        }
    }
}
