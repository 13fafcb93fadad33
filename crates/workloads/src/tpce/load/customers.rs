//! Customers, what is theirs, and who may trade for them: CUSTOMER, CUSTOMER_TAXRATE, WATCH_LIST, WATCH_ITEM,
//! CUSTOMER_ACCOUNT and ACCOUNT_PERMISSION.

use engine::{Loader, Share, Text};
use stdx::{Permutation, Rng};

use super::super::Tpce;
use super::super::keys::{
    AccountKey, CustomerKey, CustomerTaxrateKey, PermissionKey, WatchItemKey, WatchListKey,
};
use super::super::names::Person;
use super::super::rows::{
    Account, AccountBalance, COUNTRY_RATES, Customer, CustomerEmail, CustomerTaxrate, EXCHANGES, Permission,
    Phone, StatusId, TAXRATES, WatchItem, WatchList,
};
use super::super::scale::{Scale, Stream, account_ids, broker_of_account, customer_id, tier};
use super::texts::{digits, letters, text};
use super::{initial_balance, tax_status};

/// The securities of a watch list: the least and the greatest number.
const WATCHED: (u64, u64) = (50, 150);
/// `AP_ACL` of an account's owner, and of the others who may trade for it.
const OWNER_RIGHTS: &[u8] = b"0000";
/// See [`OWNER_RIGHTS`].
const OTHER_RIGHTS: [&[u8]; 2] = [b"0001", b"0011"];
/// The domains between which Data-Maintenance changes `C_EMAIL_2` (TPC-E 3.3.11).
const DOMAINS: [&str; 2] = ["mindspring.com", "earthlink.com"];
/// The days of birth: from 1970 to 1986. Earlier days have no number.
const BIRTH_DAYS: u64 = 17 * 365;

/// Loads a share of the rows.
pub(super) fn load(tpce: &Tpce, share: Share, loader: &mut impl Loader) {
    for customer in share.of_range(u64::from(tpce.settings.scale.customers)) {
        let customer = customer as u32;
        load_customer(tpce, customer, loader);
        for account in account_ids(customer) {
            load_account(tpce, customer, account, loader);
        }
    }
}

fn load_customer(tpce: &Tpce, customer: u32, loader: &mut impl Loader) {
    let (scale, tables) = (tpce.settings.scale, &tpce.tables);
    let id = customer_id(customer);
    let (row, email) = customer_rows(scale, customer);
    loader.insert((tables.customer, tables.customer_email), CustomerKey::new(id), (&row, &email));
    for rate in taxrates(scale, customer) {
        let row = CustomerTaxrate { rate: u64::from(rate) };
        loader.insert(tables.customer_taxrate, CustomerTaxrateKey::new(id, rate), &row);
    }
    loader.insert(tables.watch_list, WatchListKey::new(id), &WatchList { customer: id });
    for security in watched(scale, customer) {
        let row = WatchItem { security: u64::from(security) };
        loader.insert(tables.watch_item, WatchItemKey::new(id, security), &row);
    }
}

fn load_account(tpce: &Tpce, customer: u32, account: u64, loader: &mut impl Loader) {
    let (scale, tables) = (tpce.settings.scale, &tpce.tables);
    let row = Account {
        customer: customer_id(customer),
        broker: broker_of_account(account),
        tax_status: tax_status(scale, account),
        name: letters(&mut scale.stream(Stream::Account, &[account, 2]), 15, 50),
        pad: [0; 1],
    };
    let balance = AccountBalance { balance: initial_balance(scale, account) };
    loader.insert((tables.account_balance, tables.account), AccountKey::new(account), (&balance, &row));
    let (others, count) = scale.permitted(account);
    let others = others[..count].iter().copied().zip(OTHER_RIGHTS);
    for (person, rights) in [(customer, OWNER_RIGHTS)].into_iter().chain(others) {
        let Person { tax_id, last_name, first_name } = Person::customer(scale, person);
        let row = Permission { acl: Text::new(rights), last_name, first_name, pad: [0; 7] };
        loader.insert(tables.permission, PermissionKey { account, tax_id }, &row);
    }
}

