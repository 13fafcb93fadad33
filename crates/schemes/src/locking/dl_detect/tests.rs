//! Claims about `DL_DETECT`, circle by circle: waiters are served in turn, and of those that wait for each
//! other one aborts.

use engine::Abort;

use crate::locking::dl_detect::DlDetect;
use crate::tests::common::Given;
use crate::tests::common::crossing::all_workers_make_progress;
use crate::tests::common::scene::{On, Scene, linger};

crate::tests::conformance!(crate::locking::dl_detect::entry::ENTRY: without_hints);

/// Transactions by birth: the oldest first.
const OLD: u64 = 10;
const MIDDLE: u64 = 20;
const YOUNG: u64 = 30;

const STANDARD: Given = &[];
const AT_ONCE: Given = &[("dl_detect.delay_us", "0")];
const BY_LOCKS: Given = &[("dl_detect.victim", "fewest_locks")];
/// After the first look there is no other within the time of a test.
const ONE_LOOK: Given = &[("dl_detect.period_us", "1000000")];
/// A first look at once, and a second one when all have long been waiting.
const TWO_LOOKS: Given = &[("dl_detect.delay_us", "0"), ("dl_detect.period_us", "300000")];
const TIMEOUT: Given = &[("dl_detect.timeout_us", "1000")];

type Ended = Result<(), Abort>;
const COMMITS: Ended = Ok(());
const VICTIM: Ended = Err(Abort::Deadlock);

type Txn<'o, 't, 'db> = On<'o, 't, 'db, DlDetect>;

/// Writes one cell in turn `turn`, and another one in turn `all + turn`.
fn writes_two(cells: [u64; 2], turn: u32, all: u32) -> impl Fn(&mut Txn<'_, '_, '_>) -> Ended {
    move |txn| {
        txn.turn(turn);
        txn.count(cells[0])?;
        txn.turn(all + turn);
        txn.count(cells[1])
    }
}

#[test]
fn waiters_are_served_as_they_come_and_a_reader_comes_after_a_writer_who_waits() {
    for given in [STANDARD, AT_ONCE] {
        let scene = Scene::<DlDetect>::new(given);
        let ended = scene.play(&[
            (1, &|reader| {
                reader.read(0)?;
                reader.turn(1);
                reader.after(4);
                linger();
                Ok(())
            }),
            (MIDDLE, &|writer| {
                writer.turn(2);
                writer.count(0)
            }),
            (YOUNG, &|reader| {
                reader.turn(3);
                assert_eq!(reader.read(0)?, 1);
                linger();
                Ok(())
            }),
            (OLD, &|writer| {
                writer.turn(4);
                writer.count(0)
            }),
        ]);
        assert_eq!(ended, [COMMITS; 4]);
        assert_eq!(scene.events(), "1 commits, 20 commits, 30 commits, 10 commits");
    }
}

#[test]
fn of_those_who_wait_in_a_circle_the_youngest_aborts() {
    for given in [STANDARD, AT_ONCE, ONE_LOOK] {
        let scene = Scene::<DlDetect>::new(given);
        let two = [(YOUNG, writes_two([0, 1], 1, 2)), (OLD, writes_two([1, 0], 2, 2))];
        assert_eq!(scene.play(&[(two[0].0, &two[0].1), (two[1].0, &two[1].1)]), [VICTIM, COMMITS]);
        assert_eq!((scene.value(0), scene.value(1)), (1, 1));
        let ended = scene.play(&[
            (MIDDLE, &writes_two([0, 1], 1, 3)),
            (YOUNG, &writes_two([1, 2], 2, 3)),
            (OLD, &writes_two([2, 0], 3, 3)),
        ]);
        assert_eq!(ended, [COMMITS, VICTIM, COMMITS], "exactly one, who did not close the circle");
    }
}

#[test]
fn the_victim_may_be_who_has_the_fewest_locks() {
    let scene = Scene::<DlDetect>::new(BY_LOCKS);
    let ended = scene.play(&[
        (OLD, &writes_two([0, 1], 1, 2)),
        (YOUNG, &|young| {
            young.count(2)?;
            writes_two([1, 0], 2, 2)(young)
        }),
    ]);
    assert_eq!(ended, [VICTIM, COMMITS]);
}

