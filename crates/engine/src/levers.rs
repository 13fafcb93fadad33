//! Levers on contention: settings of the engine that decide what conflicts, and when, whatever the scheme and the
//! workload (timestamp splitting: Huang, Qian, Kohler, Liskov, Shrira, PVLDB 13(5), 2020).

use storage::Layout;

use crate::setting::{Range, Setting, Values};

/// The settings.
pub const SETTINGS: &[Setting] = &[
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
        name: "run.splitting",
        default: "on",
        range: Range::Choice(&["on", "off"]),
        unit: "",
        doc: "timestamp splitting: `on` gives each column group of a row a header of its own, so that transactions \
              which touch different ones do not conflict, `off` one header and one value to all of them; tables with \
              one group are as they are",
        stresses: "conflicts of transactions that touch different columns of a row, and how much is copied",
    },
];

/// A layout of tables with what these settings say of it.
pub fn lay_out(values: &Values, layout: Layout) -> Layout {
    Layout { is_unsplit: values.text("run.splitting") == "off", ..layout }
}

/// Whether a setting of this name is one of these.
pub fn is_lever(name: &str) -> bool {
    SETTINGS.iter().any(|setting| setting.name == name)
}

/// Whether updates read first.
pub fn reads_first(values: &Values) -> bool {
    values.text("run.read_for_update") == "off"
}
