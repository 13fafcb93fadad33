//! Inputs: the requests of terminals, drawn according to TPC-C 2.4.1 to 2.8.1. An input is a plain value,
//! the same for every scheme and any number of workers, and can be executed again.

use core::ops::{Range, RangeInclusive};

use engine::{ClientId, Homes, Text};
use stdx::Rng;

use super::analytic::{ANALYTIC, Reach};
use super::keys::home_number;
use super::load::LOADED_AT_MS;
use super::random::last_name;
use super::rows::{DISTRICTS, LINES_MAX};
use super::settings::{AUDIT, DeliveryChoice, Home, Settings, TERMINALS};

/// A request.
#[derive(Clone, Debug, PartialEq)]
pub enum Input {
    /// A customer orders items.
    NewOrder(NewOrder),
    /// A customer pays.
    Payment(Payment),
    /// A customer asks for the state of the last order.
    OrderStatus(OrderStatus),
    /// A warehouse delivers its oldest orders.
    Delivery(Delivery),
    /// A district counts the recently ordered items that are low in stock.
    StockLevel(StockLevel),
    /// An audit checks that the rows read by one transaction are consistent with each other.
    Audit(Audit),
    /// An analyst adds up many rows of a warehouse.
    Analytic(Analytic),
}

/// The input of a New-Order (TPC-C 2.4.1).
#[derive(Clone, Debug, PartialEq)]
pub struct NewOrder {
    /// `W_ID`.
    pub warehouse: u16,
    /// `D_ID`.
    pub district: u8,
    /// The number of lines in use: `OL_CNT`.
    pub line_count: u8,
    /// `C_ID`.
    pub customer: u32,
    /// `O_ENTRY_D`, in milliseconds since 1970.
    pub date: u64,
    /// The lines of the order. Only the first `line_count` are in use.
    pub lines: [OrderLineInput; LINES_MAX],
}

/// A line of an order.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct OrderLineInput {
    /// `OL_I_ID`; one more than the last item if the order is to roll back.
    pub item: u32,
    /// `OL_SUPPLY_W_ID`.
    pub supply_warehouse: u16,
    /// `OL_QUANTITY`.
    pub quantity: u16,
}

/// The selection of a customer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Who {
    /// Selection by `C_ID`.
    Number(u32),
    /// Selection by `C_LAST`.
    Name(Text<16>),
}

/// The input of a Payment (TPC-C 2.5.1).
#[derive(Clone, Debug, PartialEq)]
pub struct Payment {
    /// `W_ID`: the warehouse that receives the payment.
    pub warehouse: u16,
    /// `D_ID`: the district that receives the payment.
    pub district: u8,
    /// `C_D_ID`: the customer's district.
    pub customer_district: u8,
    /// `C_W_ID`: the customer's warehouse.
    pub customer_warehouse: u16,
    /// The customer.
    pub who: Who,
    /// `H_AMOUNT`, in cents.
    pub amount: u32,
    /// `H_DATE`, in milliseconds since 1970.
    pub date: u64,
}

/// The input of an Order-Status (TPC-C 2.6.1).
#[derive(Clone, Debug, PartialEq)]
pub struct OrderStatus {
    /// `C_W_ID`.
    pub warehouse: u16,
    /// `C_D_ID`.
    pub district: u8,
    /// The customer.
    pub who: Who,
}

/// The input of a Delivery (TPC-C 2.7.1).
#[derive(Clone, Debug, PartialEq)]
pub struct Delivery {
    /// The client that asks for it.
    pub client: ClientId,
    /// The districts whose oldest orders are delivered within one transaction.
    pub districts: RangeInclusive<u8>,
    /// `W_ID`.
    pub warehouse: u16,
    /// `O_CARRIER_ID`.
    pub carrier: u8,
    /// `OL_DELIVERY_D`, in milliseconds since 1970.
    pub date: u64,
}

