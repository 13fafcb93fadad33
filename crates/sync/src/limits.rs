//! Limits that the system sets for this process: processor time by its control groups; memory by its control groups,
//! its resource limits and the machine's memory. A process that takes too much memory is ended, so the limits are read
//! before.
//!
//! Of control groups (Linux, `Documentation/admin-guide/cgroup-v2.rst` and `cgroup-v1`) the process's own and all above
//! it count; the one that leaves the least decides.

use std::fs;
use std::path::{Path, PathBuf};

/// The text of a file of the system, empty if there is none.
type Files<'f> = &'f dyn Fn(&Path) -> String;

/// More bytes than any machine has: version 1 reports such a number where there is no limit.
const NO_LIMIT_BYTES: u64 = 1 << 60;

/// The limits of the control groups; `None` where there is no limit.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Limits {
    /// Cores' worth of processor time.
    pub cpu_quota: Option<f64>,
    /// Bytes of memory.
    pub memory_bytes: Option<u64>,
    /// Bytes of it that can still be had. Memory that only caches files counts among them.
    pub memory_left_bytes: Option<u64>,
}

/// A limit on a process's memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bound {
    /// The limit of its address space, or of its data (`ulimit -v`, `ulimit -d`).
    Process,
    /// Its control group, or one above it: a container.
    Group,
    /// The memory of the machine, without swapping.
    Machine,
}

/// The memory that a process can still have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemoryLeft {
    /// Bytes of it.
    pub bytes: u64,
    /// The limit that decides how many.
    pub bound: Bound,
}

impl MemoryLeft {
    /// Asks the system for the memory left to this process; `None` when the system does not tell.
    pub fn of_this_process() -> Option<Self> {
        Self::told(&text)
    }

    /// The memory left in a system with these files.
    fn told(files: Files<'_>) -> Option<Self> {
        let own = Path::new("/proc/self");
        let (limits, status) = (files(&own.join("limits")), files(&own.join("status")));
        let process = [("Max address space", "VmSize"), ("Max data size", "VmData")].map(|(limit, used)| {
            let line = limits.lines().find_map(|line| line.strip_prefix(limit))?;
            // The first of the two is the limit in force; the other is how far the process may raise it.
            let most = line.split_whitespace().next()?.parse::<u64>().ok()?;
            Some((most.saturating_sub(kilobytes(&status, used)?), Bound::Process))
        });
        let group = Limits::told(files).memory_left_bytes.map(|bytes| (bytes, Bound::Group));
        let machine = kilobytes(&files(Path::new("/proc/meminfo")), "MemAvailable");
        let all = process.into_iter().chain([group, machine.map(|bytes| (bytes, Bound::Machine))]);
        all.flatten().min_by_key(|(bytes, _)| *bytes).map(|(bytes, bound)| Self { bytes, bound })
    }
}

impl Limits {
    /// Asks the system for the limits of this process.
    pub fn of_this_process() -> Self {
        Self::told(&text)
    }

    /// The limits that a system with these files sets.
    fn told(files: Files<'_>) -> Self {
        let (mut limits, top) = (Self::default(), Path::new("/sys/fs/cgroup"));
        for line in files(Path::new("/proc/self/cgroup")).lines() {
            let mut fields = line.splitn(3, ':').skip(1);
            let (Some(controllers), Some(path)) = (fields.next(), fields.next()) else { continue };
            if controllers.is_empty() {
                for group in upwards(top, path) {
                    limits.take_v2(files, &group);
                }
                continue;
            }
            for controller in controllers.split(',') {
                for group in upwards(&top.join(controller), path) {
                    limits.take_v1(files, &group);
                }
            }
        }
        limits
    }

    fn take_v2(&mut self, files: Files<'_>, group: &Path) {
        let text = files(&group.join("cpu.max"));
        let quota = text.split_once(' ').and_then(|(quota, period)| share(quota, period));
        self.cpu_quota = least(self.cpu_quota, quota);
        self.take_memory(files, group, ["memory.max", "memory.current", "inactive_file"]);
    }

    fn take_v1(&mut self, files: Files<'_>, group: &Path) {
        let quota = share(&files(&group.join("cpu.cfs_quota_us")), &files(&group.join("cpu.cfs_period_us")));
        self.cpu_quota = least(self.cpu_quota, quota);
        let names = ["memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"];
        self.take_memory(files, group, names);
    }

    fn take_memory(&mut self, files: Files<'_>, group: &Path, [limit, used, cache]: [&str; 3]) {
        let read = |name: &str| files(&group.join(name));
        let number = |text: &str| text.trim().parse::<u64>().ok();
        let Some(limit) = number(&read(limit)).filter(|limit| *limit < NO_LIMIT_BYTES) else { return };
        let stat = read("memory.stat");
        let cached = stat.lines().find_map(|line| number(line.strip_prefix(cache)?)).unwrap_or(0);
        let used = number(&read(used)).unwrap_or(0).saturating_sub(cached);
        self.memory_bytes = least(self.memory_bytes, Some(limit));
        self.memory_left_bytes = least(self.memory_left_bytes, Some(limit.saturating_sub(used)));
    }
}

