//! Claims about the programs, the requests and the checks, one transaction at a time.

use engine::Home;

use super::input::{Kind, Party};
use super::*;
use crate::mock::{self, Fixture};

const SMALL: &str = "smallbank.accounts=100";

fn bank(settings: &str) -> Fixture<SmallBank> {
    Fixture::new(&format!("{SMALL} {settings}"))
}

/// Returns the savings and the checking account of the customer with a number.
fn balances(bank: &Fixture<SmallBank>, number: u64) -> (i64, i64) {
    let customer = Customer(bank.workload.people.party(number).id);
    let Tables { savings, checking, .. } = bank.workload.tables;
    let savings = Quiesced::read(&bank.mock, savings, customer, |row| row.balance);
    let checking = Quiesced::read(&bank.mock, checking, customer, |row| row.balance);
    (savings.expect("loaded"), checking.expect("loaded"))
}

/// Sets a customer's balances, and counts the change in the ledger as a commit would.
fn give(bank: &mut Fixture<SmallBank>, number: u64, (savings, checking): (i64, i64)) {
    let before = balances(bank, number);
    let id = bank.workload.people.party(number).id;
    let tables = bank.workload.tables;
    bank.tamper(tables.savings, Customer(id), |row| row.balance = savings);
    bank.tamper(tables.checking, Customer(id), |row| row.balance = checking);
    let given = Sums { savings: savings - before.0, checking: checking - before.1 };
    bank.ledger.change(id, given);
    bank.ledger.flown += given.savings + given.checking;
}

fn input(bank: &Fixture<SmallBank>, kind: Kind, (first, second): (u64, u64), amount: i64) -> Input {
    let party = |number| -> Party { bank.workload.people.party(number) };
    Input { kind, first: party(first), second: party(second), amount }
}

/// The savings and the checking account of two customers.
type Balances = [(i64, i64); 2];

/// Runs a program on two customers with these balances. Returns the balances after its commit, or
/// the abort and the balances.
fn outcome((kind, amount): (Kind, i64), before: Balances) -> Result<Balances, (Abort, Balances)> {
    let [updated, added] = ["off", "on"].map(|commutative| {
        let mut bank = bank(&format!("smallbank.commutative={commutative}"));
        give(&mut bank, 3, before[0]);
        give(&mut bank, 8, before[1]);
        let second = if kind.is_of_two() { 8 } else { 3 };
        let input = input(&bank, kind, (3, second), amount);
        let ended = bank.execute(&input);
        assert_eq!(bank.check(), Ok(()), "{kind:?} of {amount}, {before:?}");
        let after = [balances(&bank, 3), balances(&bank, 8)];
        ended.map(|_| after).map_err(|abort| (abort, after))
    });
    assert_eq!(updated, added, "{kind:?} of {amount}");
    updated
}

#[test]
fn programs_do_what_they_are_defined_to_do() {
    use Kind::{Amalgamate, Balance, DepositChecking, SendPayment, TransactSavings, WriteCheck};
    let before = [(1_000, 600), (70, 30)];
    let rolled_back = Err((Abort::Rollback, before));
    for (program, expected) in [
        ((Balance, 0), Ok(before)),
        ((DepositChecking, 130), Ok([(1_000, 730), (70, 30)])),
        ((DepositChecking, -1), rolled_back),
        ((TransactSavings, 2_020), Ok([(3_020, 600), (70, 30)])),
        ((TransactSavings, -1_000), Ok([(0, 600), (70, 30)])),
        ((TransactSavings, -1_001), rolled_back),
        ((Amalgamate, 0), Ok([(0, 0), (70, 1_630)])),
        ((WriteCheck, 1_600), Ok([(1_000, -1_000), (70, 30)])),
        ((WriteCheck, 1_601), Ok([(1_000, -1_101), (70, 30)])),
        ((SendPayment, 600), Ok([(1_000, 0), (70, 630)])),
        ((SendPayment, 601), rolled_back),
    ] {
        assert_eq!(outcome(program, before), expected, "{program:?}");
    }
    // An Amalgamate also moves debts.
    assert_eq!(outcome((Amalgamate, 0), [(100, -300), (0, 50)]), Ok([(0, 0), (0, -150)]));
}

#[test]
fn whom_nobody_knows_rolls_back_and_leaves_nothing() {
    let mut bank = bank("");
    let loaded = bank.mock.clone();
    for kind in Kind::ALL {
        let mut input = input(&bank, kind, (3, 8), 10);
        input.first.name = rows::Name::of(100);
        assert_eq!(bank.execute(&input), Err(Abort::Rollback), "{kind:?}");
    }
    let mut payment = input(&bank, Kind::SendPayment, (3, 8), 10);
    payment.second.name = rows::Name::of(100);
    assert_eq!(bank.execute(&payment), Err(Abort::Rollback));
    assert!(bank.mock == loaded);
}

