//! Settings: the options of TPC-C for users, and their typed values for the workload.

use engine::Pace;
use engine::setting::{Range, Setting, SettingError, Values};
use stdx::{Rng, Zipf};

use super::analytic::{ANALYTIC, ANALYTIC_QUERY, Analytics};
use super::random::{NuRand, Stream};
use super::rows::{DISTRICTS, LINES_MAX};

/// The number of customers of a district in the standard, which is also the maximum (TPC-C 1.2.1).
pub(super) const CUSTOMERS: u64 = 3_000;
/// The number of rows of ITEM in the standard, which is also the maximum (TPC-C 1.2.1).
pub(super) const ITEMS: u64 = 100_000;
/// The maximum number of warehouses: limited by the key of the order index.
const WAREHOUSES_MAX: u64 = 4_096;

/// The five weights of `tpcc.mix=full` (TPC-C 5.2.3), in the order of the transaction types.
const FULL: [u32; 5] = [45, 43, 4, 4, 4];
/// The two-type mix of the research engines.
const NARROW: [u32; 5] = [50, 50, 0, 0, 0];

/// The transaction type of audits.
pub(super) const AUDIT: usize = 5;

/// The number of terminals of a warehouse: one for each of its districts (TPC-C 4.2.2).
pub(super) const TERMINALS: u32 = DISTRICTS as u32;
/// The keying time of each transaction type, in seconds (TPC-C 5.2.5.7).
const KEYING_S: [u64; 5] = [18, 3, 2, 2, 2];
/// The mean think time of each transaction type, in seconds (TPC-C 5.2.5.7).
const THINKING_S: [u64; 5] = [12, 12, 10, 5, 5];

