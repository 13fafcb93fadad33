//! The forecast of TPC-C: sentences about the load that the settings cause, before anything runs.

use engine::{Drive, Forecast, ImplicitForecast, Workload};

use super::Tpcc;
use super::analytic::{ANALYTIC, Reach};
use super::rows::{
    AnalyticHistory, Customer, CustomerData, CustomerInfo, DISTRICTS, DistrictInfo, DistrictNext,
    DistrictYtd, History, Item, NewOrder, Order, OrderLine, Stock, StockInfo, Warehouse, WarehouseInfo,
};
use super::settings::{DeliveryChoice, Home, Settings, TERMINALS, Ytd, any_line};
use crate::text;

/// The mean number of lines of an order: 5 to 15.
const LINES_MEAN: u64 = 10;

/// The number of rows of each kind after loading, with the size of a row in bytes.
fn loaded(settings: &Settings) -> [(u64, usize); 9] {
    let (warehouses, items) = (u64::from(settings.warehouses), u64::from(settings.items));
    let districts = settings.districts() as u64;
    let customers = districts * u64::from(settings.customers);
    [
        (warehouses, size_of::<Warehouse>() + size_of::<WarehouseInfo>()),
        (districts, size_of::<DistrictNext>() + size_of::<DistrictYtd>() + size_of::<DistrictInfo>()),
        (customers, size_of::<Customer>() + size_of::<CustomerInfo>() + size_of::<CustomerData>()),
        (customers, size_of::<History>()),
        (customers, size_of::<Order>()),
        (customers * LINES_MEAN, size_of::<OrderLine>()),
        (districts * u64::from(settings.undelivered()), size_of::<NewOrder>()),
        (items, size_of::<Item>()),
        (warehouses * items, size_of::<Stock>() + size_of::<StockInfo>()),
    ]
}

/// The forecast of a run.
pub(super) fn forecast(settings: &Settings, drive: Drive) -> Forecast {
    let rows = loaded(settings).iter().map(|(rows, _)| rows).sum();
    let row_bytes = loaded(settings).iter().map(|(rows, bytes)| rows * *bytes as u64).sum();
    let mut sentences = vec![
        data(settings, rows, row_bytes),
        mix(settings),
        concurrency(settings, drive),
        remote(settings),
        hottest(settings),
    ];
    if settings.wait_scale.is_some() {
        sentences.push(terminals(settings));
    }
    match settings.delivery {
        DeliveryChoice::OneTransaction => {}
        DeliveryChoice::PerDistrict => sentences.push(
            "A Delivery is ten transactions, one a district, that its client sends one after the other; it counts \
             once, when the last of them has committed."
                .to_owned(),
        ),
        DeliveryChoice::SkipIfRunning => sentences.push(
            "A Delivery that begins while another runs in its warehouse commits without any work and counts all the \
             same; results are not comparable with those of the standard."
                .to_owned(),
        ),
        DeliveryChoice::StopAtAbort => sentences.push(
            "A Delivery commits without any work while another runs in its warehouse, and for ever once one has \
             aborted there before its commit; it counts all the same, and results are not comparable with those of \
             the standard."
                .to_owned(),
        ),
    }
    if settings.audit_pct > 0.0 {
        sentences.push(
            "Audits read what belongs together and fail the check when it does not; they count as transactions, so \
             that results are not comparable with those of the standard."
                .to_owned(),
        );
    }
    if settings.analytics.pct > 0.0 {
        sentences.push(analytic(settings));
    }
    if settings.is_eased {
        sentences.push(
            "The profile is eased: order ids come from a counter outside of the transactions, New-Orders write \
             no district and none rolls back; results are not comparable with those of the standard."
                .to_owned(),
        );
    }
    Forecast {
        sentences,
        row_bytes,
        rows,
        growth_bytes: growth(settings),
        growth_rows: growth_rows(settings),
        implicit: Some(implicit(settings)),
        idle: idle(settings),
        features: vec![
            ("clients at the busiest warehouse", f64::from(drive.clients) * settings.busiest_home()),
            ("multi-warehouse share", multi_warehouse(settings)),
            ("read-only share", read_only(settings)),
            ("analytic share", settings.analytics.pct / 100.0),
            ("rows an analytic transaction reads", analytic_rows(settings) as f64),
        ],
    }
}

