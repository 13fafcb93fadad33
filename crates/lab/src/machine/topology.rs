//! The topology of a machine's cores: hardware threads, memory nodes, caches (Linux,
//! `Documentation/ABI/stable/sysfs-devices-system-cpu`).

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

/// The most caches of a core.
const CACHES_MAX: usize = 8;

/// A cache.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cache {
    /// The level, from 1.
    pub level: u64,
    /// The kind of contents: `data`, `instruction` or `unified`.
    pub kind: String,
    /// The size in bytes.
    pub bytes: u64,
    /// The number of hardware threads that share the cache.
    pub shared_by: usize,
}

/// The topology of the cores that this process may use; 0 and empty where the system does not tell.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Topology {
    pub(super) threads_per_core: usize,
    pub(super) physical_cores: usize,
    pub(super) numa_nodes: usize,
    pub(super) caches: Vec<Cache>,
}

impl Topology {
    /// Reads the topology from the system's files, which lie under `root`.
    pub(super) fn read(root: &Path) -> Self {
        let text = |path: &str| fs::read_to_string(root.join(path)).unwrap_or_default();
        let status = text("proc/self/status");
        let allowed = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"));
        let allowed = numbers(allowed.unwrap_or("0"));
        let cpu = |number: usize, file: &str| text(&format!("sys/devices/system/cpu/cpu{number}/{file}"));
        let siblings: BTreeSet<BTreeSet<usize>> = allowed
            .iter()
            .map(|number| numbers(&cpu(*number, "topology/thread_siblings_list")))
            .filter(|threads| !threads.is_empty())
            .collect();
        let first = allowed.first().copied().unwrap_or(0);
        let cache = |index: usize| {
            let file = |name: &str| cpu(first, &format!("cache/index{index}/{name}"));
            Some(Cache {
                level: file("level").trim().parse().ok()?,
                kind: file("type").trim().to_lowercase(),
                bytes: size(file("size").trim())?,
                shared_by: numbers(&file("shared_cpu_list")).len(),
            })
        };
        let is_of_node = |node: &usize| {
            !numbers(&text(&format!("sys/devices/system/node/node{node}/cpulist"))).is_disjoint(&allowed)
        };
        Self {
            threads_per_core: siblings.iter().map(BTreeSet::len).max().unwrap_or(0),
            physical_cores: siblings.len(),
            numa_nodes: numbers(&text("sys/devices/system/node/online"))
                .iter()
                .filter(|node| is_of_node(node))
                .count(),
            caches: (0..CACHES_MAX).filter_map(cache).collect(),
        }
    }
}

/// Returns the numbers in a list of the system, for example `0-1,4`.
fn numbers(list: &str) -> BTreeSet<usize> {
    let range = |part: &str| {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        Some(first.trim().parse::<usize>().ok()?..=last.trim().parse().ok()?)
    };
    list.split(',').filter_map(range).flatten().collect()
}

/// Returns the bytes of a size as the system writes it, for example `1024K`.
fn size(text: &str) -> Option<u64> {
    let units = [("K", 1 << 10), ("M", 1 << 20), ("G", 1 << 30)];
    let (number, unit) =
        units.into_iter().find_map(|(suffix, unit)| Some((text.strip_suffix(suffix)?, unit)))?;
    number.parse::<u64>().ok().map(|number| number * unit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_and_sizes_of_the_system_are_understood() {
        assert_eq!(numbers("0-1,4\n").into_iter().collect::<Vec<_>>(), [0, 1, 4]);
        assert!(numbers("").is_empty());
        assert_eq!((size("512K"), size("32M"), size("")), (Some(512 << 10), Some(32 << 20), None));
    }

    #[test]
    fn two_threads_of_one_core_are_one_core_and_only_cores_that_may_be_used_count() {
        let root = std::env::temp_dir().join(format!("contend-topology-{}", std::process::id()));
        let put = |path: &str, text: &str| {
            let path = root.join(path);
            fs::create_dir_all(path.parent().expect("in a folder")).expect("writable");
            fs::write(path, text).expect("writable");
        };
        put("proc/self/status", "Name:\ta\nCpus_allowed_list:\t2-4\n");
        for (number, siblings) in [(0, "0-1"), (1, "0-1"), (2, "2-3"), (3, "2-3"), (4, "4-5")] {
            put(&format!("sys/devices/system/cpu/cpu{number}/topology/thread_siblings_list"), siblings);
        }
        put("sys/devices/system/node/online", "0-1\n");
        put("sys/devices/system/node/node0/cpulist", "0-1\n");
        put("sys/devices/system/node/node1/cpulist", "2-5\n");
        let cache = "sys/devices/system/cpu/cpu2/cache/index0";
        for (file, text) in [("level", "3"), ("type", "Unified"), ("size", "8M"), ("shared_cpu_list", "2-5")]
        {
            put(&format!("{cache}/{file}"), text);
        }
        let found = Topology::read(&root);
        fs::remove_dir_all(&root).expect("its own directory");
        let caches = vec![Cache { level: 3, kind: "unified".to_owned(), bytes: 8 << 20, shared_by: 4 }];
        let wanted = Topology { threads_per_core: 2, physical_cores: 2, numa_nodes: 1, caches };
        assert_eq!((found, Topology::read(&root)), (wanted, Topology::default()));
    }
}
