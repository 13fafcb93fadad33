//! Scale: how many rows of each table there are, their identifiers, and who owns what (TPC-E 2.6).
//!
//! The database grows by *granules* of 200 customers with their accounts, trades and brokers, and the companies and
//! securities that go with so many customers: a fifth of the specification's load unit of 1,000 customers. A granule's
//! rows depend on nothing outside of it but the number of all securities, so granules are loaded in parallel, and a
//! granule is a home for schemes that own partitions.
//!
//! Numbers count from 0. Identifiers are numbers behind the specification's offsets, which need more than 32 bits.

use stdx::{Path, Rng};

/// The customers of a granule.
pub(super) const CUSTOMERS: u32 = 200;
/// The companies of a granule: 500 for each load unit.
pub(super) const COMPANIES: u32 = 100;
/// The securities of a granule: 685 for each load unit.
pub(super) const SECURITIES: u32 = 137;
/// The brokers of a granule: 10 for each load unit.
pub(super) const BROKERS: u32 = 2;
/// The maximum number of granules, which the layout of trade identifiers limits.
pub(super) const GRANULES_MAX: u32 = 1 << 11;

/// The customers of a load unit, within which customers are drawn with a skew.
const UNIT: u32 = 1_000;
/// The offset of all identifiers but those of trades (TPC-E 2.6.1).
const OFFSET: u64 = 4_300_000_000;
/// The offset of the identifiers of trades.
const TRADE_OFFSET: u64 = 200_000_000_000_000;
/// The bits of the number of a trade in its granule. Identifiers of trades have fewer than 48 bits.
const TRADE_BITS: u32 = 34;
/// The identifiers of accounts that each customer has, used or not.
pub(super) const ACCOUNT_SLOTS: u64 = 10;
/// The maximum number of securities of an account.
pub(super) const BASKET_MAX: usize = 18;

/// The purpose of a stream of random numbers: the second part of its seed, after the seed of the run.
#[derive(Clone, Copy, Debug)]
#[repr(u64)]
pub(super) enum Stream {
    Account = 1,
    Address,
    Basket,
    Broker,
    Company,
    Competitor,
    Customer,
    DailyMarket,
    Financial,
    News,
    Permission,
    Security,
    Taxrate,
    Trade,
    WatchList,
    ZipCode,
    /// The entries on the ticker of a client's desk when the run begins.
    Desk,
}

/// The size of the database.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Scale {
    /// The seed of the run.
    pub(super) seed: u64,
    /// The number of customers, a multiple of [`CUSTOMERS`].
    pub(super) customers: u32,
}

impl Scale {
    /// The number of granules.
    pub(super) fn granules(self) -> u32 {
        self.customers / CUSTOMERS
    }

    /// The number of companies.
    pub(super) fn companies(self) -> u32 {
        self.granules() * COMPANIES
    }

    /// The number of securities.
    pub(super) fn securities(self) -> u32 {
        self.granules() * SECURITIES
    }

    /// The number of brokers.
    pub(super) fn brokers(self) -> u32 {
        self.granules() * BROKERS
    }

    /// Returns the stream of random numbers of a row.
    pub(super) fn stream(self, stream: Stream, key: &[u64]) -> Rng {
        Path::new(&[self.seed, stream as u64]).join(key).rng()
    }

    /// Returns the securities of an account: its basket, without repetition, in no order. Trade-Orders are for one of
    /// them, so that an account has few positions.
    #[allow(clippy::match_same_arms, reason = "the bounds are in the order of tiers and numbers of accounts")]
    pub(super) fn basket(self, account: u64) -> Basket {
        let customer = customer_of_account(account);
        let (tier, accounts) = (tier(customer), accounts(customer));
        let (least, most): (u64, u64) = match (tier, accounts) {
            (1, 1) => (6, 14),
            (1, 2) => (4, 16),
            (1, _) | (2, 6..) => (2, 18),
            (2, 2) => (7, 13),
            (2, 3) => (5, 15),
            (2, 4) => (4, 16),
            (2, 5) => (3, 17),
            (_, 5 | 6) => (4, 16),
            (_, 7 | 8) => (3, 17),
            _ => (2, 18),
        };
        let rng = &mut self.stream(Stream::Basket, &[account]);
        let len = rng.between(least, most) as usize;
        let mut basket = Basket { securities: [0; BASKET_MAX], len };
        let mut drawn = 0;
        while drawn < len {
            let security = rng.below(u64::from(self.securities())) as u32;
            if !basket.securities[..drawn].contains(&security) {
                basket.securities[drawn] = security;
                drawn += 1;
            }
        }
        basket
    }

