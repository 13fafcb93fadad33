//! The cost of monomorphisation: the machine code that each pair of scheme and workload adds to the
//! release binary, and the seconds to build the crate `instances`, which contains all pairs that runs measure.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::time::Instant;

use object::{Object, ObjectSymbol, SymbolKind};

use crate::house::{Checked, House, added_flags, run};

/// Bytes of code by (scheme, workload).
type Sizes = BTreeMap<(String, String), u64>;

/// The group of code that does not belong to exactly one scheme or exactly one workload.
const SHARED: &str = "(shared)";

/// Builds the binary with symbol names that contain type arguments, and prints the table.
pub(crate) fn bloat(house: &House) -> Checked {
    let (members, target) = house.members()?;
    let package = |folder: &str| {
        let member = members.iter().find(|member| member.folder.ends_with(folder));
        member
            .map(|member| member.name.as_str())
            .ok_or_else(|| format!("{folder} is no package of the workspace"))
    };
    let (cli, instances) = (package("crates/cli")?, package("crates/instances")?);
    let target = target.join("bloat");
    // Only this mangling keeps the type arguments in a name, and with them the scheme and the
    // workload.
    let flags = added_flags("RUSTFLAGS", "-C symbol-mangling-version=v0");
    let cargo =
        |args: &[&str]| run(house.cargo(args).env("RUSTFLAGS", &flags).env("CARGO_TARGET_DIR", &target));
    cargo(&["build", "--release", "--package", cli, "--bin", "contend"])?;
    cargo(&["clean", "--release", "--package", instances])?;
    let start = Instant::now();
    cargo(&["build", "--release", "--package", instances])?;
    let seconds = start.elapsed().as_secs_f64();
    let binary = target.join("release").join(format!("contend{}", std::env::consts::EXE_SUFFIX));
    print!("{}", table(&sizes(&binary)?, seconds));
    Ok(())
}

/// Sums the sizes of the functions of a binary by pair.
fn sizes(binary: &Path) -> Result<Sizes, String> {
    let cannot = |e: &dyn std::fmt::Display| format!("cannot read {}: {e}", binary.display());
    let bytes = fs::read(binary).map_err(|e| cannot(&e))?;
    let file = object::File::parse(&*bytes).map_err(|e| cannot(&e))?;
    let mut sizes = Sizes::new();
    // Two names at one address are one function that the linker folded. The function is counted once.
    let mut seen = BTreeSet::new();
    for symbol in file.symbols().filter(|symbol| symbol.kind() == SymbolKind::Text && symbol.size() > 0) {
        if seen.insert(symbol.address()) {
            let name = symbol.name().map_err(|e| cannot(&e))?;
            let name = format!("{:#}", rustc_demangle::demangle(name));
            *sizes.entry(pair(&name)).or_default() += symbol.size();
        }
    }
    if sizes.is_empty() {
        return Err(cannot(&"its symbol table gives no sizes; measure on a system with ELF binaries"));
    }
    Ok(sizes)
}

/// Returns the scheme and the workload for which a function is instantiated. A name that contains
/// several schemes, such as the dispatch among them, belongs to none.
fn pair(name: &str) -> (String, String) {
    let only = |mut all: BTreeSet<String>| match all.len() {
        1 => all.pop_first().unwrap_or_default(),
        _ => SHARED.to_owned(),
    };
    let schemes =
        below(name, "schemes", 2).chain(below(name, "schemes_sim", 2).map(|scheme| scheme + " (sim)"));
    let workloads = below(name, "workloads", 1).chain(below(name, "workloads_sim", 1));
    (only(schemes.collect()), only(workloads.collect()))
}

/// Returns the modules `depth` levels below a crate that a name mentions: `schemes::FAMILY::NAME::..`.
fn below(name: &str, root: &str, depth: usize) -> impl Iterator<Item = String> {
    let root = format!("{root}::");
    let is_name = |c: char| c.is_alphanumeric() || c == '_';
    name.match_indices(&root)
        .filter(|(at, _)| !name[..*at].ends_with(is_name))
        .filter_map(|(at, _)| {
            let path = name[at + root.len()..].split(|c: char| !is_name(c) && c != ':').next()?;
            let mut parts = path.split("::");
            let module = parts.nth(depth - 1)?;
            // A type or function directly below the root is not a module, even before type arguments:
            // `with::<T>`.
            parts.next().filter(|below| !below.is_empty()).map(|_| module.to_owned())
        })
        .collect::<Vec<_>>()
        .into_iter()
}