/// Returns the numbers of the tax rates of a customer: one of a country, and one of a division.
pub(super) fn taxrates(scale: Scale, customer: u32) -> [u16; 2] {
    let rng = &mut scale.stream(Stream::Taxrate, &[u64::from(customer)]);
    let country = rng.below(u64::from(COUNTRY_RATES)) as u16;
    [country, rng.between(u64::from(COUNTRY_RATES), u64::from(TAXRATES) - 1) as u16]
}

/// Returns the securities of the watch list of a customer, without repetition. In small databases a list has at most
/// seven in eight of the securities, so that Data-Maintenance finds one which is not in it.
fn watched(scale: Scale, customer: u32) -> impl Iterator<Item = u32> {
    let rng = &mut scale.stream(Stream::WatchList, &[u64::from(customer)]);
    let securities = u64::from(scale.securities());
    let count = rng.between(WATCHED.0, WATCHED.1).min(securities * 7 / 8);
    let mixed = Permutation::new(securities, rng.next_u64());
    (0..count).map(move |place| mixed.apply(place) as u32)
}

fn customer_rows(scale: Scale, customer: u32) -> (Customer, CustomerEmail) {
    let rng = &mut scale.stream(Stream::Customer, &[u64::from(customer), 1]);
    let Person { tax_id, last_name, first_name } = Person::customer(scale, customer);
    let domain = DOMAINS[rng.below(2) as usize];
    let row = Customer {
        address: u32::from(EXCHANGES) + scale.companies() + customer,
        birth_date: rng.below(BIRTH_DAYS) as u32,
        tax_id,
        last_name,
        first_name,
        middle_name: Text::new(&[b'A' + rng.below(26) as u8]),
        gender: Text::new(if rng.below(2) == 0 { b"F" } else { b"M" }),
        status: StatusId::Active as u8,
        tier: tier(customer),
        phones: core::array::from_fn(|_| phone(rng)),
        email_1: text(&format!("customer{customer}@example.com")),
        pad: [0; 2],
    };
    (row, CustomerEmail { email_2: text(&format!("customer{customer}@{domain}")), pad: [0; 6] })
}

fn phone(rng: &mut Rng) -> Phone {
    let has_extension = rng.below(4) == 0;
    Phone {
        country: Text::new(b"1"),
        area: digits(rng, 3),
        local: digits(rng, 7),
        extension: digits(rng, if has_extension { 3 } else { 0 }),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn a_watch_list_has_a_hundred_different_securities_in_the_mean_and_never_all() {
        let scale = Scale { seed: 1, customers: 1_000 };
        let mut count = 0;
        for customer in 0..scale.customers {
            let list: Vec<u32> = watched(scale, customer).collect();
            assert!((50..=150).contains(&list.len()));
            assert_eq!(list.iter().collect::<BTreeSet<_>>().len(), list.len());
            count += list.len();
        }
        assert!((97_000..103_000).contains(&count), "{count}");
        let small = Scale { seed: 1, customers: 200 };
        assert!((0..200).all(|customer| watched(small, customer).count() < 120));
    }

    #[test]
    fn balances_and_tax_states_have_their_shares() {
        let scale = Scale { seed: 1, customers: 2_000 };
        let accounts = || (0..2_000).flat_map(account_ids);
        let in_debt = accounts().filter(|&account| initial_balance(scale, account) < 0).count();
        assert!(in_debt.abs_diff(2_000) < 150, "{in_debt}");
        assert!(accounts().all(|account| initial_balance(scale, account).abs() <= 999_999_999));
        for (status, share) in [(0, 2_000), (1, 5_000), (2, 3_000)] {
            let count = accounts().filter(|&account| tax_status(scale, account) == status).count();
            assert!(count.abs_diff(share) < 200, "{status}: {count}");
        }
    }

    #[test]
    fn a_customer_has_a_rate_of_a_country_and_one_of_a_division() {
        let scale = Scale { seed: 1, customers: 200 };
        for [country, division] in (0..200).map(|customer| taxrates(scale, customer)) {
            assert!(country < COUNTRY_RATES && (COUNTRY_RATES..TAXRATES).contains(&division));
        }
        let rates = (0..TAXRATES).map(super::super::taxrate);
        assert!(rates.clone().all(|rate| rate > 0 && rate < 50_000));
        assert_eq!(rates.take(2).collect::<Vec<_>>(), [15_000, 27_500]);
    }
}
