//! Settings: the number of customers, the choice of busy customers, and the mix of programs.

use engine::setting::{Range, Setting, SettingError, Values};
use stdx::{Rng, Zipf};

use super::input::Kind;

/// The maximum number of customers.
const CUSTOMERS_MAX: u64 = 1_000_000_000;
/// The standard value of `smallbank.theta`.
const THETA: &str = "0.9";
/// The hot spot of Alomari et al.: 1,000 customers who have 90% of the accesses.
const HOTSPOT: (&str, &str) = ("1000", "90");

/// Weights of the six programs as in H-Store and `BenchBase`, in the order of [`Kind::ALL`].
const FULL: [u32; Kind::COUNT] = [15, 15, 15, 15, 15, 25];
/// Weights of the five programs of Alomari et al., which are equally frequent. `SendPayment` was
/// added later.
const ORIGINAL: [u32; Kind::COUNT] = [1, 1, 1, 1, 1, 0];

pub(super) const SETTINGS: &[Setting] = &[
    Setting {
        name: "smallbank.accounts",
        default: "100000",
        range: Range::Int(2, CUSTOMERS_MAX),
        unit: "customers",
        doc: "customers, each with a name, a savings and a checking account; the original study has 18,000, \
              BenchBase a million",
        stresses: "contention, when few; caches and memory, when many",
    },
    Setting {
        name: "smallbank.mix",
        default: "full",
        range: Range::Text("`full`, `original`, or six whole weights such as `15,15,15,15,15,25`", |text| {
            mix(text).is_some()
        }),
        unit: "",
        doc: "weights of Balance, DepositChecking, TransactSavings, Amalgamate, WriteCheck, SendPayment; `full` is \
              H-Store's, `original` the first five, all as frequent",
        stresses: "the share of read-only work, and of transactions of two customers",
    },
    Setting {
        name: "smallbank.choice",
        default: "zipfian",
        range: Range::Choice(&["zipfian", "hotspot", "uniform"]),
        unit: "",
        doc: "how customers are chosen: by Zipf's distribution, often from a hot spot as in the original study, or all \
              alike",
        stresses: "which accounts are hot",
    },
    Setting {
        name: "smallbank.theta",
        default: THETA,
        range: Range::Real(0.0, 0.999),
        unit: "",
        doc: "exponent of Zipf's distribution; 0 is uniform, 0.9 gives the hottest of 100,000 customers 4.5%",
        stresses: "contention, and how much the caches help",
    },
    Setting {
        name: "smallbank.hotspot_accounts",
        default: HOTSPOT.0,
        range: Range::Int(1, CUSTOMERS_MAX),
        unit: "customers",
        doc: "customers of the hot spot, of whom one is as busy as the other",
        stresses: "contention, when few",
    },
    Setting {
        name: "smallbank.hotspot_pct",
        default: HOTSPOT.1,
        range: Range::Real(0.0, 100.0),
        unit: "% of choices",
        doc: "how many choices fall on the hot spot; the others on the rest of the customers",
        stresses: "contention within the hot spot",
    },
    Setting {
        name: "smallbank.refused_pct",
        default: "0",
        range: Range::Real(0.0, 100.0),
        unit: "% of requests",
        doc: "how many requests the bank refuses, which roll back: they name a customer that is not there, or deposit \
              a negative amount",
        stresses: "rollbacks, and look-ups that find nothing",
    },
    Setting {
        name: "smallbank.commutative",
        default: "off",
        range: Range::Choice(&["on", "off"]),
        unit: "",
        doc: "whether what DepositChecking, Amalgamate and SendPayment pay in is added at the commit, without reading \
              what it is added to, or the balance is read and written; `on` pays under schemes that add",
        stresses: "conflicts between payments to the same customer",
    },
];

/// Parses the weights of the programs. Returns `None` if the text has no valid weights.
fn mix(text: &str) -> Option<[u32; Kind::COUNT]> {
    match text {
        "full" => Some(FULL),
        "original" => Some(ORIGINAL),
        _ => {
            let mut parts = text.split(',');
            let mut weights = [0; Kind::COUNT];
            for weight in &mut weights {
                *weight = u32::from(parts.next()?.trim().parse::<u16>().ok()?);
            }
            (parts.next().is_none() && weights.iter().any(|&weight| weight > 0)).then_some(weights)
        }
    }
}

/// The distribution of customers. Customers are numbered in the order of how busy they are.
#[derive(Clone, Debug)]
pub(super) enum Choice {
    Uniform,
    /// The first customers are the hot spot.
    Hotspot {
        customers: u64,
        pct: f64,
    },
    Zipf(Zipf),
}

