//! Tests of time: what loops cost on simulated machines is what the machines' constants say.

use std::cell::Cell;
use std::rc::Rc;

use sim::machine::{Machine, MemoryPolicy, Placement};
use sim::{Spent, StuckWorkers, Timed, TimedCounts};
use sync_sim::atomic::{AtomicU64, Ordering};
use sync_sim::fiber::{Crew, STACK_BYTES};
use sync_sim::{Latched, Padded, VersionLatch, clock, hint, waiter, words, workers};

fn machine(name: &str) -> Machine {
    Machine::read(Machine::of_name(name).expect("a machine of the program"), name).expect("correct")
}

/// The machine of the many-core study.
fn hpe() -> Machine {
    machine("hpe-superdome-flex")
}

/// Runs workers in simulated time: their results, and the counts.
fn timed<T: Send>(
    machine: &Machine,
    placement: Placement,
    count: usize,
    f: impl Fn(usize) -> T + Sync,
) -> (Vec<T>, TimedCounts, Spent) {
    let timed = Rc::new(Timed::new(machine, placement, count, 0));
    timed.start();
    let results = timed.run(|| workers::run(count, false, f));
    let (counts, spent) = timed.counts();
    (results, counts, spent)
}

/// Nanoseconds from now until the end of `work`.
fn lasts_ns(work: impl FnOnce()) -> u64 {
    let start_ns = clock::now_ns();
    work();
    clock::now_ns() - start_ns
}

fn assert_near(found: f64, expected: f64, tolerance: f64) {
    assert!((found / expected - 1.0).abs() <= tolerance, "{found:.1}, expected about {expected:.1}");
}

/// Lines of memory, each of which has one word.
fn lines(count: usize) -> Vec<Padded<AtomicU64>> {
    (0..count).map(|_| Padded::default()).collect()
}

#[test]
fn the_same_program_takes_the_same_time_to_the_last_step() {
    // The same lines each time: their addresses decide in which socket's memory they are.
    let shared = lines(8);
    let once = || {
        let work = |worker: usize| {
            for turn in 0..200 {
                // Relaxed: steps are sequentially consistent, here as in all tests of this file.
                shared[(worker + turn) % 8].fetch_add(1, Ordering::Relaxed);
            }
            clock::now_ns()
        };
        let (ends, counts, spent) = timed(&hpe(), Placement::CoresFirst, 100, work);
        (ends, counts.accesses, counts.switches, spent.accesses())
    };
    assert_eq!(once(), once());
}

#[test]
fn no_update_is_lost_whatever_the_number_of_workers() {
    // A load and a store under a latch: an order in which two workers hold the latch loses an update.
    let (latch, sum) = (VersionLatch::new(), AtomicU64::new(0));
    timed(&hpe(), Placement::CoresFirst, 1_568, |_| {
        for _ in 0..3 {
            let held = latch.lock();
            let seen = sum.load(Ordering::Relaxed);
            sum.store(seen + 1, Ordering::Relaxed);
            drop(held);
        }
    });
    assert_eq!(sum.into_inner(), 3 * 1_568);
}

#[test]
fn an_access_happens_at_its_time_and_not_before() {
    let flag = AtomicU64::new(0);
    let (seen, ..) = timed(&hpe(), Placement::CoresFirst, 2, |worker| {
        if worker == 0 {
            waiter::pause_ns(10_000);
            flag.store(1, Ordering::Release);
            return 1;
        }
        let early = flag.load(Ordering::Acquire);
        waiter::pause_ns(20_000);
        early * 2 + flag.load(Ordering::Acquire)
    });
    assert_eq!(seen, [1, 1]);
}

#[test]
fn a_waiting_worker_goes_on_when_its_word_is_written_and_costs_no_steps_meanwhile() {
    let flag = AtomicU64::new(0);
    let (ends, counts, _) = timed(&hpe(), Placement::CoresFirst, 2, |worker| {
        if worker == 0 {
            waiter::pause_ns(50_000);
            flag.store(1, Ordering::Release);
        } else {
            waiter::wait_until(None, || flag.load(Ordering::Acquire) == 1);
        }
        clock::now_ns()
    });
    assert!(ends[1] >= 50_000 && ends[1] < 51_000, "{ends:?}");
    assert!(counts.accesses < 12, "{counts:?}");
}

