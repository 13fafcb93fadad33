//! A simulated run is a function of its settings, whatever else the process has done.

use engine::driver::{Job, Limit};
use engine::setting::Values;
use schemes_sim::catalogue;
use schemes_sim::deterministic::calvin::Calvin;
use schemes_sim::multiversion::hekaton_locking::HekatonLocking;
use schemes_sim::multiversion::mvto::Mvto;
use schemes_sim::optimistic::silo::Silo;
use sim::machine::{Machine, MemoryPolicy, Placement};
use simulations::{FirstRows, Simulated, SimulatedInstance, SimulationSpec};
use sync_sim::heap;

/// A run on eight cores with so many clients, whose requests meet at a few rows.
fn simulated(scheme: SimulatedInstance, clients: usize, name: &str, given: &[(&str, &str)]) -> Simulated {
    let info = workloads::catalogue::WORKLOADS.iter().find(|info| info.name == name).expect("it is there");
    let given: Vec<_> = given.iter().map(|&(name, text)| (name.to_owned(), text.to_owned())).collect();
    let known = info.settings.iter().chain(engine::levers::SETTINGS);
    let machine = Machine::read(Machine::of_name("epyc").expect("it is there"), "epyc").expect("legal");
    let spec = SimulationSpec {
        workload: name,
        values: &Values::new(known, &given).expect("legal"),
        job: Job::new(8, clients, Limit::Requests(60), 1),
        layout: runs::Layout::default(),
        machine: &machine,
        placement: Placement::CoresFirst,
        memory: MemoryPolicy::Interleaved,
        lookahead_ps: 0,
        rows: FirstRows::Loaded,
        check: true,
    };
    scheme.run(&spec).expect("legal")
}

/// All of a run that does not depend on the host.
fn figures(simulated: &Simulated) -> String {
    let Simulated { measured, counts, spent, hottest, hot_parts, .. } = simulated;
    let (types, phases, ns) = (&measured.types, &measured.phase_ticks, measured.measured_ns);
    format!("{ns} {types:?} {phases:?} {counts:?} {spent:?} {hottest:?} {hot_parts:?}")
}

#[test]
fn a_run_repeats_itself_whatever_the_process_did_before() {
    let schemes = [
        SimulatedInstance::of::<Silo>(catalogue::entry("silo").expect("it is there")),
        SimulatedInstance::of::<Mvto>(catalogue::entry("mvto").expect("it is there")),
        SimulatedInstance::of::<HekatonLocking>(catalogue::entry("hekaton_locking").expect("it is there")),
        SimulatedInstance::of::<Calvin>(catalogue::entry("calvin").expect("it is there")),
    ];
    let tpcc = [("tpcc.warehouses", "2"), ("tpcc.items", "200"), ("tpcc.customers_per_district", "60")];
    let ycsb = [("ycsb.records", "1000")];
    for scheme in schemes {
        for (clients, workload, given) in
            [(8, "tpcc", &tpcc[..]), (8, "ycsb", &ycsb[..]), (80, "ycsb", &ycsb[..])]
        {
            let first = figures(&simulated(scheme, clients, workload, given));
            // Pieces of many sizes, half of which the allocator may hand out again.
            let mut kept: Vec<Vec<u8>> = (1..4_000).map(|bytes| vec![1; bytes]).collect();
            let mut at = 0;
            kept.retain(|_| {
                at += 1;
                at % 2 == 0
            });
            let second = figures(&simulated(scheme, clients, workload, given));
            assert_eq!(first, second, "{} {workload}, {clients} clients", scheme.name());
        }
    }
    assert_eq!(heap::count(), 0, "the memory of all runs was given back");
}