/// The input of a Stock-Level (TPC-C 2.8.1).
#[derive(Clone, Debug, PartialEq)]
pub struct StockLevel {
    /// `W_ID`.
    pub warehouse: u16,
    /// `D_ID`.
    pub district: u8,
    /// The threshold: a stock with a lower quantity is low.
    pub threshold: i32,
}

/// The input of an audit: the district and the order to check.
#[derive(Clone, Debug, PartialEq)]
pub struct Audit {
    /// `W_ID`.
    pub warehouse: u16,
    /// `D_ID`.
    pub district: u8,
    /// A random number that selects one of the orders that the district has at the time of the audit.
    pub draw: u32,
}

/// The input of an analytic transaction.
#[derive(Clone, Debug, PartialEq)]
pub struct Analytic {
    /// `W_ID`.
    pub warehouse: u16,
    /// The rows to add up.
    pub rows: AnalyticRows,
}

/// The rows that an analytic transaction adds up.
#[derive(Clone, Debug, PartialEq)]
pub enum AnalyticRows {
    /// The stock of a range of items.
    Stock {
        /// The range of `S_I_ID`, which is not empty.
        items: Range<u32>,
        /// The threshold: a stock with a lower quantity is low.
        threshold: i32,
    },
    /// The lines of the last orders of each district.
    Lines {
        /// The number of orders of a district.
        orders: u32,
    },
}

impl Delivery {
    /// Returns the next transaction of the same Delivery, for as many districts, or `None` after the last
    /// district.
    pub(super) fn rest(&self) -> Option<Self> {
        let (first, last) = (*self.districts.start(), *self.districts.end());
        let districts = last + 1..=last + 1 + (last - first);
        (last < DISTRICTS).then(|| Self { districts, ..self.clone() })
    }
}

impl NewOrder {
    /// Returns the lines in use.
    #[inline]
    pub fn lines(&self) -> &[OrderLineInput] {
        &self.lines[..usize::from(self.line_count).min(LINES_MAX)]
    }

    /// Returns `true` if the home warehouse supplies all lines: `O_ALL_LOCAL`.
    #[inline]
    pub fn is_all_local(&self) -> bool {
        self.lines().iter().all(|line| line.supply_warehouse == self.warehouse)
    }
}

impl Input {
    /// Returns the index of the request's transaction type, if analytic transactions log their results.
    #[inline]
    pub(super) fn kind(&self) -> usize {
        match self {
            Self::NewOrder(_) => 0,
            Self::Payment(_) => 1,
            Self::OrderStatus(_) => 2,
            Self::Delivery(_) => 3,
            Self::StockLevel(_) => 4,
            Self::Audit(_) => AUDIT,
            Self::Analytic(_) => ANALYTIC,
        }
    }

    /// Returns the homes of the warehouses that the request touches.
    pub(super) fn homes(&self) -> Homes {
        let mut homes = Homes::new();
        match self {
            Self::NewOrder(input) => {
                homes.add(home_number(input.warehouse));
                // Nearly all lines are supplied by the home warehouse.
                let remote = input.lines().iter().filter(|line| line.supply_warehouse != input.warehouse);
                remote.for_each(|line| homes.add(home_number(line.supply_warehouse)));
            }
            Self::Payment(input) => {
                homes.add(home_number(input.warehouse));
                homes.add(home_number(input.customer_warehouse));
            }
            Self::OrderStatus(OrderStatus { warehouse, .. })
            | Self::Delivery(Delivery { warehouse, .. })
            | Self::StockLevel(StockLevel { warehouse, .. })
            | Self::Audit(Audit { warehouse, .. })
            | Self::Analytic(Analytic { warehouse, .. }) => homes.add(home_number(*warehouse)),
        }
        homes
    }
}

