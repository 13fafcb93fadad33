//! Typed tables: rows are read as they were written, by key and by secondary key, in order, with tables that are
//! declared at run time as with derived ones.

use core::ops::{Bound, ControlFlow};

use contend::{Column, Database, Definition, Direction, Error, Options, Table, Text, Type, Value};

#[derive(Clone, Debug, PartialEq, Table)]
#[table(name = "people", index(by_team = (team, age)))]
struct Person {
    #[key]
    id: u64,
    #[index]
    name: Text<8>,
    team: u8,
    age: i16,
    note: Option<[u8; 3]>,
}

fn person(id: u64, name: &str, team: u8, age: i16) -> Person {
    Person { id, name: name.parse().expect("short"), team, age, note: id.is_multiple_of(2).then_some([7; 3]) }
}

fn people() -> (Database, contend::Handle<Person>, Vec<Person>) {
    let db = Database::in_memory(Options::new().table::<Person>()).expect("legal options");
    let handle = db.table::<Person>().expect("it was declared");
    let all = vec![
        person(3, "Ann", 1, -5),
        person(5, "Bob", 1, 40),
        person(7, "Ann", 2, 30),
        person(9, "Cem", 1, 40),
    ];
    db.transact(|txn| all.iter().try_for_each(|person| txn.insert(handle, person).map(|_| ())))
        .expect("it commits");
    (db, handle, all)
}

#[test]
fn rows_are_found_by_their_keys_and_no_others_are() {
    let (db, people, all) = people();
    db.transact(|txn| {
        for person in &all {
            assert_eq!(txn.get(people, person.id)?.as_ref(), Some(person));
        }
        assert_eq!(txn.get(people, 4)?, None);
        assert_eq!(txn.get_with(people, 3, |person| person.age)?, Some(-5));
        assert_eq!(txn.get_with(people, 4, |_| ())?, None);
        assert!(txn.contains(people, 3)? && !txn.contains(people, 4)?);
        assert!(!txn.insert(people, &person(3, "Eve", 0, 0))?, "the key is there");
        assert!(!txn.replace(people, &person(4, "Eve", 0, 0))?, "the key is not there");
        assert_eq!(txn.update(people, 4, |_| ())?, None);
        assert!(!txn.delete(people, 4)?);
        assert!(txn.put(people, &person(4, "Eve", 0, 0))? && !txn.put(people, &person(4, "Eva", 0, 0))?);
        assert_eq!(txn.get(people, 4)?.map(|person| person.name), Some("Eva".parse()?));
        assert_eq!(txn.update(people, 4, |person| core::mem::replace(&mut person.age, 9))?, Some(0));
        assert!(txn.replace(people, &person(5, "Bo", 3, 1))? && txn.delete(people, 7)?);
        Ok(())
    })
    .unwrap();
    let left = db.snapshot(|txn| txn.scan(people, ..).collect::<Result<Vec<_>, _>>()).unwrap();
    let ids: Vec<(u64, i16)> = left.iter().map(|person| (person.id, person.age)).collect();
    assert_eq!(ids, [(3, -5), (4, 9), (5, 1), (9, 40)]);
}