#[test]
fn no_write_is_missed_between_a_look_and_the_wait_that_follows() {
    const ROUNDS: u64 = 400;
    let [word, other, heard] = [const { Padded(AtomicU64::new(0)) }; 3];
    let (ends, ..) = timed(&machine("here"), Placement::CoresFirst, 2, |worker| {
        for round in 1..=ROUNDS {
            if worker == 0 {
                // The second write comes while the core still keeps the line for the first one, or at any time after.
                other.store(round, Ordering::Relaxed);
                word.fetch_add(1, Ordering::Relaxed);
                clock::compute(round);
                word.store(2 * round, Ordering::Release);
                waiter::wait_until(None, || heard.load(Ordering::Acquire) == round);
            } else {
                // The look goes on for as long as the second load takes.
                waiter::wait_until(None, || {
                    let is_written = word.load(Ordering::Acquire) == 2 * round;
                    other.load(Ordering::Acquire) == round && is_written
                });
                heard.store(round, Ordering::Release);
            }
        }
        clock::now_ns()
    });
    assert!(ends[0] < ROUNDS * 2_000, "{} ns a round", ends[0] / ROUNDS);
}

#[test]
fn a_worker_that_has_nothing_else_to_do_closes_what_it_gathers_at_once() {
    let batch = AtomicU64::new(1);
    let is_due = || batch.load(Ordering::Relaxed) > 0 && waiter::is_idle();
    let on_a_fiber = || {
        let gathered_ns = Cell::new(0);
        let mut crew = Crew::new();
        crew.spawn(STACK_BYTES, || gathered_ns.set(lasts_ns(|| _ = waiter::gather_until(None, is_due))));
        crew.spawn(STACK_BYTES, || waiter::pause_ns(50_000));
        crew.run();
        gathered_ns.get()
    };
    let on_a_thread = || {
        let mut looks = 0;
        let is_second_look = || {
            looks += 1;
            is_due() && looks > 1
        };
        lasts_ns(|| _ = waiter::gather_until(Some(clock::now_ns() + 50_000), is_second_look))
    };
    let (lengths, ..) = timed(&hpe(), Placement::CoresFirst, 1, |_| [on_a_fiber(), on_a_thread()]);
    assert!(lengths[0].iter().all(|ns| *ns < 2_000), "{lengths:?}");
}

#[test]
fn a_line_that_two_cores_write_in_turn_takes_the_transfer_each_time() {
    let machine = hpe();
    let word = AtomicU64::new(0);
    let rounds = 200;
    let (ends, ..) = timed(&machine, Placement::CoresFirst, 2, |worker| {
        lasts_ns(|| {
            for round in 0..rounds {
                let own = 2 * round + worker as u64;
                waiter::wait_until(None, || word.load(Ordering::Acquire) == own);
                word.store(own + 1, Ordering::Release);
            }
        })
    });
    // Each hand-over is a fetch for reading and an upgrade for writing.
    let one_way_ns = ends[0] as f64 / (2 * rounds) as f64;
    let transfer_ns = machine.coherence.transfer_ps as f64 / 1e3;
    assert!(one_way_ns > transfer_ns && one_way_ns < 3.0 * transfer_ns, "{one_way_ns} {transfer_ns}");
}

#[test]
fn updates_of_one_line_are_one_after_the_other_whatever_the_number_of_cores() {
    let machine = hpe();
    let each = 50;
    let rate = |cores: usize| {
        let word = AtomicU64::new(0);
        let (ends, ..) = timed(&machine, Placement::CoresFirst, cores, |_| {
            lasts_ns(|| (0..each).for_each(|_| _ = word.fetch_add(1, Ordering::Relaxed)))
        });
        (cores * each) as f64 / *ends.iter().max().expect("workers") as f64
    };
    let (alone, eight, many) = (rate(1), rate(8), rate(28));
    assert!(alone > 3.0 * eight, "{alone} {eight}");
    assert_near(many, eight, 0.25);
}

