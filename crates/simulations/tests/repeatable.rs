//! A simulated run is a function of its settings, whatever else the process has done.

use std::panic::{catch_unwind, resume_unwind};
use std::sync::Mutex;

use engine::driver::{Job, Limit};
use engine::setting::Values;
use schemes_sim::catalogue;
use schemes_sim::deterministic::calvin::Calvin;
use schemes_sim::multiversion::mvto::Mvto;
use schemes_sim::optimistic::silo::Silo;
use sim::machine::{Machine, MemoryPolicy, Placement};
use simulations::{FirstRows, Simulated, SimulatedInstance, SimulationSpec};
use sync_sim::heap;

/// The tests count the heaps of the process, so one runs at a time.
static ALONE: Mutex<()> = Mutex::new(());

/// A run on eight cores whose requests meet at a few rows.
fn simulated(scheme: SimulatedInstance, name: &str, given: &[(&str, &str)]) -> Simulated {
    let info = workloads::catalogue::WORKLOADS.iter().find(|info| info.name == name).expect("it is there");
    let given: Vec<_> = given.iter().map(|&(name, text)| (name.to_owned(), text.to_owned())).collect();
    let known = info.settings.iter().chain(engine::levers::SETTINGS);
    let machine = Machine::read(Machine::of_name("epyc").expect("it is there"), "epyc").expect("legal");
    let spec = SimulationSpec {
        workload: name,
        values: &Values::new(known, &given).expect("legal"),
        job: Job::new(8, 8, Limit::Requests(60), 1),
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
    let _alone = ALONE.lock();
    let schemes = [
        SimulatedInstance::of::<Silo>(catalogue::entry("silo").expect("it is there")),
        SimulatedInstance::of::<Mvto>(catalogue::entry("mvto").expect("it is there")),
        SimulatedInstance::of::<Calvin>(catalogue::entry("calvin").expect("it is there")),
    ];
    let tpcc = [("tpcc.warehouses", "2"), ("tpcc.items", "200"), ("tpcc.customers_per_district", "60")];
    let ycsb = [("ycsb.records", "1000")];
    for scheme in schemes {
        for (workload, given) in [("tpcc", &tpcc[..]), ("ycsb", &ycsb[..])] {
            let first = figures(&simulated(scheme, workload, given));
            // Pieces of many sizes, half of which the allocator may hand out again.
            let mut kept: Vec<Vec<u8>> = (1..4_000).map(|bytes| vec![1; bytes]).collect();
            let mut at = 0;
            kept.retain(|_| {
                at += 1;
                at % 2 == 0
            });
            let second = figures(&simulated(scheme, workload, given));
            assert_eq!(first, second, "{} {workload}", scheme.name());
        }
    }
    assert_eq!(heap::count(), 0, "the memory of all runs was given back");
}

#[test]
fn pieces_of_a_heap_keep_their_distances_their_alignment_and_their_content() {
    let _alone = ALONE.lock();
    let layout = || {
        let mut pieces: Vec<Vec<u64>> = Vec::new();
        for round in 0..4_usize {
            pieces.extend((0..60).map(|size| vec![(round * 60 + size) as u64; size * size + 1]));
            pieces.extend((15..22).map(|power| vec![0; 1 << power]));
            // The next round gets some of these again, and others grow and shrink.
            let mut at = 0;
            pieces.retain(|_| {
                at += 1;
                at % 3 > 0
            });
            pieces.iter_mut().step_by(5).for_each(|piece| piece.extend_from_within(..piece.len() / 2));
            pieces.iter_mut().step_by(7).for_each(Vec::shrink_to_fit);
        }
        for piece in &pieces {
            assert!(piece.iter().all(|word| *word == piece[0]), "{} words", piece.len());
            assert!(vec![0_u64; piece.len()].iter().all(|word| *word == 0), "zero memory is zero");
        }
        let mut all: Vec<_> = pieces.iter().map(|piece| piece.as_ptr_range()).collect();
        let first = all[0].start.addr();
        let starts: Vec<_> = all.iter().map(|piece| piece.start.addr().wrapping_sub(first)).collect();
        all.sort_by_key(|piece| piece.start);
        assert!(all.windows(2).all(|two| two[0].end <= two[1].start), "pieces are disjoint");
        heap::outside(|| starts.clone())
    };
    let first = heap::within(layout);
    let mut lines = Vec::new();
    heap::within(|| {
        #[repr(align(128))]
        struct Line(u8);
        for number in 0..9 {
            heap::outside(|| lines.reserve(1));
            lines.push((Box::new(Line(number)), Box::new(number)));
        }
    });
    assert!(lines.iter().all(|(line, _)| core::ptr::from_ref(&**line).addr() % 128 == 0 && line.0 < 9));
    assert_eq!(heap::count(), 1, "somebody still has pieces");
    assert_eq!(heap::within(layout), first);
    drop(lines);
    assert_eq!(heap::count(), 0);
}

#[test]
fn a_panic_ends_a_simulation_and_another_one_may_begin() {
    let _alone = ALONE.lock();
    // What has no message, for what collects messages would keep pieces.
    let panic = catch_unwind(|| heap::within(|| resume_unwind(Box::new(1_u8))));
    assert!(panic.is_err() && heap::count() == 1);
    drop(panic);
    assert_eq!(heap::count(), 0);
    heap::within(|| assert_eq!(heap::count(), 1));
    assert_eq!(heap::count(), 0);
}
