//! The microbenchmark of batching and reordering: five reads and five writes of a hundred thousand objects; one object
//! is both read and written (Ding, Kot, Gehrke: Improving optimistic concurrency control through transaction batching
//! and operation reordering, PVLDB 12(2), 2018).
//!
//! TABLE        Objects with names of 8 bytes and a version of 8 bytes; read by single keys only.
//! TRANSACTION  Reads its objects, then writes its objects: blindly, or by a read-modify-write. Names are
//!              Zipf-distributed, and differ within a transaction.
//! CHECKS       A read-modify-write adds 1 to the version: in each of 64 parts of the objects, the sum of the versions
//!              is the number of committed writes. A blind write stores the number of its request: the version of an
//!              object names a committed request that writes the object. For the 64 hottest objects, it is the last
//!              request of its client that wrote the object; and no version is 0 if anybody wrote the object.
//! DEPARTURES   (1) The values, which are empty in the study, are the versions. (2) The study's clients, storage and
//!              validator are threads with queues between them and at most 300 transactions among them; here
//!              `--clients 300` keeps as many in flight, and the scheme decides how they are processed.

mod forecast;
mod input;
mod ledger;
mod settings;
#[cfg(test)]
mod tests;

use engine::setting::{Setting, SettingError, Values};
use engine::{
    Abort, ClientId, Drive, Forecast, Homes, InputFootprint, Loader, Lookup, Quiesced, Row, Schema, Share,
    Table, Transaction, TxnType, Violation, Workload,
};
use stdx::Rng;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

use input::{Generator, Object, Writer};
use ledger::{HOT, PARTS};
use settings::{SETTINGS, Settings};

pub use input::Input;
pub use ledger::Ledger;

/// An object's row: the number of its writes or, with blind writes, its last writer.
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, KnownLayout, Immutable)]
#[repr(C)]
struct Version(u64);

impl Row for Version {
    type Key = Object;
    type Indexes = ();
}

/// The workload.
#[derive(Debug)]
pub struct Micro {
    settings: Settings,
    drive: Drive,
    generator: Generator,
    table: Table<Version>,
}

/// The result of a transaction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Output {
    /// The sum of the versions that were read.
    digest: u64,
    /// The number of objects that were not found.
    missing: u64,
}

impl Micro {
    /// Checks a share, against the commits if they are known.
    fn check_share(
        &self,
        view: &impl Quiesced,
        share: Share,
        ledgers: Option<&[Ledger]>,
    ) -> Result<(), Violation> {
        if self.settings.is_blind {
            self.check_writers(view, share, ledgers)?;
        } else {
            self.check_counters(view, share, ledgers)?;
        }
        if share.index == 0 { self.check_whole(view, ledgers) } else { Ok(()) }
    }

    /// Checks versions that count writes, part by part.
    fn check_counters(
        &self,
        view: &impl Quiesced,
        share: Share,
        ledgers: Option<&[Ledger]>,
    ) -> Result<(), Violation> {
        for part in share.of_range(PARTS as u64) {
            let part = part as usize;
            let mut versions = 0_u64;
            for position in self.generator.positions(part, PARTS) {
                versions = versions.wrapping_add(self.version(self.generator.at(position), view)?);
            }
            let Some(ledgers) = ledgers else { continue };
            let writes = ledgers.iter().fold(0_u64, |sum, ledger| sum.wrapping_add(ledger.writes[part]));
            if versions != writes {
                let found =
                    format!("part {part} of {PARTS} shows {versions} writes, but {writes} were committed");
                return violation("versions equal committed writes", found);
            }
        }
        Ok(())
    }

    /// Checks versions that name their writers.
    fn check_writers(
        &self,
        view: &impl Quiesced,
        share: Share,
        ledgers: Option<&[Ledger]>,
    ) -> Result<(), Violation> {
        for position in share.of_range(self.settings.objects) {
            let object = self.generator.at(position);
            let version = self.version(object, view)?;
            if version == 0 {
                continue;
            }
            let request = Writer(version).request();
            if ledgers.is_some_and(|ledgers| !ledgers.iter().any(|ledger| ledger.has(request))) {
                let found = format!("object {position} has the version {version:#x}, which none committed");
                return violation("versions are of requests that committed", found);
            }
            if !self.generator.generate(request.0, request.1).written().contains(&object) {
                let found =
                    format!("object {position} has the version {version:#x}, whose request has others");
                return violation("versions are of requests that write them", found);
            }
        }
        Ok(())
    }

