//! Settings: the number of objects, the skew of accesses, and the accesses of a transaction.

use engine::setting::{Range, Setting, SettingError, Values};

use super::input::EACH_MAX;

pub(super) const SETTINGS: &[Setting] = &[
    Setting {
        name: "micro.objects",
        default: "100000",
        range: Range::Int(1, 1_000_000_000),
        unit: "objects",
        doc: "objects loaded; more of them miss the caches more often and meet less often",
        stresses: "caches and memory; with few objects, contention",
    },
    Setting {
        name: "micro.reads",
        default: "5",
        range: Range::Int(0, EACH_MAX as u64),
        unit: "objects",
        doc: "objects that a transaction reads, all different",
        stresses: "the length of transactions: conflicts grow with its square",
    },
    Setting {
        name: "micro.writes",
        default: "5",
        range: Range::Int(0, EACH_MAX as u64),
        unit: "objects",
        doc: "objects that it writes, all different",
        stresses: "the share of writes",
    },
    Setting {
        name: "micro.common",
        default: "1",
        range: Range::Int(0, EACH_MAX as u64),
        unit: "objects",
        doc: "how many of the objects that it reads it writes, too",
        stresses: "whether the order of two transactions can be chosen: what both reads and writes an object cannot \
                   be moved past another such",
    },
    Setting {
        name: "micro.theta",
        default: "0.8",
        range: Range::Real(0.0, 0.999),
        unit: "",
        doc: "exponent of Zipf's distribution; 0 is uniform, 0.8 gives the hottest of 100,000 objects 2.2%; the \
              study's figures name 0.7, 0.8 and 0.9",
        stresses: "contention, and how much the caches help",
    },
    Setting {
        name: "micro.write",
        default: "blind",
        range: Range::Choice(&["blind", "rmw"]),
        unit: "",
        doc: "what a write is: a blind overwrite, as in the study, of which any number can follow each other in any \
              order, or a read-modify-write, which can be lost",
        stresses: "whether writes conflict with writes",
    },
];

/// The settings as typed values.
#[derive(Clone, Copy, Debug)]
pub(super) struct Settings {
    pub(super) objects: u64,
    pub(super) reads: usize,
    pub(super) writes: usize,
    pub(super) common: usize,
    pub(super) theta: f64,
    pub(super) is_blind: bool,
}

impl Settings {
    pub(super) fn new(values: &Values) -> Result<Self, SettingError> {
        let int = |name| values.int(name) as usize;
        let settings = Self {
            objects: values.int("micro.objects"),
            reads: int("micro.reads"),
            writes: int("micro.writes"),
            common: int("micro.common"),
            theta: values.real("micro.theta"),
            is_blind: values.text("micro.write") == "blind",
        };
        let Self { objects, reads, writes, common, .. } = settings;
        let refusal = if common > reads.min(writes) {
            format!(
                "of {reads} objects read and {writes} written, {common} cannot be common: lower `micro.common` to {} \
                 or less",
                reads.min(writes)
            )
        } else if reads + writes == 0 {
            "a transaction does nothing: raise `micro.reads` or `micro.writes`".to_owned()
        } else if (settings.accesses() as u64) > objects {
            format!(
                "{} different objects are more than there are: raise `micro.objects`, or lower `micro.reads` or \
                 `micro.writes`",
                settings.accesses()
            )
        } else {
            return Ok(settings);
        };
        Err(SettingError(refusal))
    }

    /// The number of objects that a transaction reads or writes.
    pub(super) fn accesses(&self) -> usize {
        self.reads + self.writes - self.common
    }
}