/// A group's folder, and those of the groups above it up to `top`.
fn upwards(top: &Path, path: &str) -> Vec<PathBuf> {
    let own = top.join(path.trim_start_matches('/'));
    own.ancestors().take_while(|folder| folder.starts_with(top)).map(Path::to_owned).collect()
}

/// The text of a file of this system, empty if it cannot be read.
fn text(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_default()
}

/// The value of the line `name: value kB`, in bytes.
fn kilobytes(text: &str, name: &str) -> Option<u64> {
    let value = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
    value.trim().strip_suffix("kB")?.trim().parse::<u64>().ok().map(|kilobytes| kilobytes * 1024)
}

/// Microseconds of processor time in a period, as cores; none where they are not limited (`max`, or -1).
fn share(quota: &str, period: &str) -> Option<f64> {
    let number = |text: &str| text.trim().parse::<f64>().ok().filter(|us| *us > 0.0);
    Some(number(quota)? / number(period)?)
}

fn least<N: PartialOrd>(a: Option<N>, b: Option<N>) -> Option<N> {
    match (a, b) {
        (Some(a), Some(b)) => Some(if b < a { b } else { a }),
        (a, b) => a.or(b),
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    /// The answer of `ask` in a system with these files.
    fn asked<T>(files: &[(&str, &str)], ask: impl FnOnce(Files<'_>) -> T) -> T {
        let of = |path: &Path| files.iter().find(|(name, _)| Path::new("/").join(name) == path);
        ask(&|path| of(path).map_or_else(String::new, |(_, text)| (*text).to_owned()))
    }

    fn limits(files: &[(&str, &str)]) -> Limits {
        asked(files, Limits::told)
    }

    #[test]
    fn the_memory_that_is_left_is_what_the_tightest_limit_leaves() {
        const GROUP: (&str, &str) = ("proc/self/cgroup", "0::/jobs\n");
        const MOST: (&str, &str) = ("sys/fs/cgroup/jobs/memory.max", "9000\n");
        const STATUS: (&str, &str) = ("proc/self/status", "VmSize:\t  3 kB\nVmData:\t  2 kB\n");
        let left = |limits: &str, used: &str, available: &str| {
            let files = [
                GROUP,
                MOST,
                STATUS,
                ("proc/self/limits", limits),
                ("sys/fs/cgroup/jobs/memory.current", used),
                ("proc/meminfo", available),
            ];
            asked(&files, MemoryLeft::told).map(|left| (left.bytes, left.bound))
        };
        let (open, machine) = ("Max address space  unlimited  unlimited  bytes\n", "MemAvailable:  7 kB\n");
        assert_eq!(left(open, "0\n", machine), Some((7 * 1024, Bound::Machine)));
        assert_eq!(left(open, "8000\n", machine), Some((1_000, Bound::Group)));
        let space = "Max address space         4096       unlimited            bytes\n";
        assert_eq!(left(space, "0\n", machine), Some((1024, Bound::Process)));
        let data = "Max data size             2000       unlimited            bytes\n";
        assert_eq!(left(data, "0\n", machine), Some((0, Bound::Process)), "more than it may");
        assert_eq!(asked(&[("proc/other", "")], MemoryLeft::told), None);
    }

    #[test]
    fn the_group_that_leaves_least_decides_wherever_it_stands() {
        let found = limits(&[
            ("proc/self/cgroup", "0::/jobs/mine\n"),
            ("sys/fs/cgroup/jobs/mine/cpu.max", "max 100000\n"),
            ("sys/fs/cgroup/jobs/cpu.max", "150000 100000\n"),
            ("sys/fs/cgroup/jobs/mine/memory.max", "1000\n"),
            ("sys/fs/cgroup/jobs/mine/memory.current", "900\n"),
            ("sys/fs/cgroup/jobs/mine/memory.stat", "anon 600\ninactive_file 300\n"),
            ("sys/fs/cgroup/jobs/memory.max", "5000\n"),
            ("sys/fs/cgroup/jobs/memory.current", "4950\n"),
        ]);
        let wanted = Limits { cpu_quota: Some(1.5), memory_bytes: Some(1_000), memory_left_bytes: Some(50) };
        assert_eq!(found, wanted);
    }

    #[test]
    fn groups_of_the_first_version_are_understood() {
        let found = limits(&[
            ("proc/self/cgroup", "4:memory:/box\n2:cpu,cpuacct:/\n0::/\n"),
            ("sys/fs/cgroup/cpu/cpu.cfs_quota_us", "50000\n"),
            ("sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n"),
            ("sys/fs/cgroup/memory/box/memory.limit_in_bytes", "2000\n"),
            ("sys/fs/cgroup/memory/box/memory.usage_in_bytes", "700\n"),
            ("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n"),
        ]);
        let wanted =
            Limits { cpu_quota: Some(0.5), memory_bytes: Some(2_000), memory_left_bytes: Some(1_300) };
        assert_eq!(found, wanted);
    }

    #[test]
    fn where_nothing_is_limited_nothing_is_said() {
        assert_eq!(limits(&[("proc/self/cgroup", "0::/\n2:cpu:/\n")]), Limits::default());
    }
}