#[test]
fn every_mix_and_choice_keeps_the_invariants() {
    for mix in ["full", "original", "1,0,0,0,0,0", "0,0,0,1,0,0", "0,0,3,1,3,3"] {
        for more in [
            "",
            "smallbank.accounts=2 smallbank.theta=0",
            "smallbank.choice=hotspot smallbank.hotspot_accounts=1 smallbank.hotspot_pct=99.9",
            "smallbank.choice=uniform smallbank.accounts=2000 smallbank.refused_pct=20",
            "smallbank.commutative=on smallbank.theta=0.999",
        ] {
            let mut bank = bank(&format!("smallbank.mix={mix} {more}"));
            assert_eq!(bank.check(), Ok(()), "loaded, {mix} {more}");
            bank.run(1_000);
            assert_eq!(bank.check(), Ok(()), "run, {mix} {more}");
        }
    }
}

#[test]
fn refused_requests_and_what_is_not_covered_are_rollbacks() {
    let rollbacks = |settings: &str| bank(settings).run(2_000);
    assert_eq!(rollbacks("smallbank.mix=1,1,0,1,1,0"), 0);
    let refused = rollbacks("smallbank.mix=1,1,0,1,1,0 smallbank.refused_pct=20");
    // Four standard deviations of 6,000 draws are 124.
    assert!(refused.abs_diff(1_200) < 124, "{refused}");
    assert!(rollbacks("smallbank.mix=0,0,0,1,0,5") > 500, "an Amalgamate leaves nothing to pay with");
}

#[test]
fn a_lost_and_an_invented_payment_are_found() {
    for amount in [1, -1] {
        for is_savings in [true, false] {
            // Without an Amalgamate, savings are left to take from.
            let mut bank = bank("smallbank.mix=1,1,1,0,1,1");
            bank.run(500);
            let tables = bank.workload.tables;
            if is_savings {
                bank.tamper(tables.savings, Customer(17), |row| row.balance += amount);
            } else {
                bank.tamper(tables.checking, Customer(17), |row| row.balance += amount);
            }
            bank.assert_found("balances are");
        }
    }
}

#[test]
fn money_that_moved_unasked_is_found_although_the_total_is_right() {
    let mut bank = bank("");
    bank.run(500);
    let tables = bank.workload.tables;
    bank.tamper(tables.checking, Customer(17), |row| row.balance += 5);
    bank.tamper(tables.checking, Customer(18), |row| row.balance -= 5);
    bank.assert_found("balances are");
    let mut bank = self::bank("");
    bank.tamper(tables.checking, Customer(17), |row| row.balance += 5);
    bank.tamper(tables.savings, Customer(17), |row| row.balance -= 5);
    bank.assert_found("balances are");
}

#[test]
fn a_program_that_makes_money_is_found() {
    let mut bank = bank("");
    let amalgamate = input(&bank, Kind::Amalgamate, (3, 8), 0);
    let output = bank.execute(&amalgamate).expect("commits");
    // The ledger is that of a program that takes from the savings and pays in twice.
    let tables = bank.workload.tables;
    bank.tamper(tables.checking, Customer(amalgamate.second.id), |row| row.balance -= output.savings);
    bank.ledger.change(amalgamate.second.id, Sums { savings: 0, checking: -output.savings });
    bank.assert_found("money comes and goes");
}

#[test]
fn accounts_and_names_that_are_lost_or_in_disorder_are_found() {
    type Corrupt = fn(&mut Fixture<SmallBank>, Tables);
    let tables = bank("").workload.tables;
    let cases: [(Corrupt, &str); 6] = [
        (
            |bank, tables| {
                bank.mock.attempt(|txn| txn.delete(tables.savings, Customer(5))).expect("deleted");
            },
            "keep their accounts",
        ),
        (
            |bank, tables| bank.tamper(tables.checking, Customer(5), |row| row.customer = 6),
            "lie under their customers",
        ),
        (
            |bank, tables| {
                bank.tamper(tables.savings, Customer(5), |row| row.balance = -1);
            },
            "never negative",
        ),
        (
            |bank, tables| bank.tamper(tables.account, rows::Name::of(5), |row| row.customer ^= 1),
            "names lead to",
        ),
        (
            |bank, tables| {
                let account = Account { customer: 5 };
                bank.mock
                    .attempt(|txn| txn.insert(tables.account, rows::Name::of(100), &account))
                    .expect("new");
            },
            "has a name and two accounts",
        ),
        (
            |bank, _| {
                let mut input = input(bank, Kind::Balance, (3, 3), 0);
                input.first.id ^= 1;
                bank.execute(&input).expect("commits");
            },
            "the customers they name",
        ),
    ];
    for (corrupt, condition) in cases {
        let mut bank = bank("");
        corrupt(&mut bank, tables);
        bank.assert_found(condition);
    }
}

#[test]
fn any_number_of_loaders_loads_the_same() {
    let bank = bank("");
    let mut schema = Schema::new();
    let workload: SmallBank = mock::declare(SMALL, &mut schema).expect("legal");
    let mut one = mock::Mock::new(&schema, &[]);
    workload.load(Share::WHOLE, &mut one);
    assert!(one == bank.mock);
}