/// Returns the settings that change nothing, because nobody does what they are about.
fn idle(settings: &Settings) -> Vec<&'static str> {
    let [new_orders, payments, _, deliveries, stock_levels] = settings.weights.map(|weight| weight > 0);
    let (is_remote, is_analytic) = (settings.warehouses > 1, settings.analytics.pct > 0.0);
    let reads_lines = is_analytic && matches!(settings.analytics.reach, Reach::Lines(_));
    // These look at the next order's number, which `eased` keeps elsewhere.
    let numbers = new_orders || stock_levels || reads_lines || settings.audit_pct > 0.0;
    text::idle([
        ("tpcc.home", is_remote),
        ("tpcc.remote_item_pct", is_remote && new_orders),
        ("tpcc.remote_payment_pct", is_remote && payments),
        ("tpcc.delivery", deliveries),
        ("tpcc.analytic", is_analytic),
        ("tpcc.analytic_share_pct", is_analytic),
        ("tpcc.analytic_log", is_analytic),
        ("tpcc.profile", numbers),
        ("tpcc.hot_rows", new_orders && !settings.is_eased || payments),
        ("tpcc.commutative", payments),
        ("tpcc.rollback_pct", new_orders && !settings.is_eased),
    ])
}

/// The share of transactions that touch other warehouses beside their home.
fn multi_warehouse(settings: &Settings) -> f64 {
    let payments = settings.remote_payment_pct / 100.0;
    settings.share(0) * settings.remote_new_order() + settings.share(1) * payments
}

/// The share of transactions that only read.
fn read_only(settings: &Settings) -> f64 {
    (0..Tpcc::TYPES.len()).filter(|&kind| Tpcc::TYPES[kind].read_only).map(|kind| settings.share(kind)).sum()
}

/// The bytes of rows that a New-Order adds.
const NEW_ORDER_BYTES: usize =
    size_of::<Order>() + size_of::<NewOrder>() + LINES_MEAN as usize * size_of::<OrderLine>();

/// The mean number of bytes of rows that a transaction of the mix adds.
fn growth(settings: &Settings) -> u64 {
    let bytes = settings.share(0) * NEW_ORDER_BYTES as f64
        + settings.share(1) * size_of::<History>() as f64
        + settings.share(ANALYTIC) * size_of::<AnalyticHistory>() as f64;
    bytes.ceil() as u64
}

/// The mean number of rows that a transaction of the mix adds.
fn growth_rows(settings: &Settings) -> f64 {
    settings.share(0) * (2 + LINES_MEAN) as f64 + settings.share(1) + settings.share(ANALYTIC)
}

/// The share of a district's customers who have the last name that Payment or Order-Status asks for, in the mean. There
/// are 1,000 names, and names that are asked for often are those of many.
const NAMED_PCT: f64 = 0.2;

/// The implicit rows, and those of them that a transaction of the mix touches in the mean.
fn implicit(settings: &Settings) -> ImplicitForecast {
    let all = loaded(settings);
    let [_, _, customers, _, orders, lines, new_orders, _, stocks] = all;
    let implicit = [customers, all[3], orders, lines, new_orders, stocks];
    // A customer is chosen by name in 60 of 100 cases (TPC-C 2.5.1.2).
    let named = 0.4 + 0.6 * (NAMED_PCT / 100.0 * f64::from(settings.customers)).max(1.0);
    let [new_order, payment, status, delivery, level] = [0, 1, 2, 3, 4].map(|kind| settings.share(kind));
    let (districts, lines_mean) = (f64::from(DISTRICTS), LINES_MEAN as f64);
    let of_level = 20.0 * lines_mean;
    let touched = [
        (new_order + (payment + status) * named + delivery * districts, customers),
        (status + delivery * districts, orders),
        ((status + delivery * districts) * lines_mean + level * of_level, lines),
        (delivery * districts, new_orders),
        (
            new_order * lines_mean
                + level * of_level
                + settings.share(ANALYTIC) * analytic_rows(settings) as f64,
            stocks,
        ),
    ];
    let rows = implicit.iter().map(|(rows, _)| rows).sum();
    let row_bytes = implicit.iter().map(|(rows, bytes)| rows * *bytes as u64).sum();
    let touched_rows = touched.iter().map(|(count, _)| count).sum();
    let touched_bytes = touched.iter().map(|(count, (_, bytes))| count * *bytes as f64).sum();
    ImplicitForecast { rows, row_bytes, touched_rows, touched_bytes }
}

fn data(settings: &Settings, rows: u64, row_bytes: u64) -> String {
    format!(
        "Data: {} with {} customers a district and {} items, about {} rows of {:.1} MiB together, before indexes \
         and headers; every New-Order adds about {} bytes and every Payment {}, for as long as the run lasts.",
        count(u64::from(settings.warehouses), "warehouse"),
        thousands(u64::from(settings.customers)),
        thousands(u64::from(settings.items)),
        thousands(rows),
        row_bytes as f64 / f64::from(1 << 20),
        NEW_ORDER_BYTES,
        size_of::<History>(),
    )
}

