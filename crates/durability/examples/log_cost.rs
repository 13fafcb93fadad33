//! What logging costs: TPC-C under a scheme with and without the log, by turns.
use durability::disk::{Directory, RealDirectory};
use durability::{Layouts, Log, LogSink, LoggedLoader, Options, Order, Store};
use engine::driver::{self, Control, Job, Limit};
use engine::setting::Values;
use engine::{
    AnyKey, Database, Drive, Env, Groups, Loader, Observe, Schema, Scheme, Share, TableId, Workload,
};
use std::path::Path;
use sync::{Arc, clock};
use workloads::tpcc::Tpcc;

struct Nowhere;
impl Loader for Nowhere {
    fn insert<G: Groups>(&mut self, _: G, _: G::Key, _: G::Rows<'_>) {}
}
struct Logged<'l, S: Scheme> {
    log: &'l Log,
    db: &'l Database<S>,
}
impl<S: Scheme> Observe for Logged<'_, S> {
    type Observer = ();
    type Sink = LogSink;
    fn observer(&self) {}
    fn sink(&self) -> LogSink {
        self.log.sink(self.db.tables())
    }
}
type S = schemes::optimistic::silo::Silo;
fn main() {
    let dir = std::env::args().nth(1).unwrap();
    let workers: usize = std::env::args().nth(2).unwrap().parse().unwrap();
    let given: Vec<(String, String)> = vec![("tpcc.warehouses".into(), workers.to_string())];
    let values = Values::new(Tpcc::SETTINGS, &given).unwrap();
    let of = Values::new(<S as Scheme>::SETTINGS, &[]).unwrap();
    let requests = 300_000;
    let mut ratios = vec![];
    for round in 0..5 {
        let mut rates = [0.0; 3];
        for mode in [0, 1, 2] {
            let mut schema = Schema::new();
            let drive = Drive { workers: workers as u32, clients: workers as u32, seed: 1 };
            let w = Tpcc::declare(&values, drive, &mut schema).unwrap();
            let db = Database::<S>::new(&schema, &of, Env { slots: 16, workers }).unwrap();
            let job = Job::new(workers, workers, Limit::Requests(requests), 1);
            db.load(&w, 2);
            if mode == 0 {
                let t = clock::now_ns();
                driver::run(&db, &w, &job, &Control::new(workers));
                rates[0] = (requests * workers as u64) as f64 / (clock::now_ns() - t) as f64 * 1e9;
                continue;
            }
            let path = Path::new(&dir).join(format!("log{mode}"));
            let _ = std::fs::remove_dir_all(&path);
            let d: Arc<dyn Directory> = Arc::new(RealDirectory::new(&path).unwrap());
            let order = if mode == 1 { Order::Ticks } else { Order::Counter };
            let options = Options { order, ..Options::default() };
            let running = Store::open(vec![Arc::clone(&d)], &Layouts::of(db.tables()), options.clone())
                .unwrap()
                .start()
                .unwrap()
                .spawn();
            let log = running.log().clone();
            let t0 = clock::now_ns();
            w.load(Share::WHOLE, &mut LoggedLoader::new(&log, &mut Nowhere));
            let load_s = (clock::now_ns() - t0) as f64 / 1e9;
            let before = log.written();
            let t = clock::now_ns();
            driver::observe(&db, &w, &job, &Control::new(workers), &Logged { log: &log, db: &db });
            let ns = clock::now_ns() - t;
            rates[mode] = (requests * workers as u64) as f64 / ns as f64 * 1e9;
            let after = log.written();
            if round == 0 {
                // Latency from commit to durable, while idle otherwise.
                let mut sink = log.plain_sink();
                let mut us: Vec<u64> = (0..500)
                    .map(|n| {
                        sink.open();
                        sink.write(TableId(0), Some(0), AnyKey::One(1 << 40 | n), None);
                        sink.close();
                        let t = clock::now_ns();
                        log.wait(sink.ticket()).unwrap();
                        (clock::now_ns() - t) / 1000
                    })
                    .collect();
                us.sort_unstable();
                println!(
                    "durable after p50 {} p99 {} us; load {load_s:.1}s; rounds {} in {:.2}s, {} MB",
                    us[250],
                    us[495],
                    after.0 - before.0,
                    ns as f64 / 1e9,
                    (after.1 - before.1) >> 20
                );
                drop(sink);
                running.close().unwrap();
                let t = clock::now_ns();
                let found = Store::open(vec![d], &Layouts::of(db.tables()), options).unwrap();
                let t1 = clock::now_ns();
                let fresh = Database::<S>::new(&schema, &of, Env { slots: 16, workers }).unwrap();
                let t2 = clock::now_ns();
                for n in [1, 2] {
                    let t2 = clock::now_ns();
                    let restored = found.restore(n, |_| |_: TableId, _: AnyKey, _: &[u64]| {}).unwrap();
                    println!(
                        "restore to nowhere by {n}: {restored:?} in {:.2}s",
                        (clock::now_ns() - t2) as f64 / 1e9
                    );
                }
                let t2b = clock::now_ns();
                let restored = found
                    .restore(1, |_| {
                        let mut l = fresh.word_loader();
                        move |t: TableId, k: AnyKey, g: &[u64]| l.insert(t, k, g)
                    })
                    .unwrap();
                println!(
                    "open {:.2}s restore by 1 {:.2}s {:?}",
                    (t1 - t) as f64 / 1e9,
                    (clock::now_ns() - t2b) as f64 / 1e9,
                    restored
                );
                let _ = t2;
                let rounds = found.start().unwrap();
                let running = rounds.spawn();
                let t3 = clock::now_ns();
                let made = running.log().checkpoint(1).unwrap();
                println!("checkpoint by 1: {made:?} in {:.2}s", (clock::now_ns() - t3) as f64 / 1e9);
            }
        }
        ratios.push(rates[1] / rates[0]);
        println!("{rates:.0?} ticks {:.3} counter {:.3}", rates[1] / rates[0], rates[2] / rates[0]);
    }
    ratios.sort_by(f64::total_cmp);
    println!("median {:.3}", ratios[2]);
}