/// The settings of TPC-C.
pub(super) const SETTINGS: &[Setting] = &[
    Setting {
        name: "tpcc.warehouses",
        default: "1",
        range: Range::Int(1, WAREHOUSES_MAX),
        unit: "warehouses",
        doc: "How many warehouses are loaded: the scale of the data, and what concurrent \
              transactions spread over.",
        stresses: "contention, when fewer than clients; memory and caches, when many",
    },
    Setting {
        name: "tpcc.mix",
        default: "full",
        range: Range::Text("`full`, `narrow`, or five whole weights such as `45,43,4,4,4`", |text| {
            mix(text).is_some()
        }),
        unit: "",
        doc: "Weights of New-Order, Payment, Order-Status, Delivery, Stock-Level; `full` is the \
              standard, `narrow` half New-Order and half Payment.",
        stresses: "range scans, deletes and read-only work, which `narrow` leaves out",
    },
    Setting {
        name: "tpcc.home",
        default: "fixed",
        range: Range::Text("`fixed`, `uniform`, or `zipf:THETA` with 0 <= THETA < 1", |text| {
            HomeChoice::parse(text).is_some()
        }),
        unit: "",
        doc: "How a client chooses the home warehouse of each transaction: its own, any, or any with \
              skew; `fixed` is the standard.",
        stresses: "sharing of warehouses between workers, and hot spots in a large data set",
    },
    Setting {
        name: "tpcc.remote_item_pct",
        default: "1",
        range: Range::Real(0.0, 100.0),
        unit: "% of order lines",
        doc: "How many lines of a New-Order are supplied by another warehouse; with one warehouse \
              none can be.",
        stresses: "multi-warehouse transactions, which partitioned schemes pay for",
    },
    Setting {
        name: "tpcc.remote_payment_pct",
        default: "15",
        range: Range::Real(0.0, 100.0),
        unit: "% of Payments",
        doc: "How many Payments are by a customer of another warehouse; with one warehouse none can be.",
        stresses: "multi-warehouse transactions, which partitioned schemes pay for",
    },
    Setting {
        name: "tpcc.items",
        default: "100000",
        range: Range::Int(1, ITEMS),
        unit: "items",
        doc: "Rows of ITEM, and of STOCK per warehouse; fewer than the standard's make small tests, \
              and hot stock.",
        stresses: "conflicts on stock, when few",
    },
    Setting {
        name: "tpcc.customers_per_district",
        default: "3000",
        range: Range::Int(1, CUSTOMERS),
        unit: "customers",
        doc: "Customers, and first orders, of each district; fewer than the standard's make small \
              tests, and hot customers.",
        stresses: "conflicts on customers, when few",
    },
    Setting {
        name: "tpcc.delivery",
        default: "one_transaction",
        range: Range::Choice(&["one_transaction", "per_district", "skip_if_running", "stop_at_abort"]),
        unit: "",
        doc: "Whether a Delivery is one transaction over all ten districts, or one after the other for each; \
              the standard allows both, and the ten count as one either way. It does not allow the other two: with \
              `skip_if_running` a Delivery commits without any work if another runs in its warehouse, and with \
              `stop_at_abort`, as published code has it, also if an earlier one has aborted there before its commit. \
              Schemes that rehearse transactions count rehearsals as Deliveries that run, so that these two say \
              little about them.",
        stresses: "long transactions: how many orders and customers a Delivery holds at a time, and how many \
                   Deliveries of a warehouse conflict",
    },
    Setting {
        name: "tpcc.audit_pct",
        default: "0",
        range: Range::Real(0.0, 100.0),
        unit: "% of all requests",
        doc: "How many requests are audits instead, which read what belongs together (a warehouse's money, a \
              district's order numbers, an order's lines) and fail the run's check when it does not; for finding \
              torn snapshots, not for figures that compare.",
        stresses: "long reads across what New-Orders, Payments and Deliveries write",
    },
    Setting {
        name: "tpcc.analytic_pct",
        default: "0",
        range: Range::Real(0.0, 90.0),
        unit: "% of all requests",
        doc: "How many requests are analytic transactions instead, which add up many rows of the home warehouse; the \
              others keep their proportions. Results do not compare with those of the standard, which has none.",
        stresses: "long reads beside short transactions",
    },
    Setting {
        name: "tpcc.analytic",
        default: "stock",
        range: Range::Choice(&["stock", "lines"]),
        unit: "",
        doc: "The rows that an analytic transaction adds up: the `stock` of a range of items, with a count of those \
              that are low, or the `lines` of the last orders of all ten districts.",
        stresses: "`stock`: updates by New-Orders beside long reads; `lines`: their inserts",
    },
    Setting {
        name: "tpcc.analytic_share_pct",
        default: "20",
        range: Range::Real(0.01, 100.0),
        unit: "% of the loaded rows",
        doc: "How much an analytic transaction reads: a share of the warehouse's stock, from a random item on, or as \
              many last orders of each district as are this share of its loaded orders.",
        stresses: "the length of the analytic reads, and their conflicts",
    },
    Setting {
        name: "tpcc.analytic_log",
        default: "on",
        range: Range::Choice(&["on", "off"]),
        unit: "",
        doc: "Whether an analytic transaction logs its result in a row of its own, so that it is no read-only \
              transaction, which some schemes serve from a snapshot.",
        stresses: "read-mostly transactions, which read-only snapshots do not help",
    },
    Setting {
        name: "tpcc.profile",
        default: "standard",
        range: Range::Choice(&["standard", "eased"]),
        unit: "",
        doc: "`eased` as some published engines run it: no rollbacks, order ids from a counter \
              outside of the transaction, no district update in New-Order.",
        stresses: "the district row, which `eased` frees from New-Orders",
    },
    Setting {
        name: "tpcc.hot_rows",
        default: "last",
        range: Range::Choice(&["last", "first"]),
        unit: "",
        doc: "When New-Order takes its number from the district, and Payment adds to warehouse and district: after \
              all else, as the standard allows, or first, in the order of its text; `last` pays where these rows \
              are held or may change until the commit.",
        stresses: "how long transactions conflict on the hottest rows",
    },
    Setting {
        name: "tpcc.commutative",
        default: "on",
        range: Range::Choice(&["on", "off"]),
        unit: "",
        doc: "Whether Payment adds to warehouse and district when it commits, without reading what it adds to: the \
              sums are the same, and nobody sees them but audits; `off` reads and writes them, as schemes that \
              cannot do otherwise do anyway.",
        stresses: "Payments against each other: reading the sums first makes them conflict on the warehouse",
    },
    Setting {
        name: "tpcc.terminals",
        default: "off",
        range: Range::Choice(&["on", "off"]),
        unit: "",
        doc: "Whether clients are terminals: ten a warehouse, each with a warehouse and a district of its own, whose \
              people key in what they send and think about the answer, as the standard has it; a warehouse then makes \
              about 0.48 transactions a second, and a run without them does not compare.",
        stresses: "storage and idle connections instead of concurrency control",
    },
    Setting {
        name: "tpcc.wait_scale",
        default: "1",
        range: Range::Real(0.0, 1.0),
        unit: "of the standard's times",
        doc: "What the terminals' times to key and to think are multiplied by: 1 is the standard, 0.01 makes a hundred \
              times the load.",
        stresses: "how much of a terminal's time a transaction takes",
    },
    Setting {
        name: "tpcc.rollback_pct",
        default: "1",
        range: Range::Real(0.0, 100.0),
        unit: "% of New-Orders",
        doc: "How many New-Orders name an unused item at the end and roll back; the profile `eased` \
              has none whatever this says.",
        stresses: "the cost of undoing work",
    },
];

