//! The sending side of clients: what a client waits for before each of its requests.

use core::cell::RefCell;

use stdx::Rng;
use sync::{clock, waiter};

use super::arrivals::{Queue, exponential};
use super::traffic::Sent;
use super::{Control, Job, Stage};
use crate::Pace;

/// The stream of random numbers for think times, apart from those of requests.
const PACES: u64 = 0x7061_6365_7321;
/// The maximum time for which a client sleeps before it checks whether the run is over.
const NAP_NS: u64 = 250_000_000;
/// The maximum of a think time, as a multiple of the mean (TPC-C 5.2.5.4).
pub(super) const THINKS_AT_MOST: f64 = 10.0;

/// The sending side of a client.
#[derive(Debug)]
pub(super) struct Sender<'b> {
    job: &'b Job,
    control: &'b Control,
    /// The arrivals of the client's worker, in an open loop; `None` in a closed loop.
    queue: Option<&'b RefCell<Queue>>,
    rng: Rng,
    /// The end of the client's last think time; `None` before its first request.
    ready_ns: Option<u64>,
    /// The time at which the message with the current request was due to be sent.
    message_ns: u64,
}

impl<'b> Sender<'b> {
    pub(super) fn new(
        job: &'b Job,
        control: &'b Control,
        queue: Option<&'b RefCell<Queue>>,
        id: u32,
    ) -> Self {
        let rng = Rng::from_path(&[job.seed, PACES, u64::from(id)]);
        Self { job, control, queue, rng, ready_ns: None, message_ns: 0 }
    }

    /// Waits until a request has reached its worker. Returns `None` if the run is over before.
    #[inline]
    pub(super) fn send(&mut self, sequence: u64, pace: Pace) -> Option<Sent> {
        if self.job.traffic.is_immediate() { Some(Sent::now()) } else { self.wait(sequence, pace) }
    }

    #[cold]
    fn wait(&mut self, sequence: u64, pace: Pace) -> Option<Sent> {
        let traffic = &self.job.traffic;
        if traffic.is_paced {
            self.prepare(pace)?;
        }
        if !sequence.is_multiple_of(traffic.batch) {
            // The request is part of the message of an earlier request.
            let late_ns = clock::now_ns().saturating_sub(self.message_ns);
            return Some(Sent { birth: clock::ticks(), late_ns, retries: 0 });
        }
        self.message_ns = match self.queue {
            None => clock::now_ns(),
            Some(queue) => self.next_arrival(queue)?,
        };
        let late_ns = clock::now_ns() - self.message_ns;
        let sent = Sent { birth: clock::ticks(), late_ns, retries: 0 };
        self.sleep_until(clock::now_ns() + traffic.rtt_ns)?;
        Some(sent)
    }

    /// Waits for the next arrival, and returns its time. Returns `None` if the run is over before.
    fn next_arrival(&self, queue: &RefCell<Queue>) -> Option<u64> {
        let now_ns = clock::now_ns();
        let at_ns = queue.borrow_mut().take(now_ns, self.control.stage());
        if at_ns > now_ns {
            self.sleep_until(at_ns)?;
            queue.borrow_mut().count(self.control.stage());
        }
        Some(at_ns)
    }

    /// Waits for the end of the think time, and then for the time that this pace has before a request.
    fn prepare(&mut self, pace: Pace) -> Option<()> {
        let ready_ns = self.ready_ns.unwrap_or_else(|| {
            // A random moment within the first cycle: otherwise all clients would begin at the same time.
            let cycle_ns = (pace.before_ns + pace.after_mean_ns) as f64;
            clock::now_ns() + (self.rng.unit() * cycle_ns) as u64
        });
        self.sleep_until(ready_ns + pace.before_ns)
    }

    /// Records that a request of this pace was answered: the think time begins.
    #[inline]
    pub(super) fn answered(&mut self, pace: Pace) {
        if self.job.traffic.is_paced {
            self.ready_ns = Some(clock::now_ns() + think_ns(&mut self.rng, pace));
        }
    }

    /// Sleeps until a moment. Returns `None` if the run is over before.
    fn sleep_until(&self, until_ns: u64) -> Option<()> {
        loop {
            if self.control.stage() == Stage::Stopping || self.control.is_interrupted() {
                return None;
            }
            let left_ns = until_ns.saturating_sub(clock::now_ns());
            if left_ns == 0 {
                return Some(());
            }
            waiter::pause_ns(left_ns.min(NAP_NS));
        }
    }
}

/// Draws a think time, in nanoseconds.
fn think_ns(rng: &mut Rng, pace: Pace) -> u64 {
    let mean_ns = pace.after_mean_ns as f64;
    exponential(rng, mean_ns).min(THINKS_AT_MOST * mean_ns) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_to_think_have_the_asked_mean_and_end_at_ten_times_it() {
        let (mut rng, pace) = (Rng::new(1), Pace { before_ns: 0, after_mean_ns: 1_000 });
        let times: Vec<u64> = (0..200_000).map(|_| think_ns(&mut rng, pace)).collect();
        let mean = times.iter().sum::<u64>() as f64 / times.len() as f64;
        assert!((990.0..1_010.0).contains(&mean), "{mean}");
        assert_eq!(times.iter().max(), Some(&10_000), "one in 22,000 would be longer");
    }
}
