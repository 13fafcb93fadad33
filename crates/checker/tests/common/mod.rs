//! Helpers of the checker's tests: histories that are put together operation by operation.

use stdx::history::{AttemptOutcome, History, Key, SessionLog, Version};

/// An operation of such a history.
#[derive(Clone, Debug)]
pub(crate) enum Act {
    Read(Place, Version),
    Write { at: Place, is_tombstone: bool },
    Install { at: Place, before: Version, after: Version },
    Scan { table: u16, low: u64, high: u64, is_forward: bool, is_complete: bool, rows: Vec<(u64, Version)> },
}

/// A table and a key of one word.
pub(crate) type Place = (u16, u64);

/// An attempt of such a history.
#[derive(Clone, Debug)]
pub(crate) struct Script {
    pub(crate) session: u32,
    pub(crate) invoked: u64,
    pub(crate) responded: u64,
    pub(crate) outcome: AttemptOutcome,
    pub(crate) acts: Vec<Act>,
}

/// The history of the scripts; the scripts of a session keep their order.
pub(crate) fn history(scripts: &[Script]) -> History {
    let mut sessions: Vec<u32> = scripts.iter().map(|script| script.session).collect();
    sessions.sort_unstable();
    sessions.dedup();
    let log = |session: u32| {
        let mut log = SessionLog::new(session);
        for script in scripts.iter().filter(|script| script.session == session) {
            log.begin(script.invoked);
            script.acts.iter().for_each(|act| write(&mut log, act));
            if script.outcome != AttemptOutcome::Unknown {
                log.end(script.outcome, script.responded);
            }
        }
        log
    };
    History::new(sessions.into_iter().map(log).collect())
}

fn write(log: &mut SessionLog, act: &Act) {
    match act {
        Act::Read((table, key), seen) => log.read(Key::new(*table, &[*key]), *seen),
        Act::Write { at: (table, key), is_tombstone } => {
            log.write(Key::new(*table, &[*key]), *is_tombstone);
        }
        Act::Install { at: (table, key), before, after } => {
            log.install(Key::new(*table, &[*key]), *before, *after);
        }
        Act::Scan { table, low, high, is_forward, is_complete, rows } => {
            log.scan(*table, &[*low], &[*high], *is_forward);
            for (key, seen) in rows {
                log.row(&[*key], *seen);
            }
            if *is_complete {
                log.scan_complete();
            }
        }
    }
}