fn mix(settings: &Settings) -> String {
    let share = |kind: usize| 100.0 * settings.share(kind);
    let named = Tpcc::TYPES.iter().enumerate().filter(|&(kind, _)| settings.share(kind) > 0.0);
    let parts: Vec<_> = named.map(|(kind, of)| format!("{} {:.1}%", of.name, share(kind))).collect();
    format!(
        "Mix: {}; {:.1}% only read, {:.2}% roll back by themselves.",
        parts.join(", "),
        100.0 * read_only(settings),
        share(0) * settings.rollback_pct / 100.0,
    )
}

/// The mean number of rows that an analytic transaction adds up.
fn analytic_rows(settings: &Settings) -> u64 {
    match settings.analytics.reach {
        Reach::Stock(items) => u64::from(items),
        Reach::Lines(orders) => u64::from(DISTRICTS) * u64::from(orders) * LINES_MEAN,
    }
}

fn analytic(settings: &Settings) -> String {
    let rows = thousands(analytic_rows(settings));
    let reads = match settings.analytics.reach {
        Reach::Stock(items) => format!(
            "the stock of {rows} of the {} items of a warehouse, and conflicts with each New-Order that takes one of \
             them meanwhile: about {:.1}% of the New-Orders of the warehouse do",
            thousands(u64::from(settings.items)),
            100.0 * any_line(f64::from(items) / f64::from(settings.items)),
        ),
        Reach::Lines(orders) => format!(
            "the last {} of each district of a warehouse, about {rows} lines, and conflicts with {}, and with each \
             Delivery of one of these orders: {} wait in each district after the load, and the oldest is delivered \
             first",
            count(u64::from(orders), "order"),
            if settings.is_eased {
                "New-Orders that have drawn their number and not committed"
            } else {
                "each New-Order of the warehouse meanwhile, by the next order number of the district"
            },
            thousands(u64::from(settings.undelivered())),
        ),
    };
    format!(
        "Analytic transactions: {}% of all; each reads {reads}; {}; results are not comparable with those of the \
         standard.",
        settings.analytics.pct,
        if settings.analytics.are_logged {
            "it logs its result, so that it is no read-only transaction"
        } else {
            "it writes nothing, so that a scheme may serve it from a snapshot if it knows that beforehand"
        },
    )
}

fn concurrency(settings: &Settings, drive: Drive) -> String {
    let warehouses = f64::from(settings.warehouses);
    let home = match &settings.home {
        Home::Fixed if settings.clients > u32::from(settings.warehouses) => {
            "clients share their home warehouses"
        }
        Home::Fixed => "each client has home warehouses of its own",
        Home::Uniform => "any warehouse is home to any client",
        Home::Zipf { .. } => "some warehouses are home more often than others",
    };
    format!(
        "Concurrency: {:.2} workers and {:.2} clients a warehouse; {home}.",
        f64::from(drive.workers) / warehouses,
        f64::from(drive.clients) / warehouses,
    )
}

fn terminals(settings: &Settings) -> String {
    let cycle_s = settings.cycle_s();
    let most = if cycle_s > 0.0 {
        let rate = f64::from(TERMINALS) / cycle_s;
        format!("a warehouse makes {rate:.2} transactions a second at most")
    } else {
        "they wait for nothing, so that it is they who are measured".to_owned()
    };
    format!(
        "Terminals: ten a warehouse, each busy keying and thinking for {cycle_s:.3} s a transaction in the mean; \
         {most}, whatever executes them. What is stressed is storage, not concurrency control; results are not \
         comparable with those of clients that do not wait."
    )
}

fn remote(settings: &Settings) -> String {
    let (orders, payments) = (settings.remote_new_order(), settings.remote_payment_pct / 100.0);
    format!(
        "Multi-warehouse transactions: {:.1}% of the New-Orders, {:.1}% of the Payments, {:.1}% of all.",
        100.0 * orders,
        100.0 * payments,
        100.0 * multi_warehouse(settings),
    )
}

