//! A background thread beside the workers, for work that goes on while transactions run. It executes no transactions.

use std::thread;

/// A thread that runs until its function returns. Dropping it waits for the thread, so its function must have been
/// told to end before.
#[derive(Debug)]
pub struct Background(Option<thread::JoinHandle<()>>);

impl Background {
    /// Starts a thread.
    ///
    /// # Panics
    /// When the system starts no more threads.
    pub fn start(name: &str, f: impl FnOnce() + Send + 'static) -> Self {
        let started = thread::Builder::new().name(name.to_owned()).spawn(f);
        Self(Some(started.expect("the system starts one thread more")))
    }

    /// Waits until the function has returned. Returns true if the function did not panic.
    pub fn join(mut self) -> bool {
        self.0.take().is_none_or(|thread| thread.join().is_ok())
    }
}

impl Drop for Background {
    fn drop(&mut self) {
        if let Some(thread) = self.0.take() {
            // `drop` has no use for the thread's panic, which has been printed already.
            _ = thread.join();
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::Arc;
    use crate::atomic::{AtomicBool, Ordering};

    #[test]
    fn what_runs_beside_is_waited_for() {
        let has_run = Arc::new(AtomicBool::new(false));
        let theirs = Arc::clone(&has_run);
        // Relaxed: the end of the thread orders it.
        let thread = Background::start("beside", move || theirs.store(true, Ordering::Relaxed));
        assert!(thread.join());
        assert!(has_run.load(Ordering::Relaxed)); // Relaxed: as above.
        assert!(!Background::start("falls", || panic!("planted")).join());
    }
}