impl Settings {
    /// Draws request number `sequence` of a client.
    pub(super) fn generate(&self, client: ClientId, sequence: u64, rng: &mut Rng) -> Input {
        // A request a millisecond, from the day after the load on. A real clock would make the rows of two
        // runs differ.
        let date = LOADED_AT_MS + 24 * 3_600_000 + sequence;
        let warehouse = self.home_of(client, rng);
        // No random number is drawn if audits are off: the other requests then stay the same.
        if self.audit_pct > 0.0 && rng.percent(self.audit_pct) {
            return Input::Audit(Audit {
                warehouse,
                district: district(rng),
                draw: rng.below(1 << 32) as u32,
            });
        }
        // The same holds for analytic transactions, which are a share of all requests and not of those that are left.
        let pct = self.analytics.pct;
        if pct > 0.0 && rng.percent(100.0 * pct / (100.0 - self.audit_pct)) {
            return Input::Analytic(Analytic { warehouse, rows: self.analytic_rows(rng) });
        }
        let mut drawn = rng.below(u64::from(self.weights.iter().sum::<u32>())) as u32;
        let is_drawn = |&weight: &u32| {
            let is_here = drawn < weight;
            drawn = drawn.wrapping_sub(weight);
            is_here
        };
        match self.weights.iter().position(is_drawn) {
            Some(0) => Input::NewOrder(self.new_order(warehouse, date, rng)),
            Some(1) => Input::Payment(self.payment(warehouse, date, rng)),
            Some(2) => {
                let district = district(rng);
                Input::OrderStatus(OrderStatus { warehouse, district, who: self.who(rng) })
            }
            Some(3) => {
                let districts = 1..=if self.delivery == DeliveryChoice::PerDistrict { 1 } else { DISTRICTS };
                let carrier = rng.between(1, 10) as u8;
                Input::Delivery(Delivery { client, districts, warehouse, carrier, date })
            }
            _ => {
                // Each terminal has a fixed district (TPC-C 2.8.1.1).
                let district = (client.0 % u32::from(DISTRICTS)) as u8 + 1;
                Input::StockLevel(StockLevel { warehouse, district, threshold: threshold(rng) })
            }
        }
    }

    /// Draws the rows of an analytic transaction.
    fn analytic_rows(&self, rng: &mut Rng) -> AnalyticRows {
        match self.analytics.reach {
            Reach::Stock(count) => {
                let first = rng.between(1, u64::from(self.items - count) + 1) as u32;
                AnalyticRows::Stock { items: first..first + count, threshold: threshold(rng) }
            }
            Reach::Lines(orders) => AnalyticRows::Lines { orders },
        }
    }

    /// Returns the home warehouse of a client's next request.
    fn home_of(&self, client: ClientId, rng: &mut Rng) -> u16 {
        let (warehouses, clients) = (u64::from(self.warehouses), u64::from(self.clients));
        let client = u64::from(client.0) % clients;
        match &self.home {
            // Consecutive clients share a warehouse, so that each of its terminals has another district
            // (TPC-C 2.8.1.1).
            Home::Fixed if self.wait_scale.is_some() => (client / u64::from(TERMINALS)) as u16 + 1,
            Home::Fixed if clients > warehouses => (client % warehouses) as u16 + 1,
            Home::Fixed => {
                let (first, next) = (client * warehouses / clients, (client + 1) * warehouses / clients);
                rng.between(first + 1, next) as u16
            }
            Home::Uniform => rng.between(1, warehouses) as u16,
            Home::Zipf { ranks, by_rank } => by_rank[ranks.rank(rng) as usize],
        }
    }

    fn new_order(&self, warehouse: u16, date: u64, rng: &mut Rng) -> NewOrder {
        let mut input = NewOrder {
            warehouse,
            district: district(rng),
            line_count: rng.between(5, LINES_MAX as u64) as u8,
            customer: self.random_customer.draw(rng) as u32,
            date,
            lines: [OrderLineInput::default(); LINES_MAX],
        };
        let line_count = usize::from(input.line_count);
        for line in &mut input.lines[..line_count] {
            let is_remote = rng.percent(self.remote_item_pct);
            *line = OrderLineInput {
                item: self.random_item.draw(rng) as u32,
                supply_warehouse: if is_remote { self.other_warehouse(warehouse, rng) } else { warehouse },
                quantity: rng.between(1, 10) as u16,
            };
        }
        if rng.percent(self.rollback_pct) {
            input.lines[line_count - 1].item = self.items + 1;
        }
        input
    }

