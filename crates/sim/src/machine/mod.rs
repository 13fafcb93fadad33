//! Models of machines: topology, caches, links and costs, as data. A file describes each constant and its origin.
//!
//! The simulator knows a machine only by these figures. So a run on a machine that nobody owns here needs a file, and
//! no code. Each constant of a file has a *basis* ([`Basis`]) and a source, because a result is worth as much as the
//! constants that it depends on: reports print them, and [`Machine::scaled`] changes one at a time.
//!
//! [`Machine::read`] reads a file, and [`Machine::text`] writes one. [`Machine::of_name`] has the files that the
//! program brings along.

mod error;
mod fields;
mod judge;
mod placement;
mod read;
mod text;

pub use error::MachineError;
pub use fields::FACTORS;
pub use placement::{MemoryPolicy, Placement, ThreadPlace};

use crate::timed::TIMING_RULES;

/// A machine to simulate. All times are in picoseconds.
#[derive(Clone, Debug, PartialEq)]
pub struct Machine {
    /// The name on the command line.
    pub name: String,
    /// One sentence that says which machine it is.
    pub title: String,
    /// How well simulated figures of this machine agreed with measured ones, in a half sentence; `None` if nothing was
    /// compared.
    pub compared: Option<String>,
    /// Bytes of a cache line: a power of two, 32 to 256.
    pub line_bytes: u64,
    /// Sockets, groups of cores, cores and threads, and the distances between sockets.
    pub topology: Topology,
    /// A core, and the instructions that cost more than a cycle.
    pub core: Core,
    /// The first-level data cache of a core.
    pub l1: Cache,
    /// The second-level cache of a core.
    pub l2: Cache,
    /// The last-level cache of a group of cores (see [`Topology::cores_per_group`]).
    pub l3: Cache,
    /// The memory of a socket.
    pub memory: Memory,
    /// By distance between sockets, from 0 (the same socket; between its groups of cores) upwards.
    pub hops: Vec<Hop>,
    /// Lines that several cores use.
    pub coherence: Coherence,
    /// The device that a log is written to.
    pub log: LogDevice,
    /// Each constant of the file with its basis, for reports and for sensitivity: see [`Constant`].
    pub constants: Vec<Constant>,
}

/// Sockets, groups of cores that share a last-level cache, cores, hardware threads.
#[derive(Clone, Debug, PartialEq)]
pub struct Topology {
    /// Processors, each with memory of its own.
    pub sockets: u32,
    /// Groups of cores that share a last-level cache: a socket of Intel's is one group, a core complex of EPYC is one,
    /// and so is a core of POWER with its region of the last-level cache.
    pub groups_per_socket: u32,
    /// Cores of a group.
    pub cores_per_group: u32,
    /// Hardware threads of a core.
    pub threads_per_core: u32,
    /// The distance between each two sockets, an index into [`Machine::hops`]: `distance[from][to]`. Symmetric; 0 on
    /// the diagonal, and only there.
    pub distance: Vec<Vec<u8>>,
}

/// A core, and the instructions that cost more than a cycle.
#[derive(Clone, Debug, PartialEq)]
pub struct Core {
    /// The clock, in cycles per nanosecond.
    pub ghz: f64,
    /// Picoseconds of an instruction of a thread that has its core to itself, without misses.
    pub instruction_ps: u64,
    /// The throughput of a core with 1, 2, .. running threads, relative to one thread: `[1.0, 1.3]`.
    pub smt_speedup: Vec<f64>,
    /// Cache misses that a thread may have under way at the same time.
    pub misses_max: u32,
    /// Picoseconds of a pause instruction in a spin loop.
    pub pause_ps: u64,
    /// Picoseconds of a full fence, beside the wait for earlier stores.
    pub fence_ps: u64,
    /// Picoseconds that an atomic read-modify-write takes on a line that the core already owns.
    pub update_ps: u64,
    /// Picoseconds to read the clock (time-stamp counter).
    pub clock_ps: u64,
}

/// A cache: its size and its latency.
#[derive(Clone, Debug, PartialEq)]
pub struct Cache {
    /// Bytes of data: a multiple of the ways times the bytes of a line.
    pub bytes: u64,
    /// Lines of a set.
    pub ways: u32,
    /// Picoseconds of a load that hits, load to use.
    pub latency_ps: u64,
}

/// The memory of a socket.
#[derive(Clone, Debug, PartialEq)]
pub struct Memory {
    /// Picoseconds of a load from the memory of the own socket, load to use.
    pub latency_ps: u64,
    /// Bytes per nanosecond of a socket's memory controllers together.
    pub bytes_per_ns: f64,
}

/// The way between two sockets at some distance.
#[derive(Clone, Debug, PartialEq)]
pub struct Hop {
    /// Picoseconds that a request and its answer take on the way, together, beside what they take within a socket.
    pub round_trip_ps: u64,
    /// Bytes per nanosecond of a socket's links for this distance, in each direction. 0 for distance 0 means no limit.
    pub bytes_per_ns: f64,
}

