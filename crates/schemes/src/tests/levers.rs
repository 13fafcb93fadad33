//! Claims about the levers of the engine: which transactions conflict if the column groups of a row share a record,
//! and which do not.

use engine::{
    Abort, Attempt, Database, Layout, Lookup, Row, Schema, Scheme, Session, Splitting, Table, Ticket,
    Transaction,
};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

use crate::locking::no_wait::NoWait;
use crate::optimistic::silo::Silo;
use crate::tests::common::{Cell, Place, at_home, database};

const AT: Place = Place::new(0, 0);
const ELSEWHERE: Place = Place::new(0, 1);

/// Columns that hardly ever change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, KnownLayout, Immutable)]
#[repr(C)]
struct Quiet([u64; 3]);

impl Row for Quiet {
    type Key = Place;
    type Indexes = ();
}

/// Whether the quiet column group shares a record with the last one, and whether the first one does.
const SHARED: [(Splitting, bool, bool); 3] =
    [(Splitting::On, false, false), (Splitting::Constant, false, true), (Splitting::Off, true, true)];

/// A database of two rows of three column groups. The groups other than `Quiet` are additive. `Quiet` is
/// declared constant, which says how it is laid out, and stays changeable.
struct Stage<S: Scheme> {
    db: Database<S>,
    first: Table<Cell>,
    quiet: Table<Quiet>,
    last: Table<Cell>,
}

impl<S: Scheme> Stage<S> {
    fn new(splitting: Splitting) -> Self {
        let mut schema = Schema::new();
        schema.lay_out(Layout { splitting, ..Layout::default() });
        let mut table = schema.table("rows", Lookup::Point, 8);
        let (first, quiet, last) = (table.group(), table.constant_group(), table.group());
        let stage = Self { db: database(&schema, 3, 1), first, quiet, last };
        let fill = |txn: &mut Attempt<'_, '_, S>| {
            let groups = (first, quiet, last);
            let rows = (&Cell::new(1), &Quiet([2; 3]), &Cell::new(3));
            [AT, ELSEWHERE].into_iter().try_for_each(|key| txn.insert(groups, key, rows).map(drop))
        };
        assert_eq!(attempt(&mut stage.db.session(), fill), Ok(()));
        stage
    }

    /// Reads the quiet column group of a row, or the first one.
    fn look(&self, txn: &mut Attempt<'_, '_, S>, is_quiet: bool) -> Result<(), Abort> {
        if is_quiet { txn.read(self.quiet, AT, |_| ()) } else { txn.read(self.first, AT, |_| ()) }.map(drop)
    }

    /// The values of the row's column groups.
    fn row(&self) -> (Option<u64>, Option<Quiet>, Option<u64>) {
        let read = attempt(&mut self.db.session(), |txn| {
            let first = txn.read(self.first, AT, Cell::value)?;
            Ok((first, txn.read(self.quiet, AT, |row| *row)?, txn.read(self.last, AT, Cell::value)?))
        });
        read.expect("nobody is in the way")
    }
}

fn attempt<S: Scheme, T>(
    session: &mut Session<'_, S>,
    body: impl FnOnce(&mut Attempt<'_, '_, S>) -> Result<T, Abort>,
) -> Result<T, Abort> {
    session.attempt(&Ticket::new(1, at_home(0)), body)
}

#[test]
fn who_writes_a_column_group_waits_for_those_who_read_another_only_if_they_share_a_record() {
    for (splitting, of_quiet, of_first) in SHARED {
        for (is_quiet, is_refused) in [(true, of_quiet), (false, of_first)] {
            let stage = Stage::<NoWait>::new(splitting);
            let (mut reader, mut writer) = (stage.db.session(), stage.db.session());
            let read = attempt(&mut reader, |one| {
                stage.look(one, is_quiet)?;
                let written = attempt(&mut writer, |two| two.update(stage.last, AT, |cell| cell.set(7)));
                assert_eq!(written.is_err(), is_refused, "{splitting:?}: {written:?}");
                Ok(())
            });
            assert_eq!(read, Ok(()));
        }
    }
}

#[test]
fn what_was_read_of_a_column_group_changes_with_another_only_if_they_share_a_record() {
    for (splitting, of_quiet, of_first) in SHARED {
        for (is_quiet, has_changed) in [(true, of_quiet), (false, of_first)] {
            let stage = Stage::<Silo>::new(splitting);
            let (mut reader, mut writer) = (stage.db.session(), stage.db.session());
            let read = attempt(&mut reader, |one| {
                stage.look(one, is_quiet)?;
                let written = attempt(&mut writer, |two| two.update(stage.last, AT, |cell| cell.set(7)));
                assert_eq!(written, Ok(Some(())));
                one.update(stage.first, ELSEWHERE, |cell| cell.set(8)).map(drop)
            });
            assert_eq!(read.is_err(), has_changed, "{splitting:?}: {read:?}");
        }
    }
}

#[test]
fn amounts_added_to_column_groups_of_one_record_do_not_conflict_unless_it_is_read() {
    for reads in [false, true] {
        let stage = Stage::<Silo>::new(Splitting::Off);
        let (mut one, mut two) = (stage.db.session(), stage.db.session());
        let added = attempt(&mut one, |txn| {
            if reads {
                txn.read(stage.quiet, AT, |_| ())?;
            }
            txn.add(stage.first, AT, |cell| cell.set(10))?;
            let other = attempt(&mut two, |txn| {
                txn.add(stage.last, AT, |cell| cell.set(20))?;
                txn.add(stage.first, AT, |cell| cell.set(40))
            });
            assert_eq!(other, Ok(true));
            Ok(())
        });
        assert_eq!(added.is_err(), reads, "{added:?}");
        let first = if reads { 41 } else { 51 };
        assert_eq!(stage.row(), (Some(first), Some(Quiet([2; 3])), Some(23)));
    }
}

#[test]
fn a_column_group_is_replaced_alone_and_a_row_comes_and_goes_whole() {
    for (splitting, ..) in SHARED {
        let stage = Stage::<Silo>::new(splitting);
        let mut session = stage.db.session();
        let replaced = attempt(&mut session, |txn| {
            assert!(txn.replace(stage.quiet, AT, &Quiet([9; 3]))?);
            assert!(txn.add(stage.last, AT, |cell| cell.set(4))?);
            txn.replace(stage.first, AT, &Cell::new(5))
        });
        assert_eq!(replaced, Ok(true));
        assert_eq!(stage.row(), (Some(5), Some(Quiet([9; 3])), Some(7)));
        let back = attempt(&mut session, |txn| {
            assert!(txn.delete(stage.first, AT)?);
            assert_eq!(txn.read(stage.last, AT, |_| ())?, None);
            assert!(!txn.replace(stage.quiet, AT, &Quiet([0; 3]))?);
            let rows = (&Cell::new(6), &Quiet([7; 3]), &Cell::new(8));
            assert!(txn.insert((stage.first, stage.quiet, stage.last), AT, rows)?);
            assert!(!txn.insert((stage.first, stage.quiet, stage.last), AT, rows)?);
            txn.update(stage.last, AT, |cell| cell.set(9))
        });
        assert_eq!(back, Ok(Some(())));
        assert_eq!(stage.row(), (Some(6), Some(Quiet([7; 3])), Some(9)));
    }
}
