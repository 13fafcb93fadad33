//! The catalogue: one line a scheme. Lists, dispatch, tests and the book are derived from it.

use engine::entry::Entry;
use engine::{Info, Scheme};

/// An operation on a scheme whose type is known only at run time: a visitor stands in for the generic closure that
/// Rust lacks.
pub trait Visit {
    /// The result of the operation.
    type Out;

    /// Applies the operation to the scheme `S`.
    fn visit<S: Scheme>(self) -> Self::Out;
}

/// The scheme for callers that name none: strictly serializable, and the fastest of such schemes where it was
/// measured (docs/performance.md), unless most transactions update the same few records. Its readers hold up nobody.
pub type Standard = crate::optimistic::silo::Silo;

/// Returns the descriptions of the schemes, in the order of the catalogue.
pub fn infos() -> impl Iterator<Item = &'static Info> + Clone {
    ENTRIES.iter().map(|entry| &entry.info)
}

/// Returns the entry of the scheme of this name; `None` if there is no such scheme.
pub fn entry(name: &str) -> Option<&'static Entry> {
    ENTRIES.iter().find(|entry| entry.info.name == name)
}

macro_rules! catalogue {
    ($($family:ident::$folder:ident::$Scheme:ident),+ $(,)?) => {
        /// The entries of the schemes, in the order of the catalogue.
        pub static ENTRIES: &[Entry] = &[$(crate::$family::$folder::entry::ENTRY),+];

        /// Calls `visitor` with the scheme of this name; `None` when there is no such scheme.
        pub fn with<V: Visit>(name: &str, visitor: V) -> Option<V::Out> {
            $(
                if name == <crate::$family::$folder::$Scheme as Scheme>::INFO.name {
                    return Some(visitor.visit::<crate::$family::$folder::$Scheme>());
                }
            )+
            None
        }
    };
}

catalogue! {
    locking::no_wait::NoWait,
    locking::wait_die::WaitDie,
    locking::dl_detect::DlDetect,
    locking::wound_wait::WoundWait,
    locking::bamboo::Bamboo,
    optimistic::occ::Occ,
    optimistic::occ_central::OccCentral,
    optimistic::silo::Silo,
    optimistic::mocc::Mocc,
    optimistic::foedus::Foedus,
    optimistic::tictoc::TicToc,
    timestamp::basic_to::BasicTo,
    multiversion::mv2pl::Mv2pl,
    multiversion::mvto::Mvto,
    multiversion::si::Si,
    multiversion::ssn::Ssn,
    multiversion::ssi::Ssi,
    multiversion::ermia::Ermia,
    multiversion::hekaton::Hekaton,
    multiversion::hekaton_locking::HekatonLocking,
    multiversion::cicada::Cicada,
    partitioned::hstore::HStore,
    reordering::reorder::Reorder,
    batched::aria::Aria,
    deterministic::calvin::Calvin,
    deterministic::bohm::Bohm,
    deterministic::caracal::Caracal,
    deterministic::pwv::Pwv,
    baseline::serial::Serial,
    baseline::uncontrolled::Uncontrolled,
}