#[test]
fn a_line_from_another_socket_takes_the_way_there_and_back_longer() {
    let machine = hpe();
    let count = 64;
    // Worker 0 writes lines, and another one reads them: in the same socket, or as far away as the machine is wide.
    let read_ns = |reader: usize| {
        let shared = lines(count);
        let is_written = AtomicU64::new(0);
        let (ns, ..) = timed(&machine, Placement::CoresFirst, reader + 1, |worker| {
            if worker == 0 {
                for line in &shared {
                    line.store(1, Ordering::Relaxed);
                }
                is_written.store(1, Ordering::Release);
            }
            if worker != reader {
                return 0;
            }
            waiter::wait_until(None, || is_written.load(Ordering::Acquire) == 1);
            lasts_ns(|| shared.iter().for_each(|line| _ = line.load(Ordering::Relaxed)))
        });
        ns[reader] as f64 / count as f64
    };
    let (near, far) = (read_ns(1), read_ns(1_567));
    let way_ns = machine.hops.last().expect("hops").round_trip_ps as f64 / 1e3;
    assert_near(far - near, way_ns, 0.15);
}

#[test]
fn a_line_that_many_cores_wait_for_delays_no_other_line_of_its_socket() {
    let machine = hpe();
    // Workers of two threads on each core fill the first socket; the next ones have a core of the second to themselves.
    let (first, second) =
        (machine.topology.cores_per_group as usize, machine.topology.cores_per_group as usize * 2);
    let others = lines(200);
    let read_ns = |is_wanted: bool| {
        let hot = AtomicU64::new(0);
        let (took, ..) = timed(&machine, Placement::CoresFirst, second + first, |worker| {
            for line in others.iter().filter(|_| worker == 0) {
                line.store(1, Ordering::Relaxed);
            }
            waiter::pause_ns(100_000);
            if worker == second {
                // One core of the second socket reads what the first has.
                return lasts_ns(|| others.iter().for_each(|line| _ = line.load(Ordering::Relaxed)));
            }
            // Cores of both sockets update one line, which goes back and forth.
            for _ in (0..40).filter(|_| is_wanted) {
                hot.fetch_add(1, Ordering::Relaxed);
            }
            0
        });
        took[second] as f64
    };
    assert_near(read_ns(true), read_ns(false), 0.1);
}

#[test]
fn a_core_that_reads_its_own_lines_again_keeps_them_for_itself() {
    let machine = hpe();
    // More than the private caches hold.
    let shared = lines(machine.l2.bytes as usize / 64);
    let (_, _, spent) = timed(&machine, Placement::CoresFirst, 1, |_| {
        let write = || shared.iter().for_each(|line| line.store(1, Ordering::Relaxed));
        write();
        for line in &shared {
            line.load(Ordering::Relaxed);
        }
        write();
    });
    assert_eq!((spent.coherence, spent.numa), (0, 0), "no other core has them");
}

#[test]
fn memory_at_a_distance_takes_the_way_there_and_back_longer() {
    let machine = hpe();
    let first_loads_ns = |policy| {
        let timed = Rc::new(Timed::new(&machine, Placement::CoresFirst, 1, 0).with_memory(policy));
        timed.start();
        // Every third line, so that no line is the one after that before.
        let shared = lines(300);
        let load = || shared.iter().step_by(3).for_each(|line| _ = line.load(Ordering::Relaxed));
        let ns = timed.run(|| workers::run(1, false, |_| lasts_ns(load)));
        ns[0] as f64 / 100.0
    };
    let local_ns = first_loads_ns(MemoryPolicy::Local);
    assert_near(first_loads_ns(MemoryPolicy::Interleaved), local_ns, 0.001);
    for (distance, hop) in machine.hops.iter().enumerate() {
        let far_ns = first_loads_ns(MemoryPolicy::Distance(distance as u16));
        assert_near(far_ns - local_ns + 100.0, hop.round_trip_ps as f64 / 1e3 + 100.0, 0.05);
    }
}

/// Lines of memory that follow each other.
fn neighbours(count: usize) -> Vec<[AtomicU64; 8]> {
    (0..count).map(|_| Default::default()).collect()
}

