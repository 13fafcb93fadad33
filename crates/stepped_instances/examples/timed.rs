use std::rc::Rc;
use std::time::Instant;

use engine_sim::driver::{self, Control, Job, Limit};
use engine_sim::setting::{Settings, Values};
use engine_sim::{Database, Drive, Env, Facts, Schema, Scheme, Workload, levers};
use schemes_sim::catalogue;
use sim::machine::Machine;
use sim::Timed;
use sync_sim::hook;
use workloads_sim::tpcc::Tpcc;
use workloads_sim::ycsb::{ShortKey, Ycsb};

struct Args { workload: String, cores: usize, txns: u64, lookahead: u64, set: Vec<(String, String)> }

struct Go<'a>(&'a Args);

impl catalogue::Visit for Go<'_> {
    type Out = ();
    fn visit<S: Scheme>(self) {
        match self.0.workload.as_str() {
            "tpcc" => run::<S, Tpcc>(self.0),
            _ => run::<S, Ycsb<ShortKey>>(self.0),
        }
    }
}

fn run<S: Scheme, W: Workload>(args: &Args) {
    let known = S::Settings::ALL.iter().chain(W::SETTINGS).chain(levers::SETTINGS);
    let values = Values::new(known, &args.set).unwrap();
    let workers = args.cores;
    let facts = Facts::under::<S>(&values);
    let clients = facts.clients(workers);
    let drive = Drive { workers: workers as u32, clients: clients as u32, seed: 1 };
    let mut schema = Schema::new();
    let w = W::declare(&values, drive, &mut schema).unwrap();
    let db = Database::<S>::new(&schema, &values, Env { slots: clients + workers, workers }).unwrap();
    let machine = Machine::hpe();
    let timed = Rc::new(Timed::new(&machine, workers, args.lookahead));
    hook::install(Some(timed.clone()));
    let t = Instant::now();
    db.load(&w, 1);
    let load = t.elapsed();
    timed.start();
    let job = Job { sample_every: 0, ..Job::new(workers, clients, Limit::Requests(args.txns), 1) };
    let t = Instant::now();
    let out = driver::run(&db, &w, &job, &Control::new(workers));
    let el = t.elapsed().as_secs_f64();
    let commits: u64 = out.types.iter().map(|t| t.commits).sum();
    let aborts: u64 = out.types.iter().map(|t| t.aborts.iter().sum::<u64>()).sum();
    let (c, spent) = timed.counts();
    println!("{} {} cores {}: {:.3} M txn/s, abort rate {:.3}, {} ns; load {:.1}s run {:.1}s; {:.2} M acc/s, {:.0} acc/txn, switches {:.2}/acc parks {} timeouts {} \n  {}",
        S::INFO.name, args.workload, workers, commits as f64 * 1e3 / out.measured_ns as f64, aborts as f64 / (aborts + commits) as f64, out.measured_ns,
        load.as_secs_f64(), el, c.accesses as f64 / el / 1e6, c.accesses as f64 / (commits+aborts) as f64, c.switches as f64 / c.accesses as f64, c.parks, c.timeouts, spent);
    hook::install(None);
}

fn main() {
    let a: Vec<String> = std::env::args().collect();
    let set = a[6..].iter().map(|s| { let (k, v) = s.split_once('=').unwrap(); (k.to_owned(), v.to_owned()) }).collect();
    for cores in a[3].split(',') {
        let args = Args { workload: a[2].clone(), cores: cores.parse().unwrap(), txns: a[4].parse().unwrap(), lookahead: a[5].parse().unwrap(), set: Vec::clone(&set) };
        for s in a[1].split(',') { catalogue::with(s, Go(&args)); }
    }
}