/// Costs of lines that several cores use.
#[derive(Clone, Debug, PartialEq)]
pub struct Coherence {
    /// Picoseconds to fetch a line from another core's private cache on the same socket (load to use). Between two
    /// groups of cores the way of hop 0 comes to it.
    pub transfer_ps: u64,
    /// Picoseconds that a core keeps a line after it got it for writing, before it hands it over.
    pub hold_ps: u64,
    /// Picoseconds that the home of a line is busy with a request for it.
    pub directory_ps: u64,
    /// Picoseconds for each further socket that a write must invalidate.
    pub invalidate_ps: u64,
}

/// The device that a log is written to.
#[derive(Clone, Debug, PartialEq)]
pub struct LogDevice {
    /// Picoseconds from a flush to its answer, beside the time of the bytes.
    pub flush_ps: u64,
    /// Bytes per nanosecond that the device writes.
    pub bytes_per_ns: f64,
}

/// The basis of a constant, from the firmest to the weakest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Basis {
    /// Measured by us on the machine itself.
    Measured,
    /// Published by its maker, or measured by others and published; the source says where.
    Published,
    /// Chosen so that simulated results come close to published ones, or to be chosen so; the source says which.
    Fitted,
    /// Nobody measured or published it, as far as we know; the source gives the reason for the value.
    Assumed,
}

impl Basis {
    /// All bases, from the firmest to the weakest.
    pub const ALL: [Self; 4] = [Self::Measured, Self::Published, Self::Fitted, Self::Assumed];

    /// Returns the word for the basis in files and reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Measured => "measured",
            Self::Published => "published",
            Self::Fitted => "fitted",
            Self::Assumed => "assumed",
        }
    }
}

/// A constant of a machine's file.
#[derive(Clone, Debug, PartialEq)]
pub struct Constant {
    /// The path in the file, for example `l1.latency_ns`.
    pub path: String,
    /// The kind of its origin.
    pub basis: Basis,
    /// The source, or the reason for an assumption.
    pub source: String,
}

impl Constant {
    /// Whether simulated time depends on the constant. It does not depend on the clock's rate, which only tells readers
    /// of a file what an instruction's time is made of, nor on the device of a log, as simulated runs write none.
    pub fn is_in_use(&self) -> bool {
        self.path != "core.ghz" && !self.path.starts_with("log.")
    }
}

/// The files that the program brings along, by name.
const BUILT_IN: [(&str, &str); 5] = [
    ("hpe-superdome-flex", include_str!("../../machines/hpe-superdome-flex.toml")),
    ("power9", include_str!("../../machines/power9.toml")),
    ("power8", include_str!("../../machines/power8.toml")),
    ("epyc", include_str!("../../machines/epyc.toml")),
    ("here", include_str!("../../machines/here.toml")),
];

impl Machine {
    /// Returns the text of the file of this name that the program brings along.
    pub fn of_name(name: &str) -> Option<&'static str> {
        BUILT_IN.iter().find(|(known, _)| *known == name).map(|(_, text)| *text)
    }

    /// Returns the names and titles of the machines that the program brings along.
    pub fn built_in() -> Vec<(&'static str, String)> {
        let title = |name, text| Self::read(text, name).expect("the files of the program are correct").title;
        BUILT_IN.iter().map(|&(name, text)| (name, title(name, text))).collect()
    }

    /// Returns the hardware threads of the whole machine.
    pub fn threads(&self) -> u32 {
        self.topology.cores() * self.topology.threads_per_core
    }

    /// Returns each constant's path and value, in the units of the file.
    pub fn values(&self) -> Vec<(String, String)> {
        fields::values(self)
    }

    /// Returns a hash of all constants' values and of the version of the rules by which they become time,
    /// as sixteen hexadecimal digits. Machines with the same digest simulate alike: names, sources and comments are not
    /// in it.
    pub fn digest(&self) -> String {
        // FNV-1a: its offset basis, then its prime.
        let mut hash = 0xcbf2_9ce4_8422_2325_u64;
        let rules = ("rules".to_owned(), TIMING_RULES.to_string());
        for (path, value) in std::iter::once(rules).chain(self.values()) {
            for byte in format!("{path}={value}\n").bytes() {
                hash = (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
            }
        }
        format!("{hash:016x}")
    }

    /// Returns the machine with one constant multiplied by a factor, for a sensitivity run. Everything else stays.
    ///
    /// A size of a cache is rounded to whole sets, and a number of misses to a whole number. Of a list of speed-ups the
    /// parts above 1 are multiplied, because a thread alone on its core has no speed-up. The order of latencies is not
    /// checked: a memory that is nearer than the cache is a question that one may ask.
    ///
    /// # Errors
    /// A path that names no constant; a constant that is the shape of the machine, not a cost; a factor that is not
    /// positive, or that changes nothing.
    pub fn scaled(&self, path: &str, factor: f64) -> Result<Self, MachineError> {
        fields::scaled(self, path, factor)
    }
}

#[cfg(test)]
mod tests;
