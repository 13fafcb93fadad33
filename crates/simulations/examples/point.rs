use engine::driver::{Estimate, Job, Limit};
use engine::setting::Values;
use schemes_sim::catalogue;
use sim::machine::{Machine, Placement};
use simulations::{SimulatedInstance, SimulationSpec};
fn of(name: &'static str) -> SimulatedInstance {
    let e = catalogue::entry(name).unwrap();
    match name {
        "silo" => SimulatedInstance::of::<schemes_sim::optimistic::silo::Silo>(e),
        "no_wait" => SimulatedInstance::of::<schemes_sim::locking::no_wait::NoWait>(e),
        _ => SimulatedInstance::of::<schemes_sim::partitioned::hstore::HStore>(e),
    }
}
fn main() {
    let a: Vec<String> = std::env::args().collect();
    let mut given: Vec<(String, String)> = a[6..]
        .iter()
        .map(|s| {
            let (k, v) = s.split_once('=').unwrap();
            (k.to_owned(), v.to_owned())
        })
        .collect();
    let info = workloads::catalogue::WORKLOADS.iter().find(|w| w.name == a[2]).unwrap();
    let known: Vec<_> = info.settings.iter().chain(engine::levers::SETTINGS).collect();
    given.retain(|(k, _)| known.iter().any(|s| s.name == k));
    let values = Values::new(known, &given).unwrap();
    let machine = Machine::read(Machine::of_name(&a[1]).unwrap(), "m").unwrap();
    for cores in a[4].split(',') {
        let workers: usize = cores.parse().unwrap();
        let n: u64 = a[5].parse().unwrap();
        for s in a[3].split(',') {
            let s: &'static str = s.to_owned().leak();
            let i = of(s);
            let limit = Limit::Estimate(Estimate {
                warmup_commits: n / 2,
                commits: n,
                error: 0.03,
                patience: 4,
                longest_ns: 10_000_000_000,
            });
            let mut job = Job::new(workers, workers, limit, 1);
            job.sample_every = 16;

            let look: u64 = std::env::var("LOOK").ok().and_then(|s| s.parse().ok()).unwrap_or(0);
            let spec = SimulationSpec {
                workload: info.name,
                values: &values,
                job,
                layout: Default::default(),
                machine: &machine,
                placement: Placement::CoresFirst,
                lookahead_ps: look,
                check: true,
            };
            let r = match i.run(&spec) {
                Ok(r) => r,
                Err(e) => {
                    println!("{s}: {e}");
                    continue;
                }
            };
            let m = &r.measured;
            let c: u64 = m.types.iter().map(|t| t.commits).sum();
            let ab: u64 = m.types.iter().map(|t| t.aborts.iter().sum::<u64>()).sum();
            let sp = &r.spent;
            let tot =
                (sp.private + sp.l3 + sp.memory + sp.coherence + sp.numa + sp.contention) as f64 / 100.0;
            println!(
                "{s:16} {workers:5} {:9.3} M/s +-{:.3} abort {:.3} {:?} virt {:.2} ms (warm {:.2}), host {:.1} s load {:.1}, {:.2} M acc/s {:.0} acc/att sw {:.2} parks {} to {}",
                c as f64 * 1e3 / m.measured_ns as f64,
                m.series.half_width().unwrap_or(9.0),
                ab as f64 / (ab + c) as f64,
                m.verdict,
                m.measured_ns as f64 / 1e6,
                m.series.warmup_ns as f64 / 1e6,
                r.host_ns as f64 / 1e9,
                m.load_ns as f64 / 1e9,
                r.counts.accesses as f64 * 1e3 / r.host_ns as f64,
                r.counts.accesses as f64 / (c + ab) as f64,
                r.counts.switches as f64 / r.counts.accesses as f64,
                r.counts.parks,
                r.counts.timeouts
            );
            println!(
                "      {}",
                r.hottest
                    .iter()
                    .map(|h| format!("{} {:.1}%", h.name, h.share * 100.0))
                    .collect::<Vec<_>>()
                    .join("; ")
            );
            println!(
                "      private {:.0}% l3 {:.0}% mem {:.0}% coh {:.0}% numa {:.0}% cont {:.0}%   phases {:?}",
                sp.private as f64 / tot,
                sp.l3 as f64 / tot,
                sp.memory as f64 / tot,
                sp.coherence as f64 / tot,
                sp.numa as f64 / tot,
                sp.contention as f64 / tot,
                m.phase_ticks.map(|t| (t as f64 * 100.0 / m.phase_ticks.iter().sum::<u64>() as f64) as u64)
            );
        }
    }
}
