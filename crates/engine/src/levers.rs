//! Levers on contention: settings of the engine that decide what conflicts, and when, whatever the scheme and the
//! workload (timestamp splitting: Huang, Qian, Kohler, Liskov, Shrira, PVLDB 13(5), 2020; thread-aware reordering:
//! Ding, Kot, Gehrke, PVLDB 12(2), 2018).

use orders::LargeComponents;
use storage::{Layout, Splitting};

use crate::Scheme;
use crate::driver::{Driver, REFUSES_REORDERING, Reorder};
use crate::setting::{Range, Setting, SettingError, Values};

/// The settings.
pub const SETTINGS: &[Setting] = &[
    Setting {
        name: "run.footprints",
        default: "stated",
        range: Range::Choice(&["stated", "rehearsed"]),
        unit: "",
        doc: "how schemes that fix the order of transactions before they execute them learn what a transaction will \
              touch: `stated` takes what the input states, where it states all, and rehearses other transactions; \
              `rehearsed` executes every transaction once for its footprint; other schemes are as they are",
        stresses: "the work before the execution, and footprints that turn out wrong",
    },
    Setting {
        name: "run.read_for_update",
        default: "on",
        range: Range::Choice(&["on", "off"]),
        unit: "",
        doc: "whether an update says at once that it will write: `on` locks exclusively, `off` reads with a shared \
              lock first, which must then be upgraded, as in systems without such a hint; schemes that lock nothing \
              by mode when a record is accessed are as they are",
        stresses: "upgrades of locks, of which two of one record keep each other from going on",
    },
    Setting {
        name: "run.reorder",
        default: "off",
        range: Range::Choice(&["off", "keep", "cut"]),
        unit: "",
        doc: "thread-aware reordering: under `keep` and `cut` each worker gathers the requests of its clients in \
              batches, and those that conflict, as far as their inputs tell, are executed by one worker, one after the \
              other; `keep` never separates them, `cut` does where one worker would get much more than the others; it \
              takes several clients a worker, and a scheme that leaves open which worker executes a transaction",
        stresses: "conflicts between workers against queues in front of them",
    },
    Setting {
        name: "run.reorder_batch",
        default: "40",
        range: Range::Int(1, 10_000),
        unit: "requests",
        doc: "the maximum number of requests in a batch of a worker; a batch is closed earlier if all clients of the \
              worker wait; without effect under `run.reorder=off`",
        stresses: "how many conflicts are known before the execution, against the time that requests wait for it",
    },
    Setting {
        name: "run.splitting",
        default: "on",
        range: Range::Choice(&["on", "constant", "off"]),
        unit: "",
        doc: "timestamp splitting: `on` gives each column group of a row a header of its own, so that transactions \
              which touch different ones do not conflict, `off` one header and one value to all of them; `constant` \
              gives each group that no transaction changes a header of its own, and all others of the row one \
              together; tables with one group are as they are",
        stresses: "conflicts of transactions that touch different columns of a row, and how much is copied",
    },
];

/// A layout of tables with what these settings say of it.
pub fn lay_out(values: &Values, layout: Layout) -> Layout {
    let splitting = match values.text("run.splitting") {
        "off" => Splitting::Off,
        "constant" => Splitting::Constant,
        _ => Splitting::On,
    };
    Layout { splitting, ..layout }
}

/// How requests are given to workers.
pub fn reorder(values: &Values) -> Option<Reorder> {
    let large = match values.text("run.reorder") {
        "keep" => LargeComponents::Keep,
        "cut" => LargeComponents::Cut,
        _ => return None,
    };
    Some(Reorder { batch_max: values.int("run.reorder_batch") as usize, large })
}

/// Checks that a scheme can be run under these settings.
///
/// # Errors
/// The scheme's [driver](crate::driver::Driver::REORDERS) does not reorder requests, and is to do so.
pub fn admit<S: Scheme>(values: &Values) -> Result<(), SettingError> {
    if reorder(values).is_some() && !S::Driver::REORDERS {
        return Err(SettingError(format!("{}: {REFUSES_REORDERING}", S::INFO.name)));
    }
    Ok(())
}

/// Whether a setting of this name is one of these.
pub fn is_lever(name: &str) -> bool {
    SETTINGS.iter().any(|setting| setting.name == name)
}

/// Whether updates read first.
pub fn reads_first(values: &Values) -> bool {
    values.text("run.read_for_update") == "off"
}

/// Whether schemes that plan rehearse transactions whose inputs state their footprints.
pub fn rehearses(values: &Values) -> bool {
    values.text("run.footprints") == "rehearsed"
}