/// The settings of a run, as the workload uses them.
#[derive(Clone, Debug)]
pub(super) struct Settings {
    pub(super) seed: u64,
    pub(super) warehouses: u16,
    pub(super) items: u32,
    /// The number of customers of a district, and of its orders after loading.
    pub(super) customers: u32,
    pub(super) clients: u32,
    pub(super) weights: [u32; 5],
    pub(super) home: Home,
    /// Zero with one warehouse, because no other warehouse can supply.
    pub(super) remote_item_pct: f64,
    /// Zero with one warehouse.
    pub(super) remote_payment_pct: f64,
    pub(super) audit_pct: f64,
    pub(super) analytics: Analytics,
    /// Zero with the profile `eased`.
    pub(super) rollback_pct: f64,
    pub(super) is_eased: bool,
    pub(super) is_hot_last: bool,
    pub(super) ytd: Ytd,
    /// The factor of the waits of terminals, or `None` if clients are not terminals.
    pub(super) wait_scale: Option<f64>,
    pub(super) delivery: DeliveryChoice,
    pub(super) random_item: NuRand,
    pub(super) random_customer: NuRand,
    pub(super) random_name: NuRand,
}

/// The way in which Payment changes `W_YTD` and `D_YTD`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ytd {
    /// Payment adds to them without reading them, if the scheme supports that.
    Added,
    /// Payment reads and writes them.
    Updated,
}

/// The value of `tpcc.home`.
#[derive(Clone, Copy, Debug, PartialEq)]
enum HomeChoice {
    Fixed,
    Uniform,
    Zipf(f64),
}

/// The value of `tpcc.delivery`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum DeliveryChoice {
    /// A Delivery is one transaction.
    OneTransaction,
    /// A Delivery is one transaction for each district.
    PerDistrict,
    /// A Delivery is one transaction, without work if another runs in its warehouse.
    SkipIfRunning,
    /// A Delivery is one transaction, without work if another runs in its warehouse or an earlier attempt has aborted
    /// there before its commit.
    StopAtAbort,
}

/// The choice of the home warehouse of a request.
#[derive(Clone, Debug)]
pub(super) enum Home {
    /// Each client has its own warehouses. If there are fewer warehouses than clients, clients share them.
    Fixed,
    /// Any warehouse, with equal probability.
    Uniform,
    /// Any warehouse, by rank. `by_rank` maps ranks to warehouses, so that hot warehouses are not adjacent.
    Zipf {
        /// The distribution of ranks.
        ranks: Zipf,
        /// Warehouses, hottest first.
        by_rank: Vec<u16>,
    },
}

impl HomeChoice {
    fn parse(text: &str) -> Option<Self> {
        match text {
            "fixed" => Some(Self::Fixed),
            "uniform" => Some(Self::Uniform),
            _ => {
                let theta: f64 = text.strip_prefix("zipf:")?.parse().ok()?;
                (0.0..1.0).contains(&theta).then_some(Self::Zipf(theta))
            }
        }
    }
}