/// Formats the table: a row for each scheme, a column for each workload, in KiB. Seconds are divided
/// by size.
fn table(sizes: &Sizes, seconds: f64) -> String {
    let schemes: BTreeSet<&str> = sizes.keys().map(|(scheme, _)| scheme.as_str()).collect();
    let schemes: Vec<&str> = schemes.into_iter().filter(|scheme| *scheme != SHARED).collect();
    let workloads: BTreeSet<&String> = sizes.keys().map(|(_, workload)| workload).collect();
    let all_of =
        |scheme: &str| sizes.iter().filter(|((of, _), _)| of == scheme).map(|(_, size)| size).sum::<u64>();
    let of_schemes: u64 = schemes.iter().map(|scheme| all_of(scheme)).sum();
    let row = |scheme: &str| {
        let size = |workload: &&String| sizes.get(&(scheme.to_owned(), (*workload).clone())).copied();
        let mut cells: Vec<String> =
            workloads.iter().map(|workload| kib(size(workload).unwrap_or_default())).collect();
        cells.push(kib(all_of(scheme)));
        if scheme != SHARED {
            cells.push(format!("{:.1}", seconds * all_of(scheme) as f64 / of_schemes as f64));
        }
        line(scheme, &cells)
    };
    let head: Vec<String> =
        workloads.iter().copied().cloned().chain(["all".into(), "build s".into()]).collect();
    let rows: String = schemes.iter().copied().chain([SHARED]).map(row).collect();
    let (all, of_schemes) = (kib(sizes.values().sum()), kib(of_schemes));
    format!(
        "{}{rows}\n{all} KiB of code in all, {of_schemes} of them in instances of schemes. The crate `instances` \
         builds in {seconds:.1} s\nonce its dependencies are built; `build s` shares these seconds out by size.\n",
        line("KiB of code", &head)
    )
}

fn kib(bytes: u64) -> String {
    format!("{:.1}", bytes as f64 / 1024.0)
}

fn line(name: &str, cells: &[String]) -> String {
    let cells: Vec<String> = cells.iter().map(|cell| format!("{cell:>12}")).collect();
    format!("{name:<20}{}\n", cells.concat())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_tells_scheme_and_workload() {
        let name = "<engine::driver::per_worker::PerWorker as engine::Driver<schemes::optimistic::silo::Silo>>\
                    ::run::<workloads::tpcc::Tpcc, ()>";
        assert_eq!(pair(name), ("silo".to_owned(), "tpcc".to_owned()));
        let simulated = "engine_sim::run::<schemes_sim::two_phase::TwoPhase<\
                         schemes_sim::locking::no_wait::AbortAtOnce>, workloads_sim::ycsb::Ycsb>";
        assert_eq!(pair(simulated), ("no_wait (sim)".to_owned(), "ycsb".to_owned()));
    }

    #[test]
    fn a_name_with_no_or_several_schemes_is_shared() {
        assert_eq!(pair("core::fmt::write"), (SHARED.to_owned(), SHARED.to_owned()));
        assert_eq!(pair("f::<schemes::a::b::B, schemes::a::c::C>").0, SHARED);
        assert_eq!(pair("f::<myschemes::a::b::B>").0, SHARED);
        assert_eq!(pair("schemes::catalogue::names").0, SHARED);
        assert_eq!(pair("schemes::catalogue::with::<runs::Run<workloads::tpcc::Tpcc>>").0, SHARED);
    }

    #[test]
    fn seconds_are_shared_out_by_size() {
        let pair = |scheme: &str, size| ((scheme.to_owned(), "tpcc".to_owned()), size);
        let text = table(&Sizes::from([pair("silo", 3072), pair("mvto", 1024), pair(SHARED, 9999)]), 8.0);
        let row =
            |scheme: &str| text.lines().find(|line| line.starts_with(scheme)).expect("a row").to_owned();
        assert_eq!(row("silo").split_whitespace().collect::<Vec<_>>(), ["silo", "3.0", "3.0", "6.0"]);
        assert_eq!(row("mvto").split_whitespace().last(), Some("2.0"));
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn functions_of_a_real_binary_are_found() {
        let binary = std::env::current_exe().expect("a test knows its binary");
        let sizes = sizes(&binary).expect("a test binary has symbols");
        assert!(sizes.values().sum::<u64>() > 10_000);
    }
}
