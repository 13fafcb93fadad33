//! The catalogue: one line a scheme. Lists, dispatch, tests and the book are derived from it.

use engine::setting::Setting;
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

macro_rules! catalogue {
    ($($path:path),+ $(,)?) => {
        /// The descriptions of the schemes, in the order of the catalogue.
        pub const INFO: &[Info] = &[$(<$path as Scheme>::INFO),+];

        /// The settings of each scheme, in the order of the catalogue.
        pub const SETTINGS: &[&[Setting]] = &[$(<$path as Scheme>::SETTINGS),+];

        /// Calls `visitor` with the scheme of this name; `None` when there is no such scheme.
        pub fn with<V: Visit>(name: &str, visitor: V) -> Option<V::Out> {
            $(
                if name == <$path as Scheme>::INFO.name {
                    return Some(visitor.visit::<$path>());
                }
            )+
            None
        }
    };
}

catalogue! {
    crate::locking::no_wait::NoWait,
    crate::locking::wait_die::WaitDie,
    crate::locking::dl_detect::DlDetect,
    crate::locking::wound_wait::WoundWait,
    crate::locking::bamboo::Bamboo,
    crate::optimistic::occ::Occ,
    crate::optimistic::occ_central::OccCentral,
    crate::optimistic::silo::Silo,
    crate::optimistic::mocc::Mocc,
    crate::optimistic::foedus::Foedus,
    crate::optimistic::tictoc::TicToc,
    crate::timestamp::basic_to::BasicTo,
    crate::multiversion::mv2pl::Mv2pl,
    crate::multiversion::mvto::Mvto,
    crate::multiversion::si::Si,
    crate::multiversion::ssn::Ssn,
    crate::multiversion::ssi::Ssi,
    crate::multiversion::ermia::Ermia,
    crate::multiversion::hekaton::Hekaton,
    crate::multiversion::hekaton_locking::HekatonLocking,
    crate::multiversion::cicada::Cicada,
    crate::partitioned::hstore::HStore,
    crate::batched::aria::Aria,
    crate::deterministic::calvin::Calvin,
    crate::deterministic::bohm::Bohm,
    crate::deterministic::caracal::Caracal,
    crate::deterministic::pwv::Pwv,
    crate::baseline::serial::Serial,
    crate::baseline::uncontrolled::Uncontrolled,
}