    fn payment(&self, warehouse: u16, date: u64, rng: &mut Rng) -> Payment {
        let here = district(rng);
        let (mut customer_warehouse, mut customer_district) = (warehouse, here);
        if rng.percent(self.remote_payment_pct) {
            customer_warehouse = self.other_warehouse(warehouse, rng);
            customer_district = district(rng);
        }
        Payment {
            warehouse,
            district: here,
            customer_district,
            customer_warehouse,
            who: self.who(rng),
            amount: rng.between(100, 500_000) as u32,
            date,
        }
    }

    /// Selects a customer: 60% by name, 40% by number (TPC-C 2.5.1.2, 2.6.1.2).
    fn who(&self, rng: &mut Rng) -> Who {
        if rng.percent(60.0) {
            Who::Name(last_name(self.random_name.draw(rng)))
        } else {
            Who::Number(self.random_customer.draw(rng) as u32)
        }
    }

    /// Draws any other warehouse.
    fn other_warehouse(&self, warehouse: u16, rng: &mut Rng) -> u16 {
        let drawn = rng.between(1, u64::from(self.warehouses) - 1) as u16;
        drawn + u16::from(drawn >= warehouse)
    }
}

fn district(rng: &mut Rng) -> u8 {
    rng.between(1, u64::from(DISTRICTS)) as u8
}

/// Draws the threshold below which a stock is low (TPC-C 2.8.1.2).
fn threshold(rng: &mut Rng) -> i32 {
    rng.between(10, 20) as i32
}

#[cfg(test)]
mod tests {
    use super::super::settings::tests::settings;
    use super::*;

    fn inputs(given: &[(&str, &str)], clients: u32, count: u32) -> Vec<Input> {
        let settings = settings(given, clients).expect("legal");
        let input = |n| {
            settings.generate(ClientId(n % clients), u64::from(n), &mut Rng::from_path(&[1, u64::from(n)]))
        };
        (0..count).map(input).collect()
    }

    fn home(input: &Input) -> u64 {
        input.homes().listed().expect("warehouses are known")[0]
    }

    #[test]
    fn the_mix_is_the_asked_one() {
        let mut counts = [0_u32; 5];
        for input in inputs(&[], 1, 100_000) {
            counts[input.kind()] += 1;
        }
        for (count, percent) in counts.into_iter().zip([45, 43, 4, 4, 4]) {
            assert!(count.abs_diff(percent * 1_000) < 500, "{counts:?}");
        }
        assert!(inputs(&[("mix", "0,0,1,0,0")], 1, 100).iter().all(|input| input.kind() == 2));
    }

    #[test]
    fn inputs_keep_their_ranges() {
        for input in inputs(&[("warehouses", "3")], 2, 20_000) {
            match input {
                Input::NewOrder(order) => {
                    assert!((1..=10).contains(&order.district) && (5..=15).contains(&order.lines().len()));
                    assert!((1..=3_000).contains(&order.customer));
                    let (last, rest) = order.lines().split_last().expect("there are lines");
                    assert!(rest.iter().all(|line| (1..=100_000).contains(&line.item)));
                    assert!((1..=100_001).contains(&last.item));
                    assert!(order.lines().iter().all(|line| (1..=10).contains(&line.quantity)));
                    assert!(order.lines().iter().all(|line| (1..=3).contains(&line.supply_warehouse)));
                }
                Input::Payment(payment) => {
                    assert!((1..=10).contains(&payment.customer_district));
                    assert!((100..=500_000).contains(&payment.amount));
                    let is_local = payment.warehouse == payment.customer_warehouse;
                    assert!(!is_local || payment.district == payment.customer_district);
                }
                Input::OrderStatus(status) => assert!((1..=10).contains(&status.district)),
                Input::Delivery(delivery) => assert!((1..=10).contains(&delivery.carrier)),
                Input::StockLevel(level) => assert!((10..=20).contains(&level.threshold)),
                Input::Audit(_) | Input::Analytic(_) => panic!("{input:?} was not asked for"),
            }
        }
    }

