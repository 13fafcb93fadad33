//! A queue of tasks that workers lease, finish, or lose. Even if a worker fails, each task is finished once.
#![allow(
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "an ordinary program, which starts threads and prints"
)]

use std::thread;

use contend::{Database, Error, Handle, Options, Table};

const READY: u8 = 0;
const LEASED: u8 = 1;
const DONE: u8 = 2;

/// A task. Tasks that may be leased are found by their state and the time from which on they may be leased.
#[derive(Clone, Debug, Table)]
#[table(name = "tasks", index(by_state = (state, due)))]
struct Task {
    #[key]
    id: u64,
    state: u8,
    /// A ready task is due from this time on; a leased task is leased until this time.
    due: u64,
    worker: Option<u32>,
    tries: u32,
}

#[derive(Clone)]
struct Queue {
    db: Database,
    tasks: Handle<Task>,
}

impl Queue {
    fn open() -> Result<Self, Box<dyn std::error::Error>> {
        let db = Database::in_memory(Options::new().table::<Task>())?;
        Ok(Self { tasks: db.table()?, db })
    }

    fn push(&self, id: u64, due: u64) -> Result<bool, Error> {
        let task = Task { id, state: READY, due, worker: None, tries: 0 };
        self.db.transact(|txn| txn.insert(self.tasks, &task))
    }

    // ANCHOR: lease
    /// Leases the task that has been due for the longest time, until `until`.
    fn lease(&self, worker: u32, now: u64, until: u64) -> Result<Option<Task>, Error> {
        self.db.transact(|txn| {
            let ready = (READY, 0)..=(READY, now);
            let Some(task) = txn.scan_by(self.tasks, Task::BY_STATE, ready).next().transpose()? else {
                return Ok(None);
            };
            txn.update(self.tasks, task.id, |task| {
                (task.state, task.due, task.worker) = (LEASED, until, Some(worker));
                task.tries += 1;
                task.clone()
            })
        })
    }
    // ANCHOR_END: lease

    /// Finishes a task, unless its lease was lost. Returns whether the task was finished.
    fn finish(&self, task: &Task) -> Result<bool, Error> {
        self.db.transact(|txn| {
            let finished = txn.update(self.tasks, task.id, |present| {
                let is_mine = present.state == LEASED && present.tries == task.tries;
                if is_mine {
                    present.state = DONE;
                }
                is_mine
            })?;
            Ok(finished.unwrap_or(false))
        })
    }

    /// Returns tasks whose leases are over to the queue, and returns their number.
    fn expire(&self, now: u64) -> Result<usize, Error> {
        self.db.transact(|txn| {
            let over = (LEASED, 0)..(LEASED, now);
            let lost = txn.scan_by(self.tasks, Task::BY_STATE, over).collect::<Result<Vec<Task>, Error>>()?;
            for task in &lost {
                txn.update(self.tasks, task.id, |task| {
                    (task.state, task.due, task.worker) = (READY, now, None);
                })?;
            }
            Ok(lost.len())
        })
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let queue = Queue::open()?;
    for id in 0..200 {
        queue.push(id, id % 10)?;
    }
    // A worker leases a task and then disappears.
    let lost = queue.lease(99, 9, 50)?.ok_or("there are tasks")?;
    let done: usize = thread::scope(|scope| {
        let workers: Vec<_> = (0..4)
            .map(|worker| {
                let queue = queue.clone();
                scope.spawn(move || {
                    let mut done = 0;
                    while let Some(task) = queue.lease(worker, 9, 100)? {
                        done += usize::from(queue.finish(&task)?);
                    }
                    Ok::<_, Error>(done)
                })
            })
            .collect();
        workers.into_iter().map(|worker| worker.join().expect("no worker panics")).sum::<Result<_, _>>()
    })?;
    assert_eq!(done, 199);
    assert_eq!((queue.expire(51)?, queue.expire(51)?), (1, 0));
    let again = queue.lease(1, 60, 100)?.ok_or("it was given back")?;
    assert_eq!((again.id, again.tries), (lost.id, 2));
    assert!(!queue.finish(&lost)?, "whoever lost a lease finishes nothing");
    assert!(queue.finish(&again)?);
    println!("{done} tasks and one more; {}", queue.db.counters());
    Ok(())
}

#[test]
fn each_task_is_finished_once() {
    main().expect("the queue works");
}
