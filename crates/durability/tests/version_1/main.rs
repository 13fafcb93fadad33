//! Tests of logs with segments of version 1, which do not record their length: the files beside this one were written
//! by the program version that wrote such segments. They are read, and continued in segments that record their length.

use durability::disk::{SimulatedDisk, write_all};
use durability::{Found, Layouts, OpenError, Options, Order, Store, TableLayout};
use engine::{AnyKey, TableId};
use sync::Latched;

type Files = [(&'static str, &'static [u8]); 4];

const CLOSED: Files = [
    ("MANIFEST", include_bytes!("closed/MANIFEST")),
    ("log-000000000001", include_bytes!("closed/log-000000000001")),
    ("log-000000000002", include_bytes!("closed/log-000000000002")),
    ("log-000000000003", include_bytes!("closed/log-000000000003")),
];
const UNCLOSED: Files = [
    ("MANIFEST", include_bytes!("unclosed/MANIFEST")),
    ("log-000000000001", include_bytes!("unclosed/log-000000000001")),
    ("log-000000000002", include_bytes!("unclosed/log-000000000002")),
    ("log-000000000003", include_bytes!("unclosed/log-000000000003")),
];

fn disk(files: Files) -> SimulatedDisk {
    let disk = SimulatedDisk::new(1);
    for (name, bytes) in files {
        let file = disk.directory(0).create(name).expect("the disk works");
        write_all(&*file, 0, bytes).and_then(|()| file.sync()).expect("the disk works");
    }
    disk.directory(0).sync().expect("the disk works");
    disk
}

fn open(disk: &SimulatedDisk) -> Result<Found, OpenError> {
    let table = TableLayout { name: "rows".into(), is_heap: false, key_words: 1, groups: vec![1] };
    let options = Options { sessions: 1, parts: 2, order: Order::Counter, ..Options::default() };
    Store::open(vec![disk.directory(0)], &Layouts(vec![table]), options)
}

fn rows(found: &Found) -> Vec<(u64, u64)> {
    let rows = Latched::new(Vec::new());
    let see = |_, key, row: &[u64]| {
        let AnyKey::One(key) = key else { panic!("keys have a word") };
        rows.lock().push((key, row[0]));
    };
    found.restore(1, |_| see).expect("what was written makes sense");
    let mut rows = rows.into_inner();
    rows.sort_unstable();
    rows
}

#[test]
fn a_log_of_version_1_is_read_and_gone_on_with() {
    for (files, was_closed) in [(CLOSED, true), (UNCLOSED, false)] {
        let disk = disk(files);
        let found = open(&disk).expect("it is read");
        assert_eq!((found.was_closed(), found.torn(), rows(&found).len()), (was_closed, &[][..], 3));
        let mut rounds = found.start().expect("the disk works");
        let mut sink = rounds.log().plain_sink();
        sink.open();
        sink.write(TableId(0), None, AnyKey::One(9), Some(&[109]));
        sink.close();
        drop(sink);
        rounds.round().expect("the disk works");
        let expected = [(0, 100), (1, 101), (2, 102), (9, 109)];
        assert_eq!(rows(&open(&disk).expect("not closed yet")), expected);
        let segment = disk.bytes(0, "log-000000000004").expect("the one that was begun");
        assert_eq!(segment[8], 2, "its version");
        // None of the segments may be missing now, the old ones included.
        for number in 1..=4 {
            let name = format!("log-00000000000{number}");
            let bytes = disk.bytes(0, &name).expect("it is there");
            disk.replace(0, &name, bytes[..bytes.len() - 1].to_vec());
            assert!(matches!(open(&disk), Err(OpenError::Corrupt(_))), "{name}");
            disk.replace(0, &name, bytes);
        }
        let cut = rounds.roll().expect("the disk works");
        rounds.log().glean(&cut, 1).expect("the disk works");
        assert_eq!(rows(&open(&disk).expect("gleaned from both versions")), expected);
        rounds.close().expect("the disk works");
        assert!(open(&disk).expect("closed").was_closed());
    }
}

#[test]
fn the_end_of_an_unclosed_one_may_go_unnoticed_but_no_other_part() {
    let disk = disk(UNCLOSED);
    let cut = |name: &str| {
        let bytes = disk.bytes(0, name).expect("it is there");
        disk.replace(0, name, bytes[..bytes.len() - 1].to_vec());
        let opened = open(&disk).map(|found| rows(&found).len());
        disk.replace(0, name, bytes);
        opened
    };
    assert_eq!(cut("log-000000000003").expect("as a crash leaves it"), 2);
    for name in ["MANIFEST", "log-000000000001", "log-000000000002"] {
        assert!(matches!(cut(name), Err(OpenError::Corrupt(_))), "{name}");
    }
}