#[test]
fn memory_that_is_read_in_order_comes_at_the_rate_of_the_links() {
    let machine = hpe();
    for (distance, hop) in machine.hops.iter().enumerate().skip(1) {
        let policy = MemoryPolicy::Distance(distance as u16);
        let timed = Rc::new(Timed::new(&machine, Placement::CoresFirst, 1, 0).with_memory(policy));
        timed.start();
        let shared = neighbours(4_000);
        let load = || shared.iter().for_each(|line| _ = line[0].load(Ordering::Relaxed));
        let ns = timed.run(|| workers::run(1, false, |_| lasts_ns(load)))[0] as f64 / 4_000.0;
        let (_, spent) = timed.counts();
        assert!(ns >= machine.line_bytes as f64 / hop.bytes_per_ns, "distance {distance}: {ns} ns a line");
        assert!(spent.numa > 10 * spent.memory, "{spent:?}");
    }
}

#[test]
fn a_line_that_is_asked_for_again_is_waited_for_again() {
    let (line, turn) = (&lines(1)[0], &lines(1)[0]);
    let ns = |asks_before: bool| {
        let (ns, ..) = timed(&hpe(), Placement::Scatter, 2, |worker| {
            if worker == 1 {
                waiter::wait_until(None, || turn.load(Ordering::Acquire) == 1);
                line.fetch_add(1, Ordering::Relaxed);
                turn.store(2, Ordering::Release);
                return 0;
            }
            if asks_before {
                hint::prefetch_for_write(std::ptr::from_ref(line));
                line.fetch_add(1, Ordering::Relaxed);
            }
            turn.store(1, Ordering::Release);
            waiter::wait_until(None, || turn.load(Ordering::Acquire) == 2);
            waiter::pause_ns(10_000);
            lasts_ns(|| {
                hint::prefetch_for_write(std::ptr::from_ref(line));
                line.fetch_add(1, Ordering::Relaxed);
            })
        });
        turn.store(0, Ordering::Relaxed);
        ns[0] as f64
    };
    let way = hpe().hops[1].round_trip_ps as f64 / 1e3;
    assert!(ns(false) > way, "the other core has the line");
    assert_near(ns(true), ns(false), 0.05);
}

#[test]
fn a_line_on_its_way_is_there_for_nobody_of_the_socket_before_it_arrives() {
    // Worker 0 writes on one socket; workers 1 and 2 read on another, the second one a little later.
    let machine = hpe();
    let first_of_socket = machine.topology.cores_per_group as usize;
    let (line, written) = (&lines(1)[0], &lines(1)[0]);
    let (ns, ..) = timed(&machine, Placement::CoresFirst, first_of_socket * 2 + 2, |worker| {
        if worker == 0 {
            line.store(1, Ordering::Relaxed);
            waiter::pause_ns(5_000);
            written.store(1, Ordering::Release);
        }
        if worker < first_of_socket * 2 {
            return [0; 2];
        }
        waiter::pause_ns(if worker == first_of_socket * 2 { 20_000 } else { 20_010 });
        let start_ns = clock::now_ns();
        line.load(Ordering::Relaxed);
        [start_ns, clock::now_ns()]
    });
    let [[_, first], [start, second]] = [ns[first_of_socket * 2], ns[first_of_socket * 2 + 1]];
    assert!(start < first, "{ns:?}");
    assert!(second >= first, "the second reader has it at {second}, the first at {first}");
}

#[test]
fn a_last_level_cache_has_the_size_that_its_machine_says() {
    let machine = hpe();
    let shared = neighbours((machine.l3.bytes / machine.line_bytes) as usize * 19 / 20);
    let (ns, ..) = timed(&machine, Placement::CoresFirst, 1, |_| {
        let pass = || shared.iter().step_by(3).for_each(|line| _ = line[0].load(Ordering::Relaxed));
        for line in &shared {
            line[0].load(Ordering::Relaxed);
        }
        lasts_ns(pass)
    });
    let each = ns[0] as f64 / (shared.len() as f64 / 3.0);
    assert_near(each, machine.l3.latency_ps as f64 / 1e3, 0.1);
}

#[test]
fn a_line_that_its_writer_has_lost_comes_from_the_shared_cache() {
    let machine = hpe();
    let (shared, done) = (lines((machine.l2.bytes / 64) as usize), &lines(1)[0]);
    let (ns, ..) = timed(&machine, Placement::CoresFirst, 2, |worker| {
        if worker == 0 {
            for line in &shared {
                line.store(1, Ordering::Relaxed);
            }
            waiter::pause_ns(100_000);
            done.store(1, Ordering::Release);
            return [0; 2];
        }
        waiter::wait_until(None, || done.load(Ordering::Acquire) == 1);
        let read = |lines: &[Padded<AtomicU64>]| {
            lasts_ns(|| lines.iter().for_each(|line| _ = line.load(Ordering::Relaxed)))
        };
        let last = shared.len() - 1_000;
        [read(&shared[..1_000]), read(&shared[last..])]
    });
    let [lost, kept] = ns[1].map(|ns| ns as f64 / 1e3);
    assert_near(lost, machine.l3.latency_ps as f64 / 1e3, 0.1);
    assert_near(kept, machine.coherence.transfer_ps as f64 / 1e3, 0.1);
}