    /// Returns the customers who may trade for an account beside its owner: none for 60% of the accounts, one for 38%,
    /// two for 2%.
    pub(super) fn permitted(self, account: u64) -> ([u32; 2], usize) {
        let rng = &mut self.stream(Stream::Permission, &[account]);
        let count = match rng.below(100) {
            0..60 => 0,
            60..98 => 1,
            _ => 2,
        };
        let owner = customer_of_account(account);
        let first = (owner + 1 + rng.below(u64::from(self.customers) - 1) as u32) % self.customers;
        let mut second = (first + 1) % self.customers;
        if second == owner {
            second = (second + 1) % self.customers;
        }
        ([first, second], count)
    }

    /// Draws one of the first `count` customers with the specification's mild skew: 10% of the requests are by
    /// customers of tier 1, 60% of tier 2, 30% of tier 3, and within a tier some customers are up to three times as
    /// busy as others (TPC-E 4.3.4).
    pub(super) fn draw_customer(count: u32, rng: &mut Rng) -> u32 {
        let unit = rng.below(u64::from(count)) as u32 / UNIT;
        loop {
            let customer = unit * UNIT + place_of_rank(draw_rank(rng), unit);
            // The last unit may have fewer customers than the others.
            if customer < count {
                return customer;
            }
        }
    }

    /// Draws a customer of a granule, with the same skew.
    pub(super) fn draw_customer_of_granule(granule: u32, rng: &mut Rng) -> u32 {
        let unit = granule * CUSTOMERS / UNIT;
        loop {
            let customer = unit * UNIT + place_of_rank(draw_rank(rng), unit);
            if customer / CUSTOMERS == granule {
                return customer;
            }
        }
    }
}

/// The securities of an account.
#[derive(Clone, Copy, Debug)]
pub(super) struct Basket {
    securities: [u32; BASKET_MAX],
    len: usize,
}

impl Basket {
    /// Returns the securities.
    pub(super) fn as_slice(&self) -> &[u32] {
        &self.securities[..self.len]
    }
}

/// Draws the rank of a customer within a load unit: in order of tiers, and within a tier in order of activity.
fn draw_rank(rng: &mut Rng) -> u32 {
    // A thousand steps for each unit of the specification's interval from 0 to 2,000, of which 0 itself is left out.
    let w = (rng.below(2_000_000) + 1) as f64 / 1_000.0;
    let rank = if w <= 200.0 {
        (22_500.0 + 500.0 * w).sqrt().ceil() - 151.0
    } else if w <= 1_400.0 {
        (290_000.0 + 1_000.0 * w).sqrt().ceil() - 501.0
    } else {
        (149.0 + (500.0 * w - 277_500.0).sqrt()).ceil()
    };
    (rank as u32).min(UNIT - 1)
}

/// Returns the place in its load unit of the customer with a rank. Neighbours have distant ranks.
fn place_of_rank(rank: u32, unit: u32) -> u32 {
    (677 * rank + 33 * (unit + 1)) % UNIT
}

/// Returns the rank of a customer in its load unit, from 0 to 999.
fn rank(customer: u32) -> u32 {
    let (unit, place) = (customer / UNIT, customer % UNIT);
    // 613 is the inverse of 677 modulo 1,000.
    (place + UNIT - 33 * (unit + 1) % UNIT) % UNIT * 613 % UNIT
}