fn hottest(settings: &Settings) -> String {
    let home = settings.busiest_home();
    let (orders, payments) = (settings.share(0), settings.share(1));
    let district_orders = if settings.is_eased { 0.0 } else { orders };
    format!(
        "Hottest rows: the busiest warehouse is home to {:.1}% of the transactions; {:.1}% of all write its year \
         to date (Payment), and of its ten districts each is written by {:.2}% for the next order number \
         (New-Order) and by {:.2}% for the year to date (Payment); a transaction touches them {}. A Payment {}.",
        100.0 * home,
        100.0 * home * payments,
        10.0 * home * district_orders,
        10.0 * home * payments,
        if settings.is_hot_last { "last" } else { "first, and may conflict on them until it ends" },
        if settings.ytd == Ytd::Added {
            "only adds to the years to date, so that under schemes that add at the commit Payments do not conflict on \
             them"
        } else {
            "reads the years to date that it adds to, so that Payments conflict on them under every scheme"
        },
    )
}

/// Formats a number with its noun.
fn count(number: u64, noun: &str) -> String {
    format!("{} {noun}{}", thousands(number), if number == 1 { "" } else { "s" })
}

/// Formats a number with commas between thousands.
fn thousands(number: u64) -> String {
    let digits = number.to_string();
    let mut grouped = String::new();
    for (at, digit) in digits.char_indices() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}

#[cfg(test)]
mod tests {
    use super::super::settings::tests::settings;
    use super::*;

    fn said(given: &[(&str, &str)], clients: u32) -> Forecast {
        forecast(&settings(given, clients).expect("legal"), Drive { workers: 2, clients, seed: 1 })
    }

    #[test]
    fn a_standard_warehouse_has_about_70_megabytes() {
        let forecast = said(&[], 2);
        assert_eq!(forecast.rows, 1 + 10 + 3 * 30_000 + 300_000 + 9_000 + 200_000);
        assert!((60_000_000..90_000_000).contains(&forecast.row_bytes), "{}", forecast.row_bytes);
    }

    #[test]
    fn sentences_carry_the_figures() {
        let text = said(&[("warehouses", "4"), ("home", "uniform")], 8).sentences.join("\n");
        for figure in [
            "4 warehouses with 3,000 customers",
            "0.50 workers and 2.00 clients a warehouse",
            "9.5% of the New-Orders, 15.0% of the Payments",
            "home to 25.0%",
            "8.0% only read, 0.45% roll back",
        ] {
            assert!(text.contains(figure), "{figure} in {text}");
        }
        assert!(!text.contains("eased") && !text.contains("one a district"));
        let audited = said(&[("audit_pct", "20")], 1).sentences.join("\n");
        assert!(audited.contains("payment 34.4%") && audited.contains("audit 20.0%;"), "{audited}");
        assert!(!text.contains("udit"));
        assert!(text.contains("Payments do not conflict"));
        let reading = said(&[("commutative", "off")], 1).sentences.join("\n");
        assert!(reading.contains("Payments conflict"), "{reading}");
        assert!(said(&[("delivery", "per_district")], 1).sentences.join("\n").contains("one a district"));
        for delivery in ["skip_if_running", "stop_at_abort"] {
            let text = said(&[("delivery", delivery)], 1).sentences.join("\n");
            assert!(text.contains("without any work"), "{text}");
        }
        assert!(
            said(&[("profile", "eased")], 1).sentences.join("\n").contains("0.00% for the next order number")
        );
    }

    #[test]
    fn analytic_transactions_say_what_they_read_and_what_conflicts() {
        let text = |given: &[(&str, &str)]| {
            said(&[&[("analytic_pct", "20")], given].concat(), 1).sentences.join("\n")
        };
        assert!(!said(&[("analytic", "lines")], 1).sentences.join("\n").contains("nalytic"));
        let (stock, lines) = (text(&[]), text(&[("analytic", "lines"), ("analytic_share_pct", "50")]));
        // The mean of 1 - 0.8^n over n from 5 to 15 is 1 - (0.8^5 - 0.8^16) / 2.2.
        for figure in [
            "new_order 36.0%, payment 34.4%",
            "analytic 20.0%; 6.4% only read",
            "20% of all; each reads the stock of 20,000 of the 100,000 items",
            "about 86.4% of the New-Orders",
            "logs its result",
            "not comparable",
        ] {
            assert!(stock.contains(figure), "{figure} in {stock}");
        }
        for figure in
            ["last 1,500 orders of each district", "about 150,000 lines", "each New-Order", "900 wait in"]
        {
            assert!(lines.contains(figure), "{figure} in {lines}");
        }
        let query = text(&[("analytic_log", "off")]);
        assert!(query.contains("analytic_query 20.0%; 26.4% only read") && query.contains("writes nothing"));
        assert!(text(&[("analytic", "lines"), ("profile", "eased")]).contains("drawn their number"));
    }

