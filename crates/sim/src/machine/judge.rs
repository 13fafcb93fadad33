//! Contradictions between the constants of a machine: each constant is possible, and all of them together are not.

use super::{Cache, Machine};

/// A contradiction: the path of a constant that is part of it, and a sentence.
pub(super) type Contradiction = (String, String);

/// The maximum number of hardware threads: with more, the scheduler's clock would not last for the longest run.
const THREADS_MAX: u64 = 4_095;
/// The maximum number of sockets: the directory has a bit for each.
const SOCKETS_MAX: u32 = 64;

/// Refuses a machine whose constants contradict each other.
pub(super) fn judge(machine: &Machine) -> Result<(), Contradiction> {
    parts(machine)?;
    speedups(machine)?;
    caches(machine)?;
    distances(machine)?;
    hops(machine)
}

fn refuse(path: &str, says: impl Into<String>) -> Result<(), Contradiction> {
    Err((path.to_owned(), says.into()))
}

fn parts(machine: &Machine) -> Result<(), Contradiction> {
    let line = machine.line_bytes;
    if !(line.is_power_of_two() && (32..=256).contains(&line)) {
        return refuse("line_bytes", format!("{line} is no power of two from 32 to 256"));
    }
    let at = &machine.topology;
    let parts = [at.sockets, at.groups_per_socket, at.cores_per_group, at.threads_per_core];
    let threads = parts.into_iter().fold(1_u64, |threads, part| threads.saturating_mul(part.into()));
    if at.sockets > SOCKETS_MAX {
        let says = format!("there are {} sockets, more than {SOCKETS_MAX}", at.sockets);
        return refuse("topology.sockets", says);
    }
    if threads > THREADS_MAX {
        let says = format!("the machine has {threads} hardware threads, more than {THREADS_MAX}");
        return refuse("topology.sockets", says);
    }
    Ok(())
}

fn speedups(machine: &Machine) -> Result<(), Contradiction> {
    let gains = &machine.core.smt_speedup;
    let threads = machine.topology.threads_per_core as usize;
    if gains.len() != threads {
        let says = format!("there are {} values, and a core has {threads} threads", gains.len());
        return refuse("core.smt_speedup", says);
    }
    // Exactly 1: the file says so in digits.
    if gains[0].to_bits() != 1.0_f64.to_bits() {
        return refuse("core.smt_speedup", format!("one thread has {} times its own throughput", gains[0]));
    }
    match gains.iter().enumerate().find(|(at, gain)| !(1.0..=*at as f64 + 1.0).contains(*gain)) {
        Some((at, gain)) => refuse(
            "core.smt_speedup",
            format!("{gain} for {} threads: it must be from 1 to the number of threads", at + 1),
        ),
        None => Ok(()),
    }
}

fn caches(machine: &Machine) -> Result<(), Contradiction> {
    let Machine { l1, l2, l3, line_bytes, .. } = machine;
    for (name, Cache { bytes, ways, .. }) in [("l1", l1), ("l2", l2), ("l3", l3)] {
        let set = u64::from(*ways) * line_bytes;
        if *bytes == 0 || !bytes.is_multiple_of(set) {
            let says = format!("{bytes} bytes do not divide into sets of {ways} lines of {line_bytes} bytes");
            return refuse(&format!("{name}.size_kib"), says);
        }
    }
    if l1.bytes > l2.bytes {
        return refuse("l1.size_kib", "the first-level cache is larger than the second-level cache");
    }
    if l2.bytes > l3.bytes {
        return refuse("l2.size_kib", "the second-level cache is larger than the last-level cache");
    }
    let latencies = [
        ("l1.latency_ns", l1.latency_ps),
        ("l2.latency_ns", l2.latency_ps),
        ("l3.latency_ns", l3.latency_ps),
        ("memory.latency_ns", machine.memory.latency_ps),
    ];
    if let Some(pair) = latencies.windows(2).find(|pair| pair[0].1 > pair[1].1) {
        return refuse(pair[0].0, format!("it is longer than `{}`", pair[1].0));
    }
    let coherence = &machine.coherence;
    if coherence.transfer_ps < l2.latency_ps {
        return refuse(
            "coherence.transfer_ns",
            "a core gets a line from another core sooner than from its own L2",
        );
    }
    if coherence.hold_ps > coherence.transfer_ps + coherence.directory_ps {
        return refuse(
            "coherence.hold_ns",
            "a core keeps a line for longer than another one needs to get it",
        );
    }
    Ok(())
}

fn distances(machine: &Machine) -> Result<(), Contradiction> {
    let matrix = &machine.topology.distance;
    let sockets = machine.topology.sockets as usize;
    let refuse = |says: String| refuse("topology.distance", says);
    if matrix.len() != sockets || matrix.iter().any(|row| row.len() != sockets) {
        return refuse(format!("the matrix must have {sockets} rows of {sockets} distances"));
    }
    for (from, row) in matrix.iter().enumerate() {
        for (to, &distance) in row.iter().enumerate() {
            if distance != matrix[to][from] {
                let back = matrix[to][from];
                return refuse(format!(
                    "{distance} from socket {from} to {to}, and {back} back: not symmetric"
                ));
            }
            if (distance == 0) != (from == to) {
                return refuse(format!(
                    "{distance} from socket {from} to {to}: 0 is the distance within a socket, and no other"
                ));
            }
        }
    }
    Ok(())
}

fn hops(machine: &Machine) -> Result<(), Contradiction> {
    let farthest = machine.topology.distance.iter().flatten().copied().max().unwrap_or(0);
    let needed = usize::from(farthest) + 1;
    let hops = &machine.hops;
    if hops.len() != needed {
        let says =
            format!("there are {}, and the distances are 0 to {farthest}: {needed} are needed", hops.len());
        return refuse("hops", says);
    }
    if hops[0].bytes_per_ns > 0.0 {
        let says = "links within a socket are not simulated: write 0, and let the memory's rate be the limit";
        return refuse("hops.0.bytes_per_ns", says);
    }
    // From 1 on: the way within a socket is one between caches, the others add to a read of memory.
    match (2..needed).find(|at| hops[*at].round_trip_ps < hops[at - 1].round_trip_ps) {
        Some(at) => refuse(
            &format!("hops.{at}.round_trip_ns"),
            format!("a way at distance {at} is shorter than one at distance {}", at - 1),
        ),
        None => Ok(()),
    }
}
