//! The sizes of this machine's caches, as probes need them.

use std::fs;

use sync::probes::ProbeScale;

use crate::Machine;

/// The number of windows of each loop in a round.
const WINDOWS: usize = 400;
/// The most caches of a core.
const CACHES_MAX: usize = 8;
/// Bytes beyond all caches, at least and at most: a large last-level cache is shared, so that a program does not have
/// all of it, and memory takes time to be filled.
const MEMORY_BYTES: (u64, u64) = (64 << 20, 512 << 20);

/// Sizes that a system may not tell, those of most processors.
const LINE_BYTES: u64 = 64;
const L1_BYTES: u64 = 32 << 10;
const L2_BYTES: u64 = 512 << 10;
const L3_BYTES: u64 = 16 << 20;
const WAYS: u32 = 8;

/// Returns the bytes of the data cache of a level, and whether the system told them.
pub(super) fn cache_bytes(machine: &Machine, level: u64) -> (u64, bool) {
    let told = machine.caches.iter().find(|cache| cache.level == level && cache.kind != "instruction");
    let usual = [L1_BYTES, L2_BYTES, L3_BYTES][(level.clamp(1, 3) - 1) as usize];
    told.map_or((usual, false), |cache| (cache.bytes, true))
}

/// Returns the number of hardware threads that share a last-level cache; 1 if unknown.
pub(super) fn l3_threads(machine: &Machine) -> usize {
    machine
        .caches
        .iter()
        .filter(|cache| cache.level == 3)
        .map(|cache| cache.shared_by)
        .max()
        .unwrap_or(1)
        .max(1)
}

/// Returns the lines of a set of the data cache of a level, and whether the system told them.
pub(super) fn ways(level: u64) -> (u32, bool) {
    of_cache(level, "ways_of_associativity").map_or((WAYS, false), |ways| (ways as u32, true))
}

/// Returns the bytes of a line, and whether the system told them.
pub(super) fn line_bytes() -> (u64, bool) {
    of_cache(1, "coherency_line_size").map_or((LINE_BYTES, false), |bytes| (bytes, true))
}

/// Returns a number that the system tells about the data cache of a level of the first core (Linux,
/// `Documentation/ABI/stable/sysfs-devices-system-cpu`).
fn of_cache(level: u64, name: &str) -> Option<u64> {
    let file = |index: usize, name: &str| {
        fs::read_to_string(format!("/sys/devices/system/cpu/cpu0/cache/index{index}/{name}")).ok()
    };
    let is_wanted = |index: &usize| {
        let is_data = file(*index, "type").is_some_and(|kind| kind.trim() != "Instruction");
        is_data && file(*index, "level").is_some_and(|text| text.trim() == level.to_string())
    };
    let number = file((0..CACHES_MAX).find(is_wanted)?, name)?.trim().parse().ok()?;
    (number > 0).then_some(number)
}

/// Returns the sizes of loops on a machine.
pub(super) fn scale(machine: &Machine) -> ProbeScale {
    let [l1_bytes, l2_bytes, l3_bytes] = [1, 2, 3].map(|level| cache_bytes(machine, level).0 as usize);
    let (least, most) = MEMORY_BYTES;
    let room = (machine.memory_available_bytes / 4).clamp(least, most);
    let memory_bytes = (4 * l3_bytes as u64).clamp(least, room) as usize;
    let line_bytes = line_bytes().0 as usize;
    ProbeScale { line_bytes, l1_bytes, l2_bytes, l3_bytes, memory_bytes, windows: WINDOWS, pin: true }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Cache;

    #[test]
    fn sizes_come_from_the_system_or_are_usual_ones() {
        let cache = |level, kind: &str, kib: u64| Cache {
            level,
            kind: kind.to_owned(),
            bytes: kib << 10,
            shared_by: 4,
        };
        let caches = vec![cache(1, "instruction", 64), cache(1, "data", 48), cache(3, "unified", 8 << 10)];
        let machine = Machine { caches, memory_available_bytes: 1 << 30, ..Machine::default() };
        assert_eq!(cache_bytes(&machine, 1), (48 << 10, true));
        assert_eq!(cache_bytes(&machine, 2), (L2_BYTES, false));
        assert_eq!(l3_threads(&machine), 4);
        let scale = scale(&machine);
        assert_eq!((scale.l1_bytes, scale.memory_bytes), (48 << 10, 64 << 20));
        assert!(scale.memory_bytes > 4 * scale.l3_bytes - 1);
    }
}