/// Parses the weights of the transaction types. Returns `None` if the text has no valid weights.
fn mix(text: &str) -> Option<[u32; 5]> {
    match text {
        "full" => Some(FULL),
        "narrow" => Some(NARROW),
        _ => {
            let mut parts = text.split(',');
            let mut weights = [0; 5];
            for weight in &mut weights {
                *weight = u32::from(parts.next()?.trim().parse::<u16>().ok()?);
            }
            (parts.next().is_none() && weights.iter().any(|&weight| weight > 0)).then_some(weights)
        }
    }
}

impl Settings {
    /// Creates the settings from their values.
    ///
    /// # Errors
    /// If the mix has only New-Orders and 100% of them roll back: such a run commits nothing. If audits and analytic
    /// transactions are more than all requests. If the settings for terminals contradict other settings or the number
    /// of clients.
    pub(super) fn new(values: &Values, clients: u32, seed: u64) -> Result<Self, SettingError> {
        let weights = mix(values.text("tpcc.mix")).expect("checked against its range");
        let warehouses = values.int("tpcc.warehouses");
        let (items, customers) = (values.int("tpcc.items"), values.int("tpcc.customers_per_district"));
        let home = match HomeChoice::parse(values.text("tpcc.home")).expect("checked against its range") {
            HomeChoice::Fixed => Home::Fixed,
            HomeChoice::Uniform => Home::Uniform,
            HomeChoice::Zipf(theta) => {
                Home::Zipf { ranks: Zipf::new(warehouses, theta), by_rank: shuffled(warehouses as u16, seed) }
            }
        };
        let remote = |name| if warehouses == 1 { 0.0 } else { values.real(name) };
        let is_eased = values.text("tpcc.profile") == "eased";
        let rollback_pct = if is_eased { 0.0 } else { values.real("tpcc.rollback_pct") };
        if rollback_pct >= 100.0 && weights[1..] == [0; 4] {
            let way_out = "lower `tpcc.rollback_pct`, or give `tpcc.mix` another transaction";
            return Err(SettingError(format!("every transaction would roll back; {way_out}")));
        }
        let wait_scale = wait_scale(values, &home, clients)?;
        Ok(Self {
            seed,
            warehouses: warehouses as u16,
            items: items as u32,
            customers: customers as u32,
            clients: clients.max(1),
            weights,
            home,
            remote_item_pct: remote("tpcc.remote_item_pct"),
            remote_payment_pct: remote("tpcc.remote_payment_pct"),
            audit_pct: values.real("tpcc.audit_pct"),
            analytics: Analytics::new(values)?,
            rollback_pct,
            is_eased,
            is_hot_last: values.text("tpcc.hot_rows") == "last",
            ytd: if values.text("tpcc.commutative") == "on" { Ytd::Added } else { Ytd::Updated },
            wait_scale,
            delivery: match values.text("tpcc.delivery") {
                "per_district" => DeliveryChoice::PerDistrict,
                "skip_if_running" => DeliveryChoice::SkipIfRunning,
                "stop_at_abort" => DeliveryChoice::StopAtAbort,
                _ => DeliveryChoice::OneTransaction,
            },
            random_item: NuRand::items(items),
            random_customer: NuRand::customers(customers),
            random_name: NuRand::names_run(customers),
        })
    }

    /// The waits of a terminal before and after a request of a type. Audits and analytic transactions have none,
    /// because people do not send them.
    pub(super) fn pace(&self, kind: usize) -> Pace {
        let (Some(scale), Some(keying_s)) = (self.wait_scale, KEYING_S.get(kind)) else { return Pace::NONE };
        let ns = |seconds: u64| (seconds as f64 * 1e9 * scale) as u64;
        Pace { before_ns: ns(*keying_s), after_mean_ns: ns(THINKING_S[kind]) }
    }