/// The settings as typed values.
#[derive(Clone, Debug)]
pub(super) struct Settings {
    pub(super) customers: u64,
    pub(super) weights: [u32; Kind::COUNT],
    pub(super) choice: Choice,
    pub(super) theta: f64,
    pub(super) refused_pct: f64,
    pub(super) is_commutative: bool,
}

impl Settings {
    pub(super) fn new(values: &Values) -> Result<Self, SettingError> {
        refuse_idle(values)?;
        let customers = values.int("smallbank.accounts");
        let theta = values.real("smallbank.theta");
        let hot = values.int("smallbank.hotspot_accounts");
        let choice = match values.text("smallbank.choice") {
            "hotspot" if hot > customers => {
                return Err(SettingError(format!(
                    "a hot spot of {hot} customers is more than there are: lower `smallbank.hotspot_accounts` to \
                     {customers} or less, or raise `smallbank.accounts`"
                )));
            }
            "hotspot" => Choice::Hotspot { customers: hot, pct: values.real("smallbank.hotspot_pct") },
            "zipfian" if theta > 0.0 => Choice::Zipf(Zipf::new(customers, theta)),
            _ => Choice::Uniform,
        };
        let refused_pct = values.real("smallbank.refused_pct");
        if refused_pct >= 100.0 {
            let says = "every transaction would roll back; lower `smallbank.refused_pct`";
            return Err(SettingError(says.to_owned()));
        }
        Ok(Self {
            customers,
            weights: mix(values.text("smallbank.mix")).expect("checked against its range"),
            choice,
            theta,
            refused_pct,
            is_commutative: values.text("smallbank.commutative") == "on",
        })
    }

    /// Draws a transaction type according to the weights.
    pub(super) fn kind(&self, rng: &mut Rng) -> Kind {
        let mut drawn = rng.below(u64::from(self.weights.iter().sum::<u32>())) as u32;
        let is_drawn = |&weight: &u32| {
            let is_within = drawn < weight;
            drawn = drawn.wrapping_sub(weight);
            is_within
        };
        Kind::ALL[self.weights.iter().position(is_drawn).expect("below the sum of the weights")]
    }

    /// The share of a type among the requests, from 0 to 1.
    pub(super) fn share(&self, kind: Kind) -> f64 {
        f64::from(self.weights[kind as usize]) / f64::from(self.weights.iter().sum::<u32>())
    }

    /// Draws the number of a customer.
    pub(super) fn customer(&self, rng: &mut Rng) -> u64 {
        match &self.choice {
            Choice::Uniform => rng.below(self.customers),
            Choice::Zipf(zipf) => zipf.rank(rng),
            Choice::Hotspot { customers, pct } => {
                let others = self.customers - customers;
                if others == 0 || rng.percent(*pct) {
                    rng.below(*customers)
                } else {
                    customers + rng.below(others)
                }
            }
        }
    }

    /// The share of draws that return one of the first `count` customers.
    pub(super) fn hottest(&self, count: u64) -> f64 {
        let of = |part: u64, whole: u64| if whole == 0 { 1.0 } else { part.min(whole) as f64 / whole as f64 };
        match &self.choice {
            Choice::Uniform => of(count, self.customers),
            Choice::Zipf(zipf) => (0..count).map(|rank| zipf.probability(rank)).sum(),
            Choice::Hotspot { customers, .. } if *customers == self.customers => of(count, *customers),
            Choice::Hotspot { customers, pct } => {
                let beyond = count.saturating_sub(*customers);
                let others = of(beyond, self.customers - customers);
                of(count, *customers) * pct / 100.0 + others * (1.0 - pct / 100.0)
            }
        }
    }

    /// The probability that two draws return the same customer.
    pub(super) fn collision(&self) -> f64 {
        match &self.choice {
            Choice::Uniform => 1.0 / self.customers as f64,
            Choice::Zipf(zipf) => zipf.collision(),
            Choice::Hotspot { customers, pct } => {
                let others = self.customers - customers;
                let hot = if others == 0 { 1.0 } else { pct / 100.0 };
                hot.powi(2) / *customers as f64 + (1.0 - hot).powi(2) / others.max(1) as f64
            }
        }
    }
}

/// Refuses settings of a distribution of customers that is not the chosen one.
fn refuse_idle(values: &Values) -> Result<(), SettingError> {
    let choice = values.text("smallbank.choice");
    for (name, standard, of) in [
        ("smallbank.theta", THETA, "zipfian"),
        ("smallbank.hotspot_accounts", HOTSPOT.0, "hotspot"),
        ("smallbank.hotspot_pct", HOTSPOT.1, "hotspot"),
    ] {
        if choice != of && values.text(name) != standard {
            return Err(SettingError(format!(
                "`{name}` says nothing where customers are chosen by `smallbank.choice={choice}`: give \
                 `smallbank.choice={of}`, or leave it out"
            )));
        }
    }
    Ok(())
}