#[test]
fn lines_that_are_asked_for_ahead_arrive_side_by_side() {
    let count = 8;
    let read_ns = |ahead: bool| {
        let shared = lines(count);
        let (ns, ..) = timed(&hpe(), Placement::CoresFirst, 1, |_| {
            lasts_ns(|| {
                if ahead {
                    for line in &shared {
                        hint::prefetch(std::ptr::from_ref(line));
                    }
                }
                for line in &shared {
                    line.load(Ordering::Relaxed);
                }
            })
        });
        ns[0] as f64
    };
    assert!(read_ns(false) > 4.0 * read_ns(true));
}

type Work<'w> = &'w (dyn Fn(&Padded<AtomicU64>) + Sync);

#[test]
fn an_access_takes_the_time_for_which_its_thread_waits_and_no_more() {
    let load = |line: &Padded<AtomicU64>| _ = line.load(Ordering::Relaxed);
    let store = |line: &Padded<AtomicU64>| line.store(1, Ordering::Relaxed);
    let ask = |line: &Padded<AtomicU64>| hint::prefetch(std::ptr::from_ref(line));
    let time = |works: &[Work<'_>]| {
        let shared = lines(8);
        let work = || works.iter().for_each(|work| shared.iter().for_each(work));
        let (ns, _, spent) = timed(&hpe(), Placement::CoresFirst, 1, |_| lasts_ns(work));
        (ns[0] as f64 * 1_000.0, spent.accesses() as f64)
    };
    let (ps, spent) = time(&[&load]);
    assert!(spent > 0.9 * ps && spent < ps, "{spent} of {ps} ps");
    let (ps, spent) = time(&[&ask, &load]);
    assert!(spent > 0.5 * ps && spent < ps, "{spent} of {ps} ps");
    assert!(time(&[&store]).1 < 1.0, "nobody waits for a store");
    let (ps, spent) = time(&[&store, &|line| _ = line.fetch_add(1, Ordering::Relaxed)]);
    assert!(spent > 0.3 * ps && spent < ps, "an update waits for all stores: {spent} of {ps} ps");
}

#[test]
fn who_waits_for_another_worker_is_neither_executing_nor_at_an_access() {
    let word = AtomicU64::new(0);
    let (ns, _, spent) = timed(&hpe(), Placement::CoresFirst, 2, |worker| {
        if worker == 0 {
            clock::compute(1_000_000);
            word.store(1, Ordering::Relaxed);
        } else {
            waiter::wait_until(None, || word.load(Ordering::Relaxed) == 1);
        }
        clock::now_ns()
    });
    assert_near(spent.waiting as f64 / 1_000.0, ns[1] as f64, 0.05);
    assert!(spent.accesses() < spent.waiting / 100);
}

#[test]
fn a_copy_is_one_step_and_its_lines_overlap() {
    let record: Vec<AtomicU64> = (0..64).map(AtomicU64::new).collect();
    let (copies, counts, _) = timed(&hpe(), Placement::CoresFirst, 1, |_| {
        let mut copy = vec![0; record.len()];
        let ns = lasts_ns(|| words::load(&record, &mut copy));
        (copy, ns)
    });
    let (copy, ns) = &copies[0];
    assert!(copy.iter().copied().eq(0..64));
    assert_eq!(counts.accesses, 1);
    // Eight lines of memory, one after the other, would take eight latencies.
    let latency_ns = hpe().memory.latency_ps / 1_000;
    assert!(*ns > latency_ns && *ns < 3 * latency_ns, "{ns}");
}

#[test]
fn computed_instructions_take_their_time() {
    let (ns, ..) = timed(&hpe(), Placement::CoresFirst, 1, |_| lasts_ns(|| clock::compute(1_000_000)));
    assert_near(ns[0] as f64, hpe().core.instruction_ps as f64 * 1_000.0, 0.01);
}