    /// The mean time of a terminal from one request to the next, in seconds.
    pub(super) fn cycle_s(&self) -> f64 {
        let of_type = |kind: usize| {
            let Pace { before_ns, after_mean_ns } = self.pace(kind);
            self.share(kind) * (before_ns + after_mean_ns) as f64 / 1e9
        };
        (0..KEYING_S.len()).map(of_type).sum()
    }

    /// The number of districts of all warehouses.
    pub(super) fn districts(&self) -> usize {
        usize::from(self.warehouses) * usize::from(DISTRICTS)
    }

    /// The number of orders of each district that are undelivered when loaded: the last 900 of 3,000 (TPC-C
    /// 4.3.3.1).
    pub(super) fn undelivered(&self) -> u32 {
        self.customers * 3 / 10
    }

    /// The number of orders of each district that are delivered when loaded.
    pub(super) fn delivered(&self) -> u32 {
        self.customers - self.undelivered()
    }

    /// The share of a type among the requests, from 0 to 1.
    pub(super) fn share(&self, kind: usize) -> f64 {
        let (audits, analytics) = (self.audit_pct / 100.0, self.analytics.pct / 100.0);
        match kind {
            AUDIT => audits,
            ANALYTIC | ANALYTIC_QUERY if kind == self.analytics.kind() => analytics,
            _ => {
                let weight = self.weights.get(kind).map_or(0.0, |&weight| f64::from(weight));
                (1.0 - audits - analytics) * weight / f64::from(self.weights.iter().sum::<u32>())
            }
        }
    }

    /// The probability that a New-Order has at least one remote line.
    pub(super) fn remote_new_order(&self) -> f64 {
        any_line(self.remote_item_pct / 100.0)
    }

    /// The share of all transactions whose home is the busiest warehouse.
    pub(super) fn busiest_home(&self) -> f64 {
        let (warehouses, clients) = (u32::from(self.warehouses), self.clients);
        match &self.home {
            Home::Fixed if clients > warehouses => {
                f64::from(clients.div_ceil(warehouses)) / f64::from(clients)
            }
            Home::Fixed => 1.0 / f64::from(clients * (warehouses / clients)),
            Home::Uniform => 1.0 / f64::from(warehouses),
            Home::Zipf { ranks, .. } => ranks.probability(0),
        }
    }
}

/// The probability that a New-Order has at least one line of a kind that each line has with probability `p`: the mean
/// of 1 - (1 - p)^n over orders of 5 to 15 lines.
pub(super) fn any_line(p: f64) -> f64 {
    let lengths = 5..=LINES_MAX as i32;
    let count = lengths.clone().count() as f64;
    lengths.map(|lines| 1.0 - (1.0 - p).powi(lines)).sum::<f64>() / count
}

/// The number of terminals if `tpcc.terminals` is on, else `None`.
pub(super) fn terminals(values: &Values) -> Option<u64> {
    let are_there = values.text("tpcc.terminals") == "on";
    are_there.then(|| values.int("tpcc.warehouses") * u64::from(TERMINALS))
}

/// The factor of the waits of terminals, if clients are terminals.
fn wait_scale(values: &Values, home: &Home, clients: u32) -> Result<Option<f64>, SettingError> {
    let scale = values.real("tpcc.wait_scale");
    let refuse = |says: String| Err(SettingError(says));
    let Some(terminals) = terminals(values) else {
        if scale < 1.0 {
            return refuse(format!(
                "`tpcc.wait_scale={scale}` is of the waits of terminals, and there are none: give \
                 `tpcc.terminals=on`"
            ));
        }
        return Ok(None);
    };
    if !matches!(home, Home::Fixed) {
        return refuse("terminals belong to a warehouse each: leave `tpcc.home` at `fixed`".to_owned());
    }
    if u64::from(clients) != terminals {
        return refuse(format!(
            "`tpcc.terminals=on` makes ten clients a warehouse, {terminals} together, not {clients}: leave out \
             `--clients`"
        ));
    }
    Ok(Some(scale))
}

