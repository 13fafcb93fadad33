//! The entry of the scheme in the catalogue.

use engine::entry::Entry;

use super::Uncontrolled;

/// The entry.
pub const ENTRY: Entry = Entry { ..Entry::of::<Uncontrolled>() };
