//! The machine that a run was made on, and its state.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The known facts about a machine. Nothing identifies its owner.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, JsonSchema, Serialize)]
#[serde(default)]
pub struct Machine {
    /// Bytes of the last-level cache; 0 if unknown.
    pub cache_bytes: u64,
    /// The caches of the first core of the process, the nearest first.
    pub caches: Vec<Cache>,
    /// The clock source from which the system reads the time; empty if unknown.
    pub clock_source: String,
    /// Cores that the process may use.
    pub cores: u64,
    /// The processor's name.
    pub cpu: String,
    /// Processor time that the control group of the process may use, in cores; `null` if it is not limited.
    pub cpu_quota: Option<f64>,
    /// The frequency governor of the cores; empty if there is none, as under most hypervisors.
    pub governor: String,
    /// The setting of transparent huge pages in the system: `always`, `madvise` or `never`; empty if unknown.
    pub huge_pages: String,
    /// The operating system and its version.
    pub kernel: String,
    /// The mean number of runnable threads in the last minute before the run. Conclusions from several runs leave it
    /// out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub load_average: Option<f64>,
    /// Bytes of memory that were available before the run. Conclusions from several runs leave it out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory_available_bytes: Option<u64>,
    /// Bytes of main memory; 0 if unknown.
    pub memory_bytes: u64,
    /// Bytes of memory that the control group of the process may use; `null` if it is not limited.
    pub memory_limit_bytes: Option<u64>,
    /// Whether the system moves pages to the memory nodes of the threads that use them, which causes noise in figures.
    #[serde(rename = "numa_balancing")]
    pub is_numa_balanced: bool,
    /// Memory nodes to which the cores of the process belong; 0 if unknown.
    pub numa_nodes: u64,
    /// Physical cores to which the cores of the process (hardware threads) belong; 0 if unknown.
    pub physical_cores: u64,
    /// Hardware threads of a core; 0 if unknown.
    pub threads_per_core: u64,
    /// Whether the machine runs under a hypervisor.
    #[serde(rename = "virtual")]
    pub is_virtual: bool,
}

/// A cache of a core.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Eq, JsonSchema, Serialize)]
#[serde(default)]
pub struct Cache {
    /// The size in bytes.
    pub bytes: u64,
    /// The kind of contents: `data`, `instruction` or `unified`.
    pub kind: String,
    /// The level, from 1.
    pub level: u64,
    /// The number of hardware threads that share the cache.
    pub shared_by: u64,
}

impl Machine {
    /// Returns the machine without its load and its free memory, which differ from run to run on the same machine.
    #[must_use]
    pub fn lasting(&self) -> Self {
        Self { load_average: None, memory_available_bytes: None, ..self.clone() }
    }

    /// Whether anything is known about the machine.
    pub fn is_known(&self) -> bool {
        *self != Self::default()
    }
}