/// Returns the warehouses in an order fixed by the seed (Fisher and Yates).
fn shuffled(warehouses: u16, seed: u64) -> Vec<u16> {
    let mut rng = Rng::from_path(&[seed, Stream::HotWarehouses as u64]);
    let mut order: Vec<u16> = (1..=warehouses).collect();
    for last in (1..order.len()).rev() {
        order.swap(last, rng.below(last as u64 + 1) as usize);
    }
    order
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// Creates settings that differ from the standard ones in the given values.
    pub(in super::super) fn settings(given: &[(&str, &str)], clients: u32) -> Result<Settings, SettingError> {
        let given: Vec<_> =
            given.iter().map(|(name, value)| (format!("tpcc.{name}"), value.to_string())).collect();
        Settings::new(&Values::new(SETTINGS, &given)?, clients, 1)
    }

    #[test]
    fn mixes_that_make_no_sense_are_refused() {
        for text in ["", "half", "45,43,4,4", "45,43,4,4,4,4", "0,0,0,0,0", "1,1,1,1,-1", "1,1,1,1,1e3"] {
            assert!(settings(&[("mix", text)], 1).is_err(), "{text}");
        }
        assert_eq!(settings(&[("mix", "0,0,7,0,0")], 1).expect("legal").weights, [0, 0, 7, 0, 0]);
    }

    #[test]
    fn homes_that_make_no_sense_are_refused() {
        for text in ["", "zipf", "zipf:", "zipf:1", "zipf:-0.1", "zipf:nan", "random"] {
            assert!(settings(&[("home", text)], 1).is_err(), "{text}");
        }
        assert!(settings(&[("home", "zipf:0")], 1).is_ok());
    }

    #[test]
    fn a_run_that_can_commit_nothing_is_refused() {
        assert!(settings(&[("rollback_pct", "100"), ("mix", "1,0,0,0,0")], 1).is_err());
        assert!(settings(&[("rollback_pct", "100")], 1).is_ok());
        assert!(settings(&[("rollback_pct", "100"), ("mix", "1,0,0,0,0"), ("profile", "eased")], 1).is_ok());
    }

    #[test]
    fn the_shares_of_all_types_are_those_of_the_settings() {
        for (log, kind) in [("on", ANALYTIC), ("off", ANALYTIC_QUERY)] {
            let given = [("audit_pct", "10"), ("analytic_pct", "30"), ("analytic_log", log)];
            let settings = settings(&given, 1).expect("legal");
            let shares: Vec<f64> = (0..8).map(|kind| settings.share(kind)).collect();
            assert!((shares.iter().sum::<f64>() - 1.0).abs() < 1e-9, "{shares:?}");
            assert!((shares[kind] - 0.3).abs() < 1e-9 && (shares[0] - 0.27).abs() < 1e-9, "{shares:?}");
        }
    }

    #[test]
    fn remote_shares_are_those_of_the_closed_form() {
        // 9.5% of the orders have a remote line at 1% a line, 63.2% at 10%: computed by hand.
        let share = |pct| {
            settings(&[("warehouses", "2"), ("remote_item_pct", pct)], 1).expect("legal").remote_new_order()
        };
        assert!((share("1") - 0.0952).abs() < 1e-3);
        assert!((share("10") - 0.632).abs() < 1e-3);
        assert!((share("100") - 1.0).abs() < 1e-9);
        assert!(settings(&[("remote_item_pct", "100")], 1).expect("legal").remote_new_order().abs() < 1e-9);
    }

    #[test]
    fn the_busiest_home_is_counted_by_choice() {
        let busiest = |warehouses: &str, home: &str, clients| {
            settings(&[("warehouses", warehouses), ("home", home)], clients).expect("legal").busiest_home()
        };
        assert!((busiest("2", "fixed", 3) - 2.0 / 3.0).abs() < 1e-9);
        assert!((busiest("5", "fixed", 2) - 0.25).abs() < 1e-9);
        assert!((busiest("4", "uniform", 2) - 0.25).abs() < 1e-9);
        assert!(busiest("100", "zipf:0.99", 2) > 0.15);
    }

    #[test]
    fn hot_warehouses_are_a_permutation() {
        let mut order = shuffled(100, 1);
        assert_ne!(order, shuffled(100, 2));
        order.sort_unstable();
        assert!(order.into_iter().eq(1..=100));
    }
}