/// Returns `C_TIER` of a customer: 1 to 3.
pub(super) fn tier(customer: u32) -> u8 {
    match rank(customer) {
        0..200 => 1,
        200..800 => 2,
        _ => 3,
    }
}

/// Returns the number of accounts of a customer: 1 to 4, 2 to 8 or 5 to 10 by tier, 5 in the mean.
pub(super) fn accounts(customer: u32) -> u32 {
    let rank = rank(customer);
    match rank {
        0..200 => 1 + rank % 4,
        200..800 => 2 + (rank - 199) % 7,
        _ => 5 + rank % 6,
    }
}

/// Returns `C_ID` of a customer.
pub(super) fn customer_id(customer: u32) -> u64 {
    OFFSET + u64::from(customer) + 1
}

/// Returns the customer with a `C_ID`.
pub(super) fn customer_of_id(id: u64) -> u32 {
    id.wrapping_sub(OFFSET + 1) as u32
}

/// Returns `CA_ID` of one of the accounts of a customer, numbered from 0.
pub(super) fn account_id(customer: u32, account: u32) -> u64 {
    (customer_id(customer) - 1) * ACCOUNT_SLOTS + 1 + u64::from(account)
}

/// Returns the `CA_ID`s of the accounts of a customer.
pub(super) fn account_ids(customer: u32) -> core::ops::Range<u64> {
    let first = account_id(customer, 0);
    first..first + u64::from(accounts(customer))
}

/// Returns the owner of an account.
pub(super) fn customer_of_account(account: u64) -> u32 {
    customer_of_id((account.wrapping_sub(1)) / ACCOUNT_SLOTS + 1)
}

/// Returns the place of an account among the identifiers of accounts, counted from 0 and with those that are unused.
pub(super) fn account_slot(account: u64) -> u64 {
    account.wrapping_sub(OFFSET * ACCOUNT_SLOTS + 1)
}

/// Returns the `CA_ID` at a place.
pub(super) fn account_of_slot(slot: u64) -> u64 {
    slot.wrapping_add(OFFSET * ACCOUNT_SLOTS + 1)
}

/// Returns the granule of an account.
pub(super) fn granule_of_account(account: u64) -> u32 {
    customer_of_account(account) / CUSTOMERS
}

/// Returns the broker of an account: one of those of its granule, counted from 0 over all.
pub(super) fn broker_of_account(account: u64) -> u32 {
    let mixed = Rng::from_path(&[Stream::Broker as u64, account]).below(u64::from(BROKERS));
    granule_of_account(account) * BROKERS + mixed as u32
}

/// Returns `T_ID` of a trade, numbered from 0 within its granule: the granule of its account.
pub(super) fn trade_id(granule: u32, number: u64) -> u64 {
    TRADE_OFFSET + (u64::from(granule) << TRADE_BITS | number & ((1 << TRADE_BITS) - 1))
}

/// Returns the granule of a trade.
pub(super) fn granule_of_trade(trade: u64) -> u32 {
    (trade.wrapping_sub(TRADE_OFFSET) >> TRADE_BITS) as u32
}

/// Returns the number of a trade in its granule.
pub(super) fn number_of_trade(trade: u64) -> u64 {
    trade.wrapping_sub(TRADE_OFFSET) & ((1 << TRADE_BITS) - 1)
}