    /// Checks that the version of each hot object is the last write of its writer's client.
    fn check_last(&self, view: &impl Quiesced, ledgers: &[Ledger]) -> Result<(), Violation> {
        for rank in 0..HOT.min(self.settings.objects as usize) {
            let version = self.version(self.generator.of_rank(rank as u64), view)?;
            let is_last = if version == 0 {
                !ledgers.iter().any(|ledger| ledger.is_written(rank))
            } else {
                let client = Writer(version).request().0;
                let last = ledgers.iter().filter_map(|ledger| ledger.last_write(client, rank)).max();
                last == Some(Writer(version))
            };
            if !is_last {
                let found = format!("the object of rank {rank} has the version {version:#x}, and later ones");
                return violation("versions are the last of their clients", found);
            }
        }
        Ok(())
    }

    fn version(&self, object: Object, view: &impl Quiesced) -> Result<u64, Violation> {
        let version = view.read(self.table, object, |row| row.0);
        version.ok_or_else(|| Violation { condition: "objects stay", found: format!("{object:?} is gone") })
    }

    /// Checks the conditions of the whole table.
    fn check_whole(&self, view: &impl Quiesced, ledgers: Option<&[Ledger]>) -> Result<(), Violation> {
        if self.settings.is_blind
            && let Some(ledgers) = ledgers
        {
            self.check_last(view, ledgers)?;
        }
        let ledgers = ledgers.unwrap_or_default();
        let mut rows = 0;
        view.rows(self.table, Share::WHOLE, |_, _| rows += 1);
        if rows != self.settings.objects {
            let found = format!("{rows} objects of {}", self.settings.objects);
            return violation("there are as many objects as were loaded", found);
        }
        match ledgers.iter().map(|ledger| ledger.missing).sum::<u64>() {
            0 => Ok(()),
            missing => violation("transactions find every object", format!("{missing} were missing")),
        }
    }
}

fn violation(condition: &'static str, found: String) -> Result<(), Violation> {
    Err(Violation { condition, found })
}

impl Workload for Micro {
    const NAME: &'static str = "micro";
    const TYPES: &'static [TxnType] =
        &[TxnType { name: "read_write", read_only: false }, TxnType { name: "read_only", read_only: true }];
    const SETTINGS: &'static [Setting] = SETTINGS;
    type Input = Input;
    type Scratch = ();
    type Output = Output;
    type Ledger = Ledger;

    fn declare(values: &Values, drive: Drive, schema: &mut Schema) -> Result<Self, SettingError> {
        let settings = Settings::new(values)?;
        let generator = Generator::new(settings, drive.seed);
        schema.set_homes(input::HOMES as usize);
        let table = schema.table("objects", Lookup::Point, settings.objects as usize).group();
        Ok(Self { settings, drive, generator, table })
    }

    fn forecast(&self) -> Forecast {
        forecast::of(&self.settings, &self.generator, self.drive)
    }

    fn load(&self, share: Share, loader: &mut impl Loader) {
        for position in share.of_range(self.settings.objects) {
            loader.insert(self.table, self.generator.at(position), &Version(0));
        }
    }

    /// Draws from a stream of its own, so that the checks can draw a request again.
    fn generate(&self, client: ClientId, sequence: u64, _: &mut Rng) -> Input {
        self.generator.generate(client, sequence)
    }

    fn kind(&self, input: &Input) -> usize {
        usize::from(input.written().is_empty())
    }

    fn homes(&self, input: &Input) -> Homes {
        input.homes()
    }

    fn footprint(&self, input: &Input, footprint: &mut InputFootprint) {
        let unwritten = &input.all()[..input.all().len() - input.written().len()];
        for object in unwritten {
            footprint.read(self.table, *object);
        }
        for object in input.written() {
            footprint.write(self.table, *object);
        }
        footprint.complete();
    }

    fn execute<T: Transaction>(&self, input: &Input, (): &mut (), txn: &mut T) -> Result<Output, Abort> {
        let mut output = Output::default();
        txn.prefetch(self.table, input.all().iter().copied());
        txn.decided();
        for &object in input.read() {
            match txn.read(self.table, object, |row| row.0)? {
                Some(version) => output.digest = output.digest.wrapping_add(version),
                None => output.missing += 1,
            }
        }
        for &object in input.written() {
            let was_there = if self.settings.is_blind {
                txn.replace(self.table, object, &Version(input.writer.0))?
            } else {
                txn.update(self.table, object, |row| row.0 = row.0.wrapping_add(1))?.is_some()
            };
            output.missing += u64::from(!was_there);
        }
        Ok(output)
    }

    #[inline]
    fn committed(&self, ledger: &mut Ledger, input: &Input, output: &Output) {
        if self.settings.is_blind {
            ledger.remember(input);
        } else {
            ledger.count(input);
        }
        ledger.missing += output.missing;
        ledger.digest = ledger.digest.wrapping_add(output.digest);
    }

    fn check(&self, view: &impl Quiesced, share: Share, ledgers: &[Ledger]) -> Result<(), Violation> {
        self.check_share(view, share, Some(ledgers))
    }

    fn check_state(&self, view: &impl Quiesced, share: Share) -> Result<(), Violation> {
        self.check_share(view, share, None)
    }
}
