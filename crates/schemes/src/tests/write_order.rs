//! Claims about the order in which write sets are locked: attempts follow the scheme's setting. The part that locks
//! defines what each order is.

use core::fmt::Debug;

use engine::setting::{Settings, Values};
use engine::{Env, Schema, Scheme};
use storage::Tables;

use crate::optimistic::occ_central::OccCentral;
use crate::optimistic::silo::Silo;
use crate::optimistic::tictoc::TicToc;

/// The order in an attempt's private state, under the standard value of the setting and under each value.
fn orders<S: Scheme>(setting: &str) -> [Option<&'static str>; 4]
where
    for<'db> S::Txn<'db>: Debug,
{
    [None, Some("written"), Some("reversed"), Some("address")].map(|value| {
        let given = value.map(|value| (setting.to_owned(), value.to_owned()));
        let values = Values::new(S::Settings::ALL, given.as_slice()).expect("legal settings");
        let scheme =
            S::new(&S::Settings::of(&values), Env { slots: 1, workers: 1 }).expect("no contradiction");
        let tables = Tables::<S>::new(&Schema::new(), 1, 1, false);
        let told = format!("{:?}", scheme.attach(tables.slot()));
        ["Written", "Reversed", "Address"].into_iter().find(|name| told.contains(&format!("order: {name}")))
    })
}

#[test]
fn each_scheme_with_the_choice_locks_in_the_order_of_its_setting() {
    for orders in [
        orders::<Silo>("silo.write_order"),
        orders::<TicToc>("tictoc.write_order"),
        orders::<OccCentral>("occ_central.write_order"),
    ] {
        assert_eq!(orders, ["Written", "Written", "Reversed", "Address"].map(Some));
    }
}
