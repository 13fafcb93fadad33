//! Tests of the lengths of segments, which are set ahead. Each segment of a log that was not closed is cut at every
//! byte: then opening is refused, or every acknowledged commit is there. A disk that has no room for a segment reports
//! that in time.

use durability::disk::{Fault, SimulatedDisk};
use durability::{Found, Layouts, LogError, OpenError, Options, Order, Store, TableLayout};
use engine::{AnyKey, TableId};
use sync::Latched;

/// The size of a page of the log in bytes.
const PAGE: usize = 4096;

fn open(disk: &SimulatedDisk, devices: usize) -> Result<Found, OpenError> {
    let table = TableLayout { name: "rows".into(), is_heap: false, key_words: 1, groups: vec![1] };
    let options = Options {
        sessions: devices,
        order: Order::Counter,
        ring_bytes: 0,
        segment_bytes: 24 << 10,
        parts: 1,
        database: 5,
        ..Options::default()
    };
    Store::open((0..devices).map(|device| disk.directory(device)).collect(), &Layouts(vec![table]), options)
}

fn keys(found: &Found) -> Vec<u64> {
    let keys = Latched::new(Vec::new());
    let see = |_, key, _: &[u64]| {
        let AnyKey::One(key) = key else { panic!("keys have a word") };
        keys.lock().push(key);
    };
    found.restore(1, |_| see).expect("what was sealed makes sense");
    let mut keys = keys.into_inner();
    keys.sort_unstable();
    keys
}

/// A log of a few segments with `commits` commits, all of which are durable. The log is not closed.
fn unclosed(devices: usize, commits: u64, checkpoint_after: Option<u64>) -> SimulatedDisk {
    let disk = SimulatedDisk::new(3);
    let mut rounds = open(&disk, devices).expect("an empty disk").start().expect("the disk works");
    let log = rounds.log();
    let mut sinks: Vec<_> = (0..devices).map(|_| log.plain_sink()).collect();
    for key in 0..commits {
        let sink = &mut sinks[key as usize % devices];
        sink.open();
        sink.write(TableId(0), None, AnyKey::One(key), Some(&[key]));
        sink.close();
        rounds.round().expect("the disk works");
        if checkpoint_after == Some(key) {
            let cut = rounds.roll().expect("the disk works");
            log.glean(&cut, 1).expect("the disk works");
        }
    }
    disk
}

/// The segments that exist, by directory and name.
fn segments(disk: &SimulatedDisk, devices: usize) -> Vec<(usize, String)> {
    let of = |device| disk.directory(device).files().expect("the disk works").into_iter();
    let all = (0..devices).flat_map(|device| of(device).map(move |file| (device, file)));
    all.filter(|(_, file)| file.starts_with("log-")).collect()
}

/// Cuts each segment at every byte, down to an empty file. Returns the number of times that opening was refused.
fn cut_everywhere(devices: usize, commits: u64, checkpoint_after: Option<u64>) -> u64 {
    let disk = unclosed(devices, commits, checkpoint_after);
    let expected: Vec<u64> = (0..commits).collect();
    let segments = segments(&disk, devices);
    assert!(segments.len() > devices, "{segments:?}");
    let mut refused = 0;
    for (device, file) in segments {
        let whole = disk.bytes(device, &file).expect("it is there");
        assert!(whole.len() >= PAGE);
        for bytes in (0..whole.len()).rev() {
            disk.replace(device, &file, whole[..bytes].to_vec());
            match open(&disk, devices) {
                Ok(found) => assert_eq!(keys(&found), expected, "{file} of {device}, cut at byte {bytes}"),
                Err(OpenError::Corrupt(_)) => refused += 1,
                Err(error) => panic!("{file} of {device}, cut at byte {bytes}: {error}"),
            }
        }
        disk.replace(device, &file, whole);
        assert_eq!(keys(&open(&disk, devices).expect("it is whole again")), expected);
    }
    refused
}

#[test]
fn a_segment_that_was_cut_off_at_any_byte_is_refused_or_lacks_nothing() {
    assert!(cut_everywhere(1, 7, None) > 10_000);
}

#[test]
fn so_is_one_behind_a_checkpoint() {
    assert!(cut_everywhere(1, 9, Some(2)) > 10_000);
}

#[test]
fn so_is_one_of_several_devices() {
    assert!(cut_everywhere(2, 9, None) > 10_000);
}

#[test]
fn a_segment_that_was_removed_is_missed() {
    for devices in [1, 2] {
        for (device, file) in segments(&unclosed(devices, 9, None), devices) {
            let disk = unclosed(devices, 9, None);
            disk.directory(device).remove(&file).expect("it is there");
            let refused = open(&disk, devices).map(|found| keys(&found));
            assert!(matches!(refused, Err(OpenError::Corrupt(_))), "{file} of {device}: {refused:?}");
        }
    }
}

#[test]
fn a_disk_that_is_full_at_any_step_says_so_before_anything_is_acknowledged_that_it_has_no_room_for() {
    for step in 1..80 {
        let disk = SimulatedDisk::new(step);
        let mut rounds = open(&disk, 1).expect("an empty disk").start().expect("the disk works");
        let mut sink = rounds.log().plain_sink();
        disk.fault_at(disk.steps() + step, Fault::Full);
        let acknowledged = (0..200).find(|key| {
            sink.open();
            sink.write(TableId(0), None, AnyKey::One(*key), Some(&[*key]));
            sink.close();
            rounds.round().is_err()
        });
        let acknowledged = acknowledged.expect("no disk takes everything");
        let failure = rounds.log().failure();
        assert!(matches!(failure, Some(LogError::Full { .. })), "step {step}: {failure:?}");
        drop(sink);
        disk.restart();
        let found = keys(&open(&disk, 1).expect("nothing is damaged"));
        assert!(found.len() as u64 >= acknowledged, "step {step}: {} of {acknowledged}", found.len());
        assert_eq!(found, (0..found.len() as u64).collect::<Vec<_>>());
    }
}