#[test]
fn plain_memory_under_a_latch_comes_from_the_core_that_wrote_it() {
    let list = Latched::new(vec![0_u64; 800]);
    let is_written = AtomicU64::new(0);
    let (ns, ..) = timed(&hpe(), Placement::CoresFirst, 2, |worker| {
        if worker == 0 {
            hint::writes(&list.lock()[..]);
            is_written.store(1, Ordering::Relaxed);
            return [0, 0];
        }
        waiter::wait_until(None, || is_written.load(Ordering::Relaxed) == 1);
        [(); 2].map(|()| lasts_ns(|| hint::reads(&list.lock()[..])))
    });
    let [first, again] = ns[1];
    assert!(first > 2 * again, "{first} ns from another core, {again} ns from the own caches");
}

#[test]
fn threads_of_one_core_share_its_instructions_and_its_caches() {
    let work_ns = |placement| {
        let own = lines(2);
        let (ns, ..) = timed(&hpe(), placement, 2, |worker| {
            own[worker].load(Ordering::Relaxed);
            lasts_ns(|| (0..10_000).for_each(|_| _ = own[worker].load(Ordering::Relaxed)))
        });
        ns[0] as f64
    };
    let (apart, together) = (work_ns(Placement::CoresFirst), work_ns(Placement::ThreadsFirst));
    assert_near(together / apart, 2.0 / hpe().core.smt_speedup[1], 0.05);
    let second_load_ns = |placement| {
        let shared = lines(1);
        let (ns, ..) = timed(&hpe(), placement, 2, |worker| {
            waiter::pause_ns(10_000 * worker as u64);
            lasts_ns(|| _ = shared[0].load(Ordering::Relaxed))
        });
        ns[1]
    };
    let l3_ns = hpe().l3.latency_ps / 1_000;
    assert!(
        second_load_ns(Placement::CoresFirst) >= l3_ns && second_load_ns(Placement::ThreadsFirst) < l3_ns
    );
}

#[test]
fn a_set_of_lines_that_fits_a_cache_takes_that_cache_s_latency() {
    let machine = hpe();
    let pass_ns = |bytes: u64| {
        let shared = lines((bytes / 128) as usize);
        let (ns, ..) = timed(&machine, Placement::CoresFirst, 1, |_| {
            let pass = || shared.iter().for_each(|line| _ = line.load(Ordering::Relaxed));
            pass();
            lasts_ns(pass)
        });
        ns[0] as f64 / shared.len() as f64
    };
    // Each line has a second one beside it that nobody uses, so that half of each cache is reached.
    let in_l1 = pass_ns(machine.l1.bytes / 2);
    let in_l2 = pass_ns(machine.l2.bytes / 2) - in_l1;
    let in_l3 = pass_ns(machine.l3.bytes / 2) - in_l1;
    let ns = |ps: u64| ps as f64 / 1e3;
    assert_near(in_l2, ns(machine.l2.latency_ps - machine.l1.latency_ps), 0.1);
    assert_near(in_l3, ns(machine.l3.latency_ps), 0.1);
}

#[test]
fn a_latch_that_many_cores_want_goes_around() {
    let latch = VersionLatch::new();
    let (held, ..) =
        timed(&hpe(), Placement::CoresFirst, 56, |_| (0..20).filter(|_| latch.lock().is_some()).count());
    assert_eq!(held, [20; 56]);
    assert_eq!(latch.read(), Some(4 * 20 * 56));
}

#[test]
fn the_hottest_line_is_the_one_that_all_write() {
    let shared = lines(4);
    let timed = Rc::new(Timed::new(&hpe(), Placement::CoresFirst, 16, 0));
    timed.start();
    timed.run(|| {
        workers::run(16, false, |worker| {
            for turn in 0..40 {
                shared[0].fetch_add(1, Ordering::Relaxed);
                shared[1 + (worker + turn) % 3].load(Ordering::Relaxed);
            }
        })
    });
    let hottest = timed.hottest(4);
    assert_eq!(hottest[0].0, std::ptr::from_ref(&shared[0]).addr());
    assert!(hottest.len() < 4 || hottest[0].1 > 10 * hottest[3].1, "{hottest:?}");
}