/// Returns the company that issued a security. Companies issue one or two.
pub(super) fn company_of_security(security: u32) -> u32 {
    let (granule, place) = (security / SECURITIES, security % SECURITIES);
    granule * COMPANIES + place % COMPANIES
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_load_unit_has_its_tiers_and_five_accounts_a_customer() {
        for unit in [0, 1, 7] {
            let all = || unit * UNIT..(unit + 1) * UNIT;
            let of_tier = |wanted| all().filter(|&customer| tier(customer) == wanted).count();
            assert_eq!([1, 2, 3].map(of_tier), [200, 600, 200]);
            assert_eq!(all().map(accounts).sum::<u32>(), 5 * UNIT);
        }
    }

    #[test]
    fn ranks_and_places_are_inverse() {
        for (unit, rank_there) in [(0, 0), (0, 999), (3, 500)] {
            assert_eq!(rank(unit * UNIT + place_of_rank(rank_there, unit)), rank_there);
        }
    }

    #[test]
    fn customers_are_drawn_by_tier() {
        let rng = &mut Rng::new(1);
        let mut drawn = [0; 4];
        let mut counts = vec![0_u32; 2_000];
        for _ in 0..200_000 {
            let customer = Scale::draw_customer(2_000, rng);
            drawn[usize::from(tier(customer))] += 1;
            counts[customer as usize] += 1;
        }
        let shares = drawn.map(|count| f64::from(count) / 200_000.0);
        for (tier, share) in [(1, 0.1), (2, 0.6), (3, 0.3)] {
            assert!((shares[tier] - share).abs() < 0.005, "tier {tier}: {}", shares[tier]);
        }
        // The busiest customer is drawn 5.6 times as often as the least busy one.
        let (least, most) = (counts.iter().min().expect("many"), counts.iter().max().expect("many"));
        assert!((3..12).contains(&(most / least)), "{least} and {most}");
    }

    #[test]
    fn draws_stay_within_a_part_of_a_unit_and_within_a_granule() {
        let rng = &mut Rng::new(2);
        assert!((0..5_000).all(|_| Scale::draw_customer(1_400, rng) < 1_400));
        assert!((0..5_000).all(|_| Scale::draw_customer(200, rng) < 200));
        assert!((0..1_000).all(|_| Scale::draw_customer_of_granule(6, rng) / CUSTOMERS == 6));
    }

    #[test]
    fn identifiers_lead_back() {
        for customer in [0, 199, 200, 4_999, GRANULES_MAX * CUSTOMERS - 1] {
            assert_eq!(customer_of_id(customer_id(customer)), customer);
            assert!(account_ids(customer).all(|account| customer_of_account(account) == customer));
            let account = account_id(customer, 3);
            assert_eq!(account_of_slot(account_slot(account)), account);
            assert_eq!(broker_of_account(account) / BROKERS, customer / CUSTOMERS);
        }
        let last = trade_id(GRANULES_MAX - 1, (1 << TRADE_BITS) - 1);
        assert_eq!(
            (granule_of_trade(last), number_of_trade(last)),
            (GRANULES_MAX - 1, (1 << TRADE_BITS) - 1)
        );
        assert!(last < 1 << 48);
    }

    #[test]
    fn baskets_have_about_ten_securities_without_repetition() {
        let scale = Scale { seed: 1, customers: 1_000 };
        let (mut securities, mut baskets) = (0, 0);
        for account in (0..1_000).flat_map(account_ids) {
            let basket = scale.basket(account);
            let mut sorted = basket.as_slice().to_vec();
            sorted.sort_unstable();
            sorted.dedup();
            assert_eq!(sorted.len(), basket.as_slice().len());
            (securities, baskets) = (securities + sorted.len(), baskets + 1);
        }
        let mean = securities as f64 / f64::from(baskets);
        assert!((9.5..10.5).contains(&mean), "{mean}");
    }

    /// Returns the securities of a company, in the order of their issues.
    fn securities_of_company(company: u32) -> impl Iterator<Item = u32> {
        let (granule, place) = (company / COMPANIES, company % COMPANIES);
        (place..SECURITIES).step_by(COMPANIES as usize).map(move |place| granule * SECURITIES + place)
    }

    #[test]
    fn securities_belong_to_the_companies_of_their_granule() {
        let companies = || {
            (0..2 * COMPANIES).flat_map(|company| securities_of_company(company).map(move |s| (s, company)))
        };
        assert_eq!(companies().count() as u32, 2 * SECURITIES);
        assert!(companies().all(|(security, company)| company_of_security(security) == company));
    }
}
