//! The table of constants: for each its path in a file, its meaning, and its place in a [`Machine`]. Reading, writing,
//! scaling and the hash go by this table, so that none of them can forget a constant.

use core::ops::RangeInclusive;

use super::{Cache, Coherence, Core, Hop, LogDevice, Machine, MachineError, Memory, Topology};

/// A constant of a machine.
pub(super) struct Field {
    /// The section of the file; empty for the file's top.
    pub(super) section: &'static str,
    /// The name in the section. It ends in the unit.
    pub(super) name: &'static str,
    /// The smallest value.
    pub(super) least: Least,
    /// A noun phrase for messages.
    pub(super) meaning: &'static str,
    /// The place in a machine.
    pub(super) slot: fn(&mut Machine) -> Slot<'_>,
}

/// A constant of a hop. All hops have the same ones.
pub(super) struct HopField {
    pub(super) name: &'static str,
    pub(super) meaning: &'static str,
    pub(super) slot: fn(&mut Hop) -> Slot<'_>,
}

/// The smallest value of a constant.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Least {
    Zero,
    AboveZero,
}

/// A place for a value, by its kind.
pub(super) enum Slot<'m> {
    /// A number of parts of the machine: its shape.
    Shape(&'m mut u32),
    /// The bytes of a line: shape, too.
    Line(&'m mut u64),
    /// The distances between sockets: shape, too.
    Distance(&'m mut Vec<Vec<u8>>),
    /// The bytes of a cache, in KiB in files, and the bytes of one of its sets.
    Size(&'m mut u64, u64),
    /// Picoseconds, in nanoseconds in files.
    Time(&'m mut u64),
    /// Bytes or cycles per nanosecond.
    Rate(&'m mut f64),
    /// A number of things under way at the same time.
    Count(&'m mut u32),
    /// Speed-ups over one thread, for 1, 2, .. threads.
    Gains(&'m mut Vec<f64>),
}

const fn field(
    section: &'static str,
    name: &'static str,
    least: Least,
    slot: fn(&mut Machine) -> Slot<'_>,
    meaning: &'static str,
) -> Field {
    Field { section, name, least, meaning, slot }
}

use Least::{AboveZero, Zero};
use Slot::{Count, Distance, Gains, Line, Rate, Shape, Size, Time};

/// All constants but those of hops, in the order of files.
#[rustfmt::skip]
pub(super) const FIELDS: [Field; 31] = [
    field("", "line_bytes", AboveZero, |m| Line(&mut m.line_bytes), "the bytes of a cache line"),
    field("topology", "sockets", AboveZero, |m| Shape(&mut m.topology.sockets), "the number of processors"),
    field("topology", "groups_per_socket", AboveZero, |m| Shape(&mut m.topology.groups_per_socket),
        "the groups of cores that share an L3, in a socket"),
    field("topology", "cores_per_group", AboveZero, |m| Shape(&mut m.topology.cores_per_group), "the cores of a group"),
    field("topology", "threads_per_core", AboveZero, |m| Shape(&mut m.topology.threads_per_core),
        "the hardware threads of a core"),
    field("topology", "distance", AboveZero, |m| Distance(&mut m.topology.distance),
        "the distance between each two sockets"),
    field("core", "ghz", AboveZero, |m| Rate(&mut m.core.ghz), "the clock"),
    field("core", "instruction_ns", AboveZero, |m| Time(&mut m.core.instruction_ps),
        "the time of an instruction without misses"),
    field("core", "smt_speedup", AboveZero, |m| Gains(&mut m.core.smt_speedup),
        "the throughput of a core with 1, 2, .. threads"),
    field("core", "misses_max", AboveZero, |m| Count(&mut m.core.misses_max),
        "the misses of a thread under way at once"),
    field("core", "pause_ns", AboveZero, |m| Time(&mut m.core.pause_ps), "the time of a pause instruction"),
    field("core", "fence_ns", Zero, |m| Time(&mut m.core.fence_ps), "the time of a full fence"),
    field("core", "update_ns", AboveZero, |m| Time(&mut m.core.update_ps),
        "the time of an atomic update of a line that the core owns"),
    field("core", "clock_ns", Zero, |m| Time(&mut m.core.clock_ps), "the time to read the clock"),
    field("l1", "ways", AboveZero, |m| Shape(&mut m.l1.ways), "the lines of a set"),
    field("l1", "size_kib", AboveZero, |m| size(m.line_bytes, &mut m.l1), "the size of the first-level data cache"),
    field("l1", "latency_ns", AboveZero, |m| Time(&mut m.l1.latency_ps), "the time of a load that hits"),
    field("l2", "ways", AboveZero, |m| Shape(&mut m.l2.ways), "the lines of a set"),
    field("l2", "size_kib", AboveZero, |m| size(m.line_bytes, &mut m.l2), "the size of a core's second-level cache"),
    field("l2", "latency_ns", AboveZero, |m| Time(&mut m.l2.latency_ps), "the time of a load that hits"),
    field("l3", "ways", AboveZero, |m| Shape(&mut m.l3.ways), "the lines of a set"),
    field("l3", "size_kib", AboveZero, |m| size(m.line_bytes, &mut m.l3), "the size of a group's last-level cache"),
    field("l3", "latency_ns", AboveZero, |m| Time(&mut m.l3.latency_ps), "the time of a load that hits"),
    field("memory", "latency_ns", AboveZero, |m| Time(&mut m.memory.latency_ps),
        "the time of a load from the memory of the own socket"),
    field("memory", "bytes_per_ns", AboveZero, |m| Rate(&mut m.memory.bytes_per_ns),
        "the rate of a socket's memory controllers"),
    field("coherence", "transfer_ns", AboveZero, |m| Time(&mut m.coherence.transfer_ps),
        "the time to fetch a line from another core of the socket"),
    field("coherence", "hold_ns", Zero, |m| Time(&mut m.coherence.hold_ps),
        "the time that a core keeps a line that it got for writing"),
    field("coherence", "directory_ns", Zero, |m| Time(&mut m.coherence.directory_ps),
        "the time that a line's home is busy with a request"),
    field("coherence", "invalidate_ns", Zero, |m| Time(&mut m.coherence.invalidate_ps),
        "the time for each further socket that a write must invalidate"),
    field("log", "flush_ns", Zero, |m| Time(&mut m.log.flush_ps), "the time of a flush to the log's device"),
    field("log", "bytes_per_ns", AboveZero, |m| Rate(&mut m.log.bytes_per_ns), "the rate of the log's device"),
];

/// The constants of each hop.
#[rustfmt::skip]
pub(super) const HOP_FIELDS: [HopField; 2] = [
    HopField { name: "round_trip_ns", meaning: "the time of a request and its answer on the way",
        slot: |hop| Time(&mut hop.round_trip_ps) },
    HopField { name: "bytes_per_ns", meaning: "the rate of a socket's links for this distance, each way",
        slot: |hop| Rate(&mut hop.bytes_per_ns) },
];

fn size(line_bytes: u64, cache: &mut Cache) -> Slot<'_> {
    Size(&mut cache.bytes, line_bytes * u64::from(cache.ways))
}

impl Field {
    /// Returns the path in a file.
    pub(super) fn path(&self) -> String {
        if self.section.is_empty() { self.name.to_owned() } else { format!("{}.{}", self.section, self.name) }
    }
}

/// Returns the path of a constant of the hop at a distance.
pub(super) fn hop_path(distance: usize, field: &HopField) -> String {
    format!("hops.{distance}.{}", field.name)
}

/// Whether a section of files has a constant, or at the top of files something else, of this name.
pub(super) fn is_known(section: &str, name: &str) -> bool {
    let in_top = || {
        ["name", "title", "compared", "hops"].contains(&name)
            || FIELDS.iter().any(|field| field.section == name)
    };
    (section.is_empty() && in_top())
        || FIELDS.iter().any(|field| field.section == section && field.name == name)
        || (section.starts_with("hops.") && HOP_FIELDS.iter().any(|field| field.name == name))
}

/// Returns a machine of which nothing is known.
pub(super) fn blank() -> Machine {
    let cache = || Cache { bytes: 0, ways: 0, latency_ps: 0 };
    let (sockets, groups_per_socket, cores_per_group, threads_per_core) = (0, 0, 0, 0);
    Machine {
        name: String::new(),
        title: String::new(),
        compared: None,
        line_bytes: 0,
        topology: Topology {
            sockets,
            groups_per_socket,
            cores_per_group,
            threads_per_core,
            distance: Vec::new(),
        },
        core: Core {
            ghz: 0.0,
            instruction_ps: 0,
            smt_speedup: Vec::new(),
            misses_max: 0,
            pause_ps: 0,
            fence_ps: 0,
            update_ps: 0,
            clock_ps: 0,
        },
        l1: cache(),
        l2: cache(),
        l3: cache(),
        memory: Memory { latency_ps: 0, bytes_per_ns: 0.0 },
        hops: Vec::new(),
        coherence: Coherence { transfer_ps: 0, hold_ps: 0, directory_ps: 0, invalidate_ps: 0 },
        log: LogDevice { flush_ps: 0, bytes_per_ns: 0.0 },
        constants: Vec::new(),
    }
}

/// Returns each constant's path and value, in the units and the order of files.
pub(super) fn values(machine: &Machine) -> Vec<(String, String)> {
    // The table lends places for writing; a copy is what may be written to.
    let mut machine = machine.clone();
    let mut values: Vec<_> =
        FIELDS.iter().map(|field| (field.path(), text((field.slot)(&mut machine)))).collect();
    for (distance, hop) in machine.hops.iter_mut().enumerate() {
        let of_hop = HOP_FIELDS.iter().map(|field| (hop_path(distance, field), text((field.slot)(hop))));
        values.extend(of_hop);
    }
    values
}

/// Returns a value as files have it.
fn text(slot: Slot<'_>) -> String {
    match slot {
        Shape(count) | Count(count) => count.to_string(),
        Line(bytes) => bytes.to_string(),
        Distance(matrix) => format!("{matrix:?}"),
        Size(bytes, _) => (*bytes as f64 / KIB).to_string(),
        Time(ps) => (*ps as f64 / PS_PER_NS).to_string(),
        Rate(rate) => rate.to_string(),
        Gains(gains) => format!("{gains:?}"),
    }
}

/// Picoseconds of a nanosecond.
pub(super) const PS_PER_NS: f64 = 1_000.0;
/// Bytes of a KiB.
pub(super) const KIB: f64 = 1_024.0;

/// The factors by which constants may be multiplied: beyond, a time or a size would be none that a machine could have.
pub const FACTORS: RangeInclusive<f64> = 0.001..=1_000.0;

/// The error's origin where no file is at fault.
const REQUEST: &str = "scaling a constant";

/// Returns the machine with one constant multiplied. See [`Machine::scaled`].
pub(super) fn scaled(machine: &Machine, path: &str, factor: f64) -> Result<Machine, MachineError> {
    let refuse = |says: String| Err(MachineError::new(REQUEST, 0, says));
    if !FACTORS.contains(&factor) {
        let (low, high) = (FACTORS.start(), FACTORS.end());
        return refuse(format!("the factor {factor:?} is not a number from {low} to {high}"));
    }
    let mut scaled = machine.clone();
    let Some(slot) = slot_of(&mut scaled, path) else {
        return refuse(format!("`{path}` is no constant of `{}`: its file names them", machine.name));
    };
    match slot {
        Shape(_) | Line(_) | Distance(_) => {
            return refuse(format!("`{path}` is the shape of the machine, not a cost: write another file"));
        }
        Size(bytes, set) => {
            let sets = (*bytes as f64 / set as f64 * factor).round();
            *bytes = (sets as u64).max(1) * set;
        }
        Time(ps) => *ps = ((*ps as f64 * factor).round() as u64).max(u64::from(*ps > 0)),
        Rate(rate) => *rate *= factor,
        Count(count) => *count = ((f64::from(*count) * factor).round() as u32).max(1),
        Gains(gains) => gains.iter_mut().for_each(|gain| *gain = 1.0 + (*gain - 1.0) * factor),
    }
    if scaled == *machine {
        return refuse(format!("`{path}` stays the same with the factor {factor}: nothing would be learned"));
    }
    Ok(scaled)
}

/// Returns the place of the constant at a path.
fn slot_of<'m>(machine: &'m mut Machine, path: &str) -> Option<Slot<'m>> {
    if let Some(of_hop) = path.strip_prefix("hops.") {
        let (distance, name) = of_hop.split_once('.')?;
        let field = HOP_FIELDS.iter().find(|field| field.name == name)?;
        return machine.hops.get_mut(distance.parse::<usize>().ok()?).map(field.slot);
    }
    FIELDS.iter().find(|field| field.path() == path).map(|field| (field.slot)(machine))
}