#[test]
fn scans_go_by_primary_and_by_secondary_keys_both_ways() {
    let (db, people, _) = people();
    let ann: Text<8> = "Ann".parse().unwrap();
    db.snapshot(|txn| {
        let ids = |scan: contend::Scan<'_, '_, Person>| {
            scan.map(|person| person.map(|person| person.id)).collect::<Result<Vec<u64>, Error>>()
        };
        assert_eq!(ids(txn.scan(people, 4..9))?, [5, 7]);
        assert_eq!(ids(txn.scan(people, 4..=9).backward())?, [9, 7, 5]);
        assert_eq!(ids(txn.scan(people, (Bound::Excluded(3), Bound::Excluded(5))))?, []);
        let (from, to) = (9, 4);
        assert_eq!(ids(txn.scan(people, from..to))?, []);
        assert_eq!(ids(txn.scan_by(people, Person::BY_NAME, ann..=ann))?, [3, 7]);
        assert_eq!(ids(txn.scan_by(people, Person::BY_NAME, ..ann))?, []);
        assert_eq!(ids(txn.scan_by(people, Person::BY_NAME, ..).backward())?, [9, 5, 7, 3]);
        assert_eq!(ids(txn.scan_by(people, Person::BY_TEAM, (1, -5)..(1, 40)))?, [3]);
        assert_eq!(ids(txn.scan_by(people, Person::BY_TEAM, (1, i16::MIN)..=(1, i16::MAX)))?, [3, 5, 9]);
        let after = (Bound::Excluded((1, 40)), Bound::Unbounded);
        assert_eq!(ids(txn.scan_by(people, Person::BY_TEAM, after))?, [7]);
        let mut seen = Vec::new();
        txn.visit(people, .., Direction::Backward, |person| {
            seen.push(person.id);
            if seen.len() < 2 { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        })?;
        txn.visit_by(people, Person::BY_NAME, ann.., Direction::Forward, |person| {
            seen.push(person.id);
            ControlFlow::Continue(())
        })?;
        assert_eq!(seen, [9, 7, 3, 7, 5, 9]);
        Ok(())
    })
    .unwrap();
}

#[test]
fn an_update_moves_a_row_in_its_secondary_indexes_and_a_deletion_takes_it_out() {
    let (db, people, _) = people();
    let count = |name: &str| {
        let name: Text<8> = name.parse().unwrap();
        db.snapshot(|txn| Ok(txn.scan_by(people, Person::BY_NAME, name..=name).count())).unwrap()
    };
    db.transact(|txn| txn.update(people, 3, |person| person.name = "Zoe".parse().unwrap())).unwrap();
    assert_eq!((count("Ann"), count("Zoe")), (1, 1));
    db.transact(|txn| txn.delete(people, 7)).unwrap();
    assert_eq!((count("Ann"), count("Zoe")), (0, 1));
    let rolled_back = db.transact(|txn| {
        txn.update(people, 3, |person| person.name = "Ann".parse().unwrap())?;
        Err::<(), _>(Error::rollback("no"))
    });
    assert!(matches!(rolled_back, Err(Error::RolledBack(_))));
    assert_eq!((count("Ann"), count("Zoe")), (0, 1));
}

#[test]
fn a_scan_of_many_pages_gives_each_row_once_and_sees_what_its_transaction_wrote() {
    #[derive(Table)]
    struct Number {
        #[key]
        number: u32,
        #[index]
        parity: bool,
    }
    let db = Database::in_memory(Options::new().table::<Number>()).unwrap();
    let numbers = db.table::<Number>().unwrap();
    db.transact(|txn| {
        for number in 0..5_000 {
            txn.insert(numbers, &Number { number, parity: number % 2 == 1 })?;
        }
        let all: Vec<u32> = txn.scan(numbers, ..).map(|row| Ok(row?.number)).collect::<Result<_, Error>>()?;
        assert!(all.into_iter().eq(0..5_000));
        let odd = txn.scan_by(numbers, Number::BY_PARITY, true..=true).backward();
        let odd: Vec<u32> = odd.map(|row| Ok(row?.number)).collect::<Result<_, Error>>()?;
        assert!(odd.into_iter().eq((0..5_000).filter(|number| number % 2 == 1).rev()));
        assert_eq!(txn.scan(numbers, ..).take(3).count(), 3);
        Ok(())
    })
    .unwrap();
}

/// A column type that the program defines.
#[derive(Clone, Copy, Debug, PartialEq)]
enum State {
    Ready,
    Done,
}

impl Column for State {
    const TYPE: Type = u8::TYPE;

    fn write(&self, to: &mut [u8]) {
        u8::from(*self == Self::Done).write(to);
    }

    fn read(from: &[u8]) -> Self {
        if u8::read(from) == 0 { Self::Ready } else { Self::Done }
    }
}

#[derive(Clone, Debug, PartialEq, Table)]
#[table(point, rows = 100)]
struct Every {
    #[key]
    a: i32,
    b: f64,
    #[key]
    c: Text<3>,
    d: bool,
    e: u128,
    f: Option<i64>,
    g: State,
    #[key]
    h: [u8; 2],
}

#[test]
fn keys_of_several_columns_and_all_types_come_back_from_a_table_of_points() {
    let db = Database::in_memory(Options::new().table::<Every>()).unwrap();
    let table = db.table::<Every>().unwrap();
    let row = |a: i32| Every {
        a,
        b: f64::from(a) / 2.0,
        c: "xy".parse().unwrap(),
        d: a > 0,
        e: u128::MAX - a.unsigned_abs() as u128,
        f: (a != 0).then_some(i64::from(a)),
        g: if a > 1 { State::Done } else { State::Ready },
        h: [1, 2],
    };
    db.transact(|txn| {
        for a in -3..3 {
            assert!(txn.insert(table, &row(a))?);
        }
        for a in -3..3 {
            assert_eq!(txn.get(table, (a, "xy".parse()?, [1, 2]))?, Some(row(a)));
        }
        assert_eq!(txn.get(table, (0, "xy".parse()?, [1, 3]))?, None);
        Ok(())
    })
    .unwrap();
    let unordered = db.transact(|txn| Ok(txn.scan(table, ..).count()));
    assert!(unordered.is_err(), "a table of points has no order");
}

#[test]
fn rows_that_are_all_key_are_rows() {
    #[derive(Clone, Debug, PartialEq, Table)]
    struct Member {
        #[key]
        group: u32,
        #[key]
        person: u32,
    }
    let db = Database::in_memory(Options::new().table::<Member>()).unwrap();
    let members = db.table::<Member>().unwrap();
    db.transact(|txn| {
        for (group, person) in [(1, 5), (2, 4), (1, 3)] {
            assert!(txn.insert(members, &Member { group, person })?);
        }
        assert!(!txn.insert(members, &Member { group: 2, person: 4 })?);
        let of_one: Vec<Member> = txn.scan(members, (1, 0)..(2, 0)).collect::<Result<_, _>>()?;
        assert_eq!(of_one, [Member { group: 1, person: 3 }, Member { group: 1, person: 5 }]);
        assert!(txn.delete(members, (1, 3))? && !txn.contains(members, (1, 3))?);
        Ok(())
    })
    .unwrap();
}

/// The derived table, put together by hand.
fn declared() -> Definition {
    Definition::new("people".to_owned())
        .column::<u64>("id")
        .column::<Text<8>>("name")
        .column_of("team", u8::TYPE)
        .column::<i16>("age")
        .column::<Option<[u8; 3]>>("note")
        .key(["id"])
        .index("by_name", ["name"])
        .index("by_team", ["team", "age"])
}

#[test]
fn a_table_declared_at_run_time_is_the_derived_one() {
    assert_eq!(declared(), Person::definition());
    let db = Database::in_memory(Options::new().define(declared())).unwrap();
    let (typed, named) = (db.table::<Person>().unwrap(), db.table_named("people").unwrap());
    assert_eq!(named.definition(), &declared());
    let values = |person: &Person| -> Vec<Value> {
        let note = person.note.map(|note| note.to_vec());
        vec![
            person.id.into(),
            person.name.as_str().into(),
            person.team.into(),
            person.age.into(),
            note.into(),
        ]
    };
    let (ann, bob) = (person(2, "Ann", 1, -7), person(3, "Bob", 1, 8));
    db.transact(|txn| {
        assert!(txn.insert(typed, &ann)? && txn.insert_values(&named, &values(&bob))?);
        assert_eq!(txn.get_values(&named, &[2_u64.into()])?, Some(values(&ann)));
        assert_eq!(txn.get(typed, 3)?, Some(bob.clone()));
        let team = txn.scan_by(typed, Person::BY_TEAM, (1, -7)..=(1, 8)).collect::<Result<Vec<_>, _>>()?;
        assert_eq!(team, [ann.clone(), bob.clone()]);
        let mut seen = Vec::new();
        let (from, to) = ([1_u8.into(), (-7_i16).into()], [1_u8.into(), 8_i16.into()]);
        let keys = (Bound::Excluded(&from[..]), Bound::Included(&to[..]));
        txn.visit_values(&named, Some("by_team"), keys, Direction::Forward, |row| {
            seen.push(row);
            ControlFlow::Continue(())
        })?;
        let all = (Bound::Unbounded, Bound::Unbounded);
        txn.visit_values(&named, None, all, Direction::Backward, |row| {
            seen.push(row);
            ControlFlow::Continue(())
        })?;
        assert_eq!(seen, [values(&bob), values(&bob), values(&ann)]);
        assert!(txn.replace_values(&named, &values(&person(2, "Zoe", 9, 9)))?);
        assert!(txn.delete_values(&named, &[3_u64.into()])? && txn.get(typed, 3)?.is_none());
        assert_eq!(txn.get(typed, 2)?.map(|person| person.team), Some(9));
        Ok(())
    })
    .unwrap();
}

#[test]
fn what_makes_no_sense_is_refused_and_undoes_its_transaction_even_if_overlooked() {
    let (db, people, _) = people();
    let (other, foreign, _) = self::people();
    let refusal = |body: &dyn Fn(&mut contend::Txn<'_>) -> Result<(), Error>| {
        let ended = db.transact(|txn| {
            txn.delete(people, 3)?;
            _ = body(txn);
            Ok(())
        });
        let Err(Error::Misuse(misuse)) = ended else { panic!("{ended:?}") };
        let is_there = db.transact(|txn| txn.contains(people, 3)).unwrap();
        assert!(is_there, "the deletion was undone");
        misuse.to_string()
    };
    assert!(refusal(&|txn| txn.get(foreign, 3).map(|_| ())).contains("another database"));
    let moved = refusal(&|txn| txn.update(people, 5, |person| person.id = 6).map(|_| ()));
    assert!(moved.contains("may not change the key"), "{moved}");
    let named = db.table_named("people").unwrap();
    assert!(refusal(&|txn| txn.get_values(&named, &[]).map(|_| ())).contains("has 1 columns"));
    let visit = |txn: &mut contend::Txn<'_>| {
        let all = (Bound::Unbounded, Bound::Unbounded);
        txn.visit_values(&named, Some("by_age"), all, Direction::Forward, |_| ControlFlow::Continue(()))
    };
    assert!(refusal(&visit).contains("no index `by_age`"));
    assert!(db.table_named("nobody").is_err() && other.table_named("people").is_ok());
}

#[test]
fn a_table_of_another_shape_is_refused_with_the_difference() {
    #[derive(Table)]
    #[table(name = "people")]
    struct Wider {
        #[key]
        id: u64,
        name: Text<9>,
    }
    let (db, ..) = people();
    let says = db.table::<Wider>().expect_err("refused").to_string();
    assert!(says.contains("Text<9>") && says.contains("Text<8>"), "{says}");
}