#[test]
fn lines_that_nobody_else_has_are_not_among_the_hottest() {
    let machine = hpe();
    let shared = neighbours(2_000);
    let timed =
        Rc::new(Timed::new(&machine, Placement::Scatter, 1, 0).with_memory(MemoryPolicy::Distance(3)));
    timed.start();
    timed.run(|| {
        workers::run(1, false, |_| shared.iter().for_each(|line| _ = line[0].load(Ordering::Relaxed)))
    });
    assert_eq!(timed.hottest(4), []);
}

/// Waits for a flag when it is dropped.
struct Waits<'f>(&'f AtomicU64);

impl Drop for Waits<'_> {
    fn drop(&mut self) {
        while self.0.load(Ordering::Relaxed) == 0 {
            hint::spin_loop();
        }
    }
}

#[test]
fn workers_that_wait_for_each_other_for_ever_are_given_up_with_their_line() {
    let flags = lines(3);
    // Worker 3 ends; the others wait, two of them for the same flag, and 0 for another one, which nobody sets either.
    let timed = Rc::new(Timed::new(&hpe(), Placement::CoresFirst, 3, 0));
    timed.start();
    let run = |sets: usize| {
        let body = |worker: usize| {
            let flag = &flags[worker.div_ceil(2)];
            if worker == 3 {
                clock::end_within(5_000_000);
                (0..sets).for_each(|flag| flags[flag].store(1, Ordering::Relaxed));
                return;
            }
            let _waits = Waits(flag);
            waiter::wait_until(None, || flag.load(Ordering::Relaxed) == 1);
        };
        std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| timed.run(|| workers::run(4, false, body))))
            .is_ok()
    };
    assert!(!run(0));
    let address = |flag: usize| std::ptr::from_ref(&flags[flag]).addr();
    assert_eq!(timed.stuck(), Some(StuckWorkers { workers: 3, line: Some((address(1), 2)) }));
    assert!(run(3), "nobody waits for ever");
    assert_eq!(timed.stuck(), None);
}

#[test]
fn where_the_time_goes_counts_from_the_beginning_of_the_measurement_to_its_end() {
    let shared = lines(3);
    let storm =
        |line: usize, rounds| (0..rounds).for_each(|_| _ = shared[line].fetch_add(1, Ordering::Relaxed));
    // The time of the accesses of all workers, and the line that was waited for longest.
    let found = |is_measured: bool| {
        let timed = Rc::new(Timed::new(&hpe(), Placement::CoresFirst, 16, 0));
        timed.start();
        timed.run(|| {
            workers::run(16, false, |worker| {
                storm(0, 100);
                // By then the other workers have nearly ended the first loop, too.
                if worker == 0 && is_measured {
                    clock::measure(true);
                }
                storm(1, 20);
                if worker == 0 && is_measured {
                    clock::measure(false);
                }
                storm(2, 200);
                if worker == 0 && is_measured {
                    clock::measure(false);
                }
            });
        });
        (timed.counts().1.accesses(), timed.hottest(1)[0].0)
    };
    let (all, measured) = (found(false), found(true));
    assert!(measured.0 < all.0 / 6, "{} of {} ps are measured", measured.0, all.0);
    let address = |line: usize| std::ptr::from_ref(&shared[line]).addr();
    assert_eq!((all.1, measured.1), (address(2), address(1)));
}

#[test]
fn observers_take_no_time_of_the_machine() {
    let word = AtomicU64::new(0);
    let timed = Rc::new(Timed::new(&hpe(), Placement::CoresFirst, 1, 0));
    timed.start();
    let run = |observes: bool| {
        timed.run(|| {
            workers::run(2, false, |worker| {
                if worker == 1 {
                    waiter::pause_ns(100);
                    let seen = || (0..50).map(|_| word.load(Ordering::Relaxed)).max();
                    return if observes { seen().unwrap_or(0) } else { 1 };
                }
                lasts_ns(|| (0..10).for_each(|_| _ = word.fetch_add(1, Ordering::Relaxed)))
            })
        })
    };
    run(false); // The line is there from now on.
    let [alone, observed] = [false, true].map(run);
    assert!(alone[0] > 0 && observed[1] > 0);
    assert_eq!(alone[0], observed[0]);
}