    #[test]
    fn a_terminal_keeps_to_a_warehouse_and_a_district_of_its_own() {
        let given = [("warehouses", "3"), ("terminals", "on"), ("mix", "0,0,0,0,1")];
        let settings = settings(&given, 30).expect("legal");
        let mut places: Vec<(u16, u8)> = Vec::new();
        for client in 0..30 {
            let place = |sequence| {
                let rng = &mut Rng::from_path(&[1, u64::from(client), sequence]);
                match settings.generate(ClientId(client), sequence, rng) {
                    Input::StockLevel(input) => (input.warehouse, input.district),
                    other => panic!("{other:?}"),
                }
            };
            assert!((1..20).all(|sequence| place(sequence) == place(0)));
            places.push(place(0));
        }
        places.sort_unstable();
        places.dedup();
        assert_eq!(places.len(), 30);
    }

    #[test]
    fn one_new_order_in_a_hundred_rolls_back_unless_eased() {
        let rollbacks = |profile| {
            let all = inputs(&[("mix", "1,0,0,0,0"), ("profile", profile)], 1, 100_000);
            let is_rollback = |input: &&Input| match input {
                Input::NewOrder(order) => order.lines().iter().any(|line| line.item > 100_000),
                _ => false,
            };
            all.iter().filter(is_rollback).count()
        };
        assert!((900..1_100).contains(&rollbacks("standard")));
        assert_eq!(rollbacks("eased"), 0);
    }

    #[test]
    fn audits_are_the_asked_share_and_leave_the_mix_of_the_others() {
        let mut counts = [0_u32; 6];
        for input in inputs(&[("audit_pct", "20")], 1, 100_000) {
            counts[input.kind()] += 1;
        }
        for (count, percent) in counts.into_iter().zip([36.0, 34.4, 3.2, 3.2, 3.2, 20.0]) {
            assert!((f64::from(count) - percent * 1e3).abs() < 500.0, "{counts:?}");
        }
    }

    #[test]
    fn analytic_transactions_are_the_asked_share_beside_audits() {
        let mut counts = [0_u32; 7];
        for input in inputs(&[("analytic_pct", "30"), ("audit_pct", "20")], 1, 100_000) {
            counts[input.kind()] += 1;
        }
        for (count, percent) in counts.into_iter().zip([22.5, 21.5, 2.0, 2.0, 2.0, 20.0, 30.0]) {
            assert!((f64::from(count) - percent * 1e3).abs() < 500.0, "{counts:?}");
        }
    }

    #[test]
    fn settings_of_analytic_transactions_that_nobody_sends_change_no_request() {
        let others = [("analytic", "lines"), ("analytic_share_pct", "70"), ("analytic_log", "off")];
        for mix in [("audit_pct", "0"), ("audit_pct", "20")] {
            let all = inputs(&[mix, others[0], others[1], others[2]], 3, 3_000);
            assert!(all == inputs(&[mix], 3, 3_000));
        }
    }

    #[test]
    fn a_seed_draws_the_same_requests_for_good() {
        // Results of other versions compare only if the requests are the same: FNV-1a of all that was drawn.
        let hash = |given: &[(&str, &str)]| {
            let text = format!("{:?}", inputs(given, 3, 1_000));
            let hash = |hash: u64, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
            text.bytes().fold(0xcbf2_9ce4_8422_2325, hash)
        };
        assert_eq!(hash(&[("warehouses", "5")]), 0xeeac_4f3e_20ee_02c0);
        let audited = [("warehouses", "5"), ("audit_pct", "20"), ("home", "uniform")];
        assert_eq!(hash(&audited), 0xb0f8_a94f_5a2b_78d3);
    }

