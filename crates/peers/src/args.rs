//! The command line.

use std::path::PathBuf;

use clap::{Parser, Subcommand, ValueEnum};
use peers::peer::Durability;
use peers::{tpcc, ycsb};

/// Measures other stores beside Contend, on the same workloads.
#[derive(Debug, Parser)]
#[command(name = "peers", version)]
pub(crate) struct Args {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Runs a workload on stores in turns.
    Run(Run),
    /// Lists the stores, with what each gives for each durability.
    List,
}

/// The arguments of `run`.
#[derive(Debug, clap::Args)]
pub(crate) struct Run {
    /// The workload.
    #[arg(long, value_enum)]
    pub(crate) workload: WorkloadName,
    /// The stores, separated by commas [default: all of this build; `postgres` where `--postgres` is given]
    #[arg(long, value_delimiter = ',')]
    pub(crate) peers: Vec<String>,
    /// Durability of a commit after its return: none, async (with the operating system), group (on the device).
    #[arg(long, default_value = "none", value_parser = durability)]
    pub(crate) durability: Durability,
    /// Threads that execute transactions.
    #[arg(long, default_value_t = 2)]
    pub(crate) workers: u32,
    /// Seconds measured in each turn.
    #[arg(long, default_value_t = 3.0)]
    pub(crate) seconds: f64,
    /// Seconds before, which are not measured.
    #[arg(long, default_value_t = 0.5)]
    pub(crate) warmup: f64,
    /// Turns of each store.
    #[arg(long, default_value_t = 5)]
    pub(crate) rounds: u32,
    /// The same seed makes the same requests, rows and order of turns.
    #[arg(long, default_value_t = 1)]
    pub(crate) seed: u64,
    /// A folder for the stores' files, removed after each turn [default: a temporary one]
    #[arg(long)]
    pub(crate) dir: Option<PathBuf>,
    /// Where a server of `PostgreSQL` is: `host=/run/x user=contend dbname=contend`. Its tables are dropped.
    #[arg(long)]
    pub(crate) postgres: Option<String>,
    /// How to print.
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub(crate) format: Format,

    /// ycsb: rows [default: 100000]
    #[arg(long)]
    records: Option<u64>,
    /// ycsb: bytes of a row, 100 or 1000 [default: 1000]
    #[arg(long)]
    row_bytes: Option<usize>,
    /// ycsb: operations of a transaction [default: 10]
    #[arg(long)]
    ops: Option<usize>,
    /// ycsb: percentage of operations that are updates [default: 50]
    #[arg(long)]
    update_pct: Option<u64>,
    /// ycsb: exponent of Zipf's distribution, 0 for uniform [default: 0.99]
    #[arg(long)]
    theta: Option<f64>,
    /// tpcc: warehouses [default: 1]
    #[arg(long)]
    warehouses: Option<u16>,
}

/// A workload.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum WorkloadName {
    /// Reads and updates of single rows.
    Ycsb,
    /// A wholesale supplier.
    Tpcc,
}

/// The output format of results.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// A table.
    Text,
    /// A JSON object a line: one for each turn, one for each store.
    Json,
}

fn durability(text: &str) -> Result<Durability, String> {
    Durability::ALL
        .into_iter()
        .find(|durability| durability.name() == text)
        .ok_or_else(|| "take none, async or group".to_owned())
}

impl Run {
    /// Returns the settings of YCSB.
    pub(crate) fn ycsb(&self) -> Result<ycsb::Settings, String> {
        if self.warehouses.is_some() {
            return Err("`--warehouses` is for `--workload tpcc`: leave it out".to_owned());
        }
        let standard = ycsb::Settings::default();
        Ok(ycsb::Settings {
            records: self.records.unwrap_or(standard.records),
            row_bytes: self.row_bytes.unwrap_or(standard.row_bytes),
            ops: self.ops.unwrap_or(standard.ops),
            update_pct: self.update_pct.unwrap_or(standard.update_pct),
            theta: self.theta.unwrap_or(standard.theta),
            seed: self.seed,
        })
    }

    /// Returns the settings of TPC-C.
    pub(crate) fn tpcc(&self) -> Result<tpcc::Settings, String> {
        let of_ycsb = [
            ("--records", self.records.is_some()),
            ("--row-bytes", self.row_bytes.is_some()),
            ("--ops", self.ops.is_some()),
            ("--update-pct", self.update_pct.is_some()),
            ("--theta", self.theta.is_some()),
        ];
        if let Some((name, _)) = of_ycsb.into_iter().find(|(_, is_given)| *is_given) {
            return Err(format!("`{name}` is for `--workload ycsb`: leave it out"));
        }
        let standard = tpcc::Settings::default();
        Ok(tpcc::Settings {
            warehouses: self.warehouses.unwrap_or(standard.warehouses),
            clients: self.workers,
            seed: self.seed,
            ..standard
        })
    }
}