#[test]
fn requests_are_drawn_as_set_and_two_customers_differ() {
    let mut bank = bank("smallbank.mix=15,15,15,15,15,25");
    let inputs = bank.inputs(5_000);
    for kind in Kind::ALL {
        let count = inputs.iter().filter(|input| input.kind == kind).count();
        let (found, share) = (count as f64 / inputs.len() as f64, bank.workload.settings.share(kind));
        // Four standard deviations of 15,000 draws are at most 1.5 points.
        assert!((found - share).abs() < 0.015, "{kind:?}: {found}");
    }
    for more in ["", "smallbank.accounts=2 smallbank.theta=0.999"] {
        let inputs = Fixture::<SmallBank>::new(&format!("{SMALL} {more}")).inputs(2_000);
        assert!(inputs.iter().all(|input| input.kind.is_of_two() == (input.first != input.second)));
    }
}

#[test]
fn the_busiest_customers_are_as_busy_as_forecast() {
    for choice in [
        "smallbank.choice=uniform",
        "smallbank.theta=0.99",
        "smallbank.choice=hotspot smallbank.hotspot_accounts=10 smallbank.hotspot_pct=70",
        "smallbank.choice=hotspot smallbank.hotspot_accounts=100",
    ] {
        let mut bank = bank(&format!("smallbank.mix=1,0,0,0,0,0 {choice}"));
        let inputs = bank.inputs(20_000);
        let SmallBank { people, settings, .. } = &bank.workload;
        for count in [1, 10, 30] {
            let hot: Vec<u64> = (0..count).map(|number| people.party(number).id).collect();
            let hits = inputs.iter().filter(|input| hot.contains(&input.first.id)).count();
            let found = hits as f64 / inputs.len() as f64;
            assert!((found - settings.hottest(count)).abs() < 0.015, "{choice}, {count}: {found}");
        }
        assert!((settings.hottest(100) - 1.0).abs() < 1e-9, "{choice}");
        let pairs = inputs.chunks_exact(2).filter(|pair| pair[0].first == pair[1].first).count();
        let found = pairs as f64 / (inputs.len() / 2) as f64;
        assert!((found - settings.collision()).abs() < 0.01, "{choice}: {found}");
    }
}

#[test]
fn homes_are_those_of_the_customers() {
    let mut bank = bank("");
    for input in bank.inputs(500) {
        let homes = bank.workload.homes(&input);
        let homes = homes.listed().expect("the customers are known");
        for party in [input.first, input.second] {
            let Home::At(home) = engine::Key::home(Customer(party.id)) else { panic!("accounts have homes") };
            assert!(homes.contains(&home));
        }
        assert_eq!(homes.len(), 1 + usize::from(input.kind.is_of_two()));
    }
}

#[test]
fn contradictions_are_refused_with_the_way_out() {
    let refusal = |given: &str| mock::refusal::<SmallBank>(&format!("{SMALL} {given}"));
    assert!(refusal("smallbank.choice=hotspot smallbank.theta=0.5").contains("smallbank.choice=zipfian"));
    assert!(refusal("smallbank.hotspot_pct=50").contains("smallbank.choice=hotspot"));
    assert!(refusal("smallbank.choice=hotspot").contains("100 or less"));
    assert!(refusal("smallbank.refused_pct=100").contains("lower"));
}

#[test]
fn mixes_that_make_no_sense_are_refused() {
    let set = |mix: &str| Values::new(SETTINGS, &[("smallbank.mix".to_owned(), mix.to_owned())]);
    for mix in ["", "half", "1,1,1,1,1", "1,1,1,1,1,1,1", "0,0,0,0,0,0", "1,1,1,1,1,-1", "1,1,1,1,1,1e3"] {
        assert!(set(mix).is_err(), "{mix}");
    }
    assert!(set("0,0,7,0,0,0").is_ok());
}

#[test]
fn the_forecast_names_the_mix_the_hot_and_the_conflicts() {
    let forecast = |given: &str| {
        let workload: SmallBank = mock::declare(given, &mut Schema::new()).expect("legal");
        workload.forecast()
    };
    let standard = forecast("");
    assert_eq!((standard.rows, standard.row_bytes), (300_000, 4_000_000));
    let text = standard.sentences.join("\n");
    for part in ["15% of the transactions only read", "40% are about two", "4.5% of the choices"] {
        assert!(text.contains(part), "{part} is not in:\n{text}");
    }
    let reads = forecast("smallbank.mix=1,0,0,0,0,0");
    assert!(reads.sentences.join("\n").contains("No two transactions conflict."));
    // Deposits to one of two customers: half of the pairs conflict, and each other client adds as
    // much.
    let deposits = forecast("smallbank.accounts=2 smallbank.choice=uniform smallbank.mix=0,1,0,0,0,0");
    let conflicts = deposits.features.iter().find(|(name, _)| name.contains("in flight")).expect("named").1;
    assert!((conflicts - 1.0).abs() < 1e-9, "{conflicts}");
}

#[test]
fn footprints_have_all_balances_that_are_touched() {
    let [commits, untouched, unknown] = bank("").compare_footprints(300);
    assert!(commits > 600, "{commits}");
    assert_eq!([untouched, unknown], [0; 2]);
    assert_eq!(bank("").stated_footprints(100), [300; 2]);
}