    #[test]
    fn analytic_ranges_are_of_the_asked_length_and_lie_anywhere() {
        let ranges = |pct| {
            let given = [("items", "50"), ("analytic_pct", "90"), ("analytic_share_pct", pct)];
            let all = inputs(&given, 1, 5_000).into_iter();
            let ranges = all.filter_map(|input| match input {
                Input::Analytic(Analytic { rows: AnalyticRows::Stock { items, threshold }, .. }) => {
                    assert!((10..=20).contains(&threshold));
                    Some(items)
                }
                _ => None,
            });
            ranges.collect::<Vec<_>>()
        };
        for (pct, len) in [("0.01", 1), ("20", 10), ("100", 50)] {
            let all = ranges(pct);
            assert!(all.iter().all(|items| items.len() == len), "{pct}");
            let firsts: std::collections::BTreeSet<_> = all.iter().map(|items| items.start).collect();
            assert!(firsts.into_iter().eq(1..=51 - len as u32), "{pct}");
        }
        let given = [("analytic", "lines"), ("customers_per_district", "50"), ("analytic_pct", "90")];
        let lines = inputs(&given, 1, 100).into_iter().find(|input| input.kind() == ANALYTIC);
        let Some(Input::Analytic(Analytic { rows, .. })) = lines else { panic!("nine in ten are analytic") };
        assert_eq!(rows, AnalyticRows::Lines { orders: 10 });
    }

    #[test]
    fn six_selections_in_ten_are_by_name() {
        let all = inputs(&[("mix", "0,0,1,0,0")], 1, 50_000);
        let is_by_name =
            |input: &&Input| matches!(input, Input::OrderStatus(OrderStatus { who: Who::Name(_), .. }));
        let by_name = all.iter().filter(is_by_name).count();
        assert!((29_500..30_500).contains(&by_name), "{by_name}");
    }

    #[test]
    fn remote_shares_are_the_asked_ones_at_any_scale() {
        let remote = |warehouses, kind, pct: &str| {
            let mix = if kind == 0 { "1,0,0,0,0" } else { "0,1,0,0,0" };
            let pcts = [("remote_item_pct", pct), ("remote_payment_pct", pct)];
            let given = [("warehouses", warehouses), ("mix", mix), pcts[0], pcts[1]];
            let all = inputs(&given, 1, 10_000);
            all.iter().filter(|input| input.homes().listed().is_some_and(|homes| homes.len() > 1)).count()
        };
        for kind in [0, 1] {
            assert_eq!((remote("1", kind, "100"), remote("2", kind, "0")), (0, 0));
            assert_eq!(remote("2", kind, "100"), 10_000);
            assert_eq!(remote("5", kind, "100"), 10_000);
        }
        assert!(remote("4", 1, "15").abs_diff(1_500) < 150);
        assert!(remote("4", 0, "1").abs_diff(952) < 120);
    }

    #[test]
    fn clients_keep_to_warehouses_of_their_own_when_homes_are_fixed() {
        let given = [("warehouses", "5")];
        let all = inputs(&given, 2, 1_000);
        assert!(all.iter().step_by(2).all(|input| home(input) < 2));
        assert!(all.iter().skip(1).step_by(2).all(|input| home(input) >= 2));
        for (n, input) in inputs(&[("warehouses", "2")], 3, 99).iter().enumerate() {
            assert_eq!(home(input), n as u64 % 3 % 2);
        }
    }

    #[test]
    fn homes_reach_all_warehouses_with_the_asked_skew() {
        for (choice, hottest) in [("uniform", 0.1), ("zipf:0.9", 0.28)] {
            let mut counts = [0_u32; 10];
            for input in inputs(&[("warehouses", "10"), ("home", choice)], 3, 20_000) {
                counts[home(&input) as usize] += 1;
            }
            assert!(counts.iter().all(|&count| count > 0), "{choice}: {counts:?}");
            let share = f64::from(counts.into_iter().max().unwrap()) / 20_000.0;
            assert!((share - hottest).abs() < 0.05, "{choice}: {share}");
        }
    }
}
