//! Capabilities that repeating an experiment can need. The list is closed, so that a test can ask which of them this
//! version has.

use runs::WORKLOADS;
use serde::de::Error;
use serde::{Deserialize, Deserializer};

use crate::Catalogue;

/// A capability that repeating an experiment needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Capability {
    name: &'static str,
    says: &'static str,
    told_by: ToldBy,
}

/// The test whether this version has a capability.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ToldBy {
    /// There is a scheme of this name.
    Scheme(&'static str),
    /// There is a workload of this name.
    Workload(&'static str),
    /// There is a setting of this name.
    Setting(&'static str),
    /// No test: this version has the capability, and every run can use it.
    Itself,
    /// No test: this version lacks the capability. Whoever adds the capability removes it from the list, and the
    /// entries that wait for it no longer parse.
    Nothing,
}

const fn wanted(name: &'static str, says: &'static str, told_by: ToldBy) -> Capability {
    Capability { name, says, told_by }
}

/// All capabilities except the names of workloads, which are capabilities, too.
const CAPABILITIES: &[Capability] = &[
    wanted("simulator", "more simulated cores than the recipes have", ToldBy::Nothing),
    wanted(
        "far_memory",
        "far memory that is placed by warehouse, or distances that were measured",
        ToldBy::Nothing,
    ),
    wanted("hardware_threads", "hardware threads that were measured", ToldBy::Nothing),
    wanted("caches", "caches that were measured", ToldBy::Nothing),
    wanted("tpce", "TPC-E with its analytic transaction", ToldBy::Workload("tpce")),
    wanted(
        "thread_aware_reordering",
        "reordering for the threads of an engine without a central validator",
        ToldBy::Setting("run.reorder"),
    ),
    wanted("replication", "replication", ToldBy::Nothing),
    wanted("phase_switching", "a scheme that switches phases", ToldBy::Scheme("star")),
    wanted("page_snapshots", "snapshots of pages on a device", ToldBy::Nothing),
    wanted("order_lengths", "orders of other lengths", ToldBy::Nothing),
    wanted(
        "lock_hold_times",
        "the time that locks are held, divided into computing and waiting",
        ToldBy::Nothing,
    ),
    wanted("memory_nodes", "a machine with several memory nodes", ToldBy::Nothing),
    wanted("beyond_memory", "data beyond memory", ToldBy::Nothing),
    wanted("log", "a log", ToldBy::Setting("run.durability")),
    wanted("terminals", "terminals with keying and think times", ToldBy::Setting("tpcc.terminals")),
    wanted("dialogues", "interactive transactions", ToldBy::Itself),
];

impl TryFrom<String> for Capability {
    type Error = String;

    fn try_from(name: String) -> Result<Self, String> {
        let known = CAPABILITIES.iter().find(|known| known.name == name).copied();
        let workload = || {
            let name = WORKLOADS.iter().find(|workload| workload.name == name)?.name;
            Some(wanted(name, name, ToldBy::Workload(name)))
        };
        known.or_else(workload).ok_or_else(|| {
            let names: Vec<&str> = CAPABILITIES.iter().map(|known| known.name).collect();
            format!("`{name}` is nothing to wait for: name one of {}, or a workload", names.join(", "))
        })
    }
}

impl<'de> Deserialize<'de> for Capability {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::try_from(String::deserialize(deserializer)?).map_err(D::Error::custom)
    }
}

impl Capability {
    /// Returns the name in the catalogue.
    pub const fn name(self) -> &'static str {
        self.name
    }

    /// Returns the description.
    pub const fn says(self) -> &'static str {
        self.says
    }

    /// Whether this version has the capability, so that no experiment waits for it.
    pub fn is_here(self, catalogue: Catalogue) -> bool {
        match self.told_by {
            ToldBy::Scheme(name) => catalogue.scheme(name).is_ok(),
            ToldBy::Workload(name) => catalogue.workload(name).is_ok(),
            ToldBy::Setting(name) => catalogue.setting(name).is_ok(),
            ToldBy::Itself => true,
            ToldBy::Nothing => false,
        }
    }
}

/// Returns several capabilities as text.
pub(super) fn all(capabilities: &[Capability]) -> String {
    capabilities.iter().map(|one| one.says()).collect::<Vec<_>>().join("; ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::registry::tests::catalogue;

    #[test]
    fn what_is_here_is_told_by_the_catalogues() {
        let is_here =
            |name: &str| Capability::try_from(name.to_owned()).map(|known| known.is_here(catalogue()));
        for name in ["tpcc", "smallbank", "log", "terminals", "dialogues"] {
            assert_eq!(is_here(name), Ok(true), "{name}");
        }
        for name in ["simulator", "replication", "phase_switching"] {
            assert_eq!(is_here(name), Ok(false), "{name}");
        }
        let says = is_here("simulater").expect_err("a closed list");
        assert!(says.contains("simulator") && says.contains("or a workload"), "{says}");
    }
}