#[test]
fn a_circle_leads_through_those_who_wait_before_one() {
    let scene = Scene::<DlDetect>::new(ONE_LOOK);
    let ended = scene.play(&[
        // Holds cell 0 to the end of the circle.
        (OLD, &|owner| {
            owner.count(0)?;
            owner.turn(1);
            owner.after(4);
            linger();
            Ok(())
        }),
        // Waits for cell 0 first, and has what the next one waits for.
        (YOUNG, &|first| {
            first.turn(2);
            first.count(1)?;
            first.count(0)
        }),
        // Waits behind it, and has nothing for which it waits: no circle.
        (MIDDLE, &|second| {
            second.turn(3);
            second.count(2)?;
            second.count(0)
        }),
        // Has what the owner wants in the end: no circle either.
        (40, &|third| {
            third.turn(4);
            third.count(2)
        }),
    ]);
    assert_eq!(ended, [COMMITS; 4]);
    // An attempt that waits in the queue waits for those before it, which wait for it elsewhere.
    let ended = scene.play(&[
        (OLD, &|owner| {
            owner.count(0)?;
            owner.turn(1);
            owner.after(4);
            linger();
            Ok(())
        }),
        (MIDDLE, &|first| {
            first.turn(2);
            first.read(0)?;
            first.turn(5);
            first.count(1)
        }),
        (YOUNG, &|second| {
            second.turn(3);
            second.count(1)?;
            second.turn(4);
            second.count(0)
        }),
    ]);
    assert_eq!(ended, [COMMITS, COMMITS, VICTIM]);
}

#[test]
fn who_closes_two_circles_ends_both() {
    let scene = Scene::<DlDetect>::new(ONE_LOOK);
    let reads = |turn, cell| {
        move |txn: &mut Txn<'_, '_, '_>| {
            txn.turn(turn);
            txn.read(0)?;
            txn.after(3);
            txn.count(cell)
        }
    };
    let ended = scene.play(&[
        (MIDDLE, &reads(1, 1)),
        (YOUNG, &reads(2, 2)),
        (OLD, &|txn| {
            txn.turn(3);
            txn.count(1)?;
            txn.count(2)?;
            linger();
            txn.count(0)
        }),
    ]);
    assert_eq!(ended, [VICTIM, VICTIM, COMMITS]);
}

#[test]
fn a_circle_that_comes_of_a_request_that_is_taken_back_is_seen_by_a_later_look() {
    let scene = Scene::<DlDetect>::new(TWO_LOOKS);
    let ended = scene.play(&[
        // Reads cell 0, and wants what the last one has.
        (OLD, &|txn| {
            txn.read(0)?;
            txn.turn(1);
            txn.turn(6);
            txn.count(1)
        }),
        // Reads it, too, and wants to write it: it comes before the last one as soon as the third is gone.
        (MIDDLE, &|txn| {
            txn.turn(2);
            txn.read(0)?;
            txn.turn(5);
            txn.count(0)
        }),
        // Waits to write it.
        (40, &|txn| {
            txn.turn(3);
            txn.count(0)
        }),
        // Waits behind the third, and for nobody else.
        (YOUNG, &|txn| {
            txn.turn(4);
            txn.count(1)?;
            txn.read(0).map(|_| ())
        }),
    ]);
    assert_eq!(ended, [COMMITS, COMMITS, VICTIM, VICTIM]);
}

#[test]
fn of_two_readers_who_upgrade_the_first_writes() {
    let scene = Scene::<DlDetect>::new(STANDARD);
    assert_eq!(scene.play_upgrades([(YOUNG, 1), (OLD, 2)]), [COMMITS, VICTIM]);
    assert_eq!(scene.value(0), 1);
}

#[test]
fn a_timeout_ends_waits_for_those_who_take_their_time() {
    let scene = Scene::<DlDetect>::new(TIMEOUT);
    let ended = scene.play(&[
        (YOUNG, &|owner| {
            owner.count(0)?;
            owner.turn(1);
            owner.after(3);
            Ok(())
        }),
        (OLD, &|txn| {
            txn.turn(2);
            let ended = txn.count(0);
            txn.turn(3);
            ended
        }),
    ]);
    assert_eq!(ended, [COMMITS, Err(Abort::Timeout)]);
    assert_eq!(scene.value(0), 1);
}

#[test]
fn all_workers_make_progress_on_two_records() {
    all_workers_make_progress::<DlDetect>(STANDARD);
}