    #[test]
    fn settings_of_what_nobody_does_are_idle() {
        let idle = |given: &[(&str, &str)], name: &str| {
            said(given, 1).idle.contains(&format!("tpcc.{name}").as_str())
        };
        assert!(idle(&[], "analytic_share_pct") && !idle(&[("analytic_pct", "1")], "analytic_share_pct"));
        assert!(idle(&[], "home") && !idle(&[("warehouses", "2")], "home"));
        assert!(idle(&[("mix", "narrow")], "delivery") && !idle(&[], "delivery"));
        assert!(idle(&[("mix", "0,1,0,0,0")], "profile") && !idle(&[("mix", "0,0,0,0,1")], "profile"));
        assert!(idle(&[("profile", "eased")], "rollback_pct") && !idle(&[], "rollback_pct"));
        assert!(idle(&[("mix", "1,0,0,0,0")], "commutative") && !idle(&[], "commutative"));
    }

    #[test]
    fn only_logged_analytic_transactions_add_rows() {
        let grown = |given: &[(&str, &str)]| {
            let forecast = said(&[&[("mix", "0,0,1,0,0")], given].concat(), 1);
            (forecast.growth_rows, forecast.growth_bytes)
        };
        assert_eq!(grown(&[]), (0.0, 0));
        // A quarter of the requests adds a row of 24 bytes each.
        assert_eq!(grown(&[("analytic_pct", "25")]), (0.25, 6));
        assert_eq!(grown(&[("analytic_pct", "25"), ("analytic_log", "off")]), (0.0, 0));
    }

    #[test]
    fn features_say_what_settings_come_to_together() {
        let of = |given: &[(&str, &str)], clients: u32, name: &str| {
            let features = said(given, clients).features;
            features.iter().find(|(other, _)| *other == name).expect("always there").1
        };
        let crowd = "clients at the busiest warehouse";
        for (given, clients) in
            [(&[][..], 3), (&[("warehouses", "4")], 12), (&[("warehouses", "4"), ("home", "uniform")], 12)]
        {
            assert!((of(given, clients, crowd) - 3.0).abs() < 1e-9, "{given:?}");
        }
        assert!(of(&[("warehouses", "4"), ("home", "zipf:0.9")], 12, crowd) > 4.0);
        assert!((of(&[], 1, "read-only share") - 0.08).abs() < 1e-9);
        let none = [("warehouses", "4"), ("remote_item_pct", "0"), ("remote_payment_pct", "0")];
        assert!(of(&none, 1, "multi-warehouse share").abs() < 1e-12);
        assert!((of(&[("analytic_pct", "5")], 1, "analytic share") - 0.05).abs() < 1e-9);
        let lines = [("analytic", "lines"), ("analytic_share_pct", "1")];
        assert!((of(&lines, 1, "rows an analytic transaction reads") - 3_000.0).abs() < 1e-9);
    }

    #[test]
    fn a_warehouse_of_terminals_makes_about_half_a_transaction_a_second() {
        let standard = settings(&[("terminals", "on"), ("warehouses", "2")], 20).expect("legal");
        // 0.45 * (18 + 12) + 0.43 * (3 + 12) + 0.04 * (2 + 10 + 2 + 5 + 2 + 5), in seconds.
        assert!((standard.cycle_s() - 20.99).abs() < 1e-9, "{}", standard.cycle_s());
        let given = [("terminals", "on"), ("warehouses", "2"), ("wait_scale", "0.01")];
        let scaled = settings(&given, 20).expect("legal");
        assert!((scaled.cycle_s() - 0.2099).abs() < 1e-9, "{}", scaled.cycle_s());
        let text = said(&[("terminals", "on")], 10).sentences.join("\n");
        assert!(text.contains("0.48 transactions a second"), "{text}");
        assert!(!said(&[], 10).sentences.join("\n").contains("erminals"));
    }

    #[test]
    fn terminals_that_contradict_the_rest_are_refused() {
        let refusal = |given: &[(&str, &str)], clients| settings(given, clients).expect_err("refused").0;
        assert!(refusal(&[("terminals", "on")], 9).contains("leave out `--clients`"));
        assert!(refusal(&[("terminals", "on"), ("home", "uniform")], 10).contains("`tpcc.home`"));
        assert!(refusal(&[("wait_scale", "0.5")], 1).contains("`tpcc.terminals=on`"));
    }

    #[test]
    fn numbers_are_grouped() {
        let grouped = [0, 999, 1_000, 1_234_567].map(thousands);
        assert_eq!(grouped, ["0", "999", "1,000", "1,234,567"]);
    }
}
