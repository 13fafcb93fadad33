//! Tests of the brokerage: its transactions, its errors, and the mistakes that its check must find.

use contend::{Advice, schemes};

use super::*;

/// Opens a brokerage whose account 1 pays a tenth of its gains in taxes.
fn opened() -> Brokerage {
    Brokerage::open(Options::new()).unwrap()
}

fn of_alfa(id: u64, quantity: i32, is_lifo: bool) -> Trade {
    Trade {
        id,
        account: 1,
        symbol: "ALFA".parse().unwrap(),
        quantity,
        is_lifo,
        time: id,
        ..wish(0, 1).unwrap()
    }
}

/// Places an order and completes it at a price.
fn make(brokerage: &Brokerage, order: &Trade, price: u32) {
    brokerage.order(order, |_| true).unwrap();
    brokerage.complete(order.id, price, order.time).unwrap();
}

fn trade(brokerage: &Brokerage, id: u64) -> Option<Trade> {
    brokerage.db.snapshot(|txn| txn.get(brokerage.trades, id)).unwrap()
}

#[test]
fn the_program_ends_without_an_error() {
    main().unwrap();
}

#[test]
fn the_books_agree_under_every_scheme_of_the_build() {
    for scheme in schemes().filter(|scheme| scheme.is_built && scheme.unsuited.is_none()) {
        let brokerage = Brokerage::open(Options::new().scheme(scheme.name)).unwrap();
        let (refused, meanwhile) = brokerage.trade().unwrap();
        // Of the 250 orders of a customer 10 are declined, and 13 of the others canceled.
        assert_eq!((refused, meanwhile), (4 * 13, vec![]), "{}", scheme.name);
        let audit = brokerage.audit().unwrap();
        let expected = Audit { orders: 4 * 240, completed: 4 * 227, positions: 58, faults: vec![] };
        assert_eq!(audit, expected, "{}", scheme.name);
    }
}

#[test]
fn a_sale_closes_the_oldest_lots_or_the_newest() {
    // Bought at 20.00 and at 24.00, and sold at 25.00.
    for (is_lifo, left, gain) in [(false, 2, 100 * 500 + 50 * 100), (true, 1, 100 * 100 + 50 * 500)] {
        let brokerage = opened();
        make(&brokerage, &of_alfa(1, 100, false), 2_000);
        make(&brokerage, &of_alfa(2, 100, false), 2_400);
        make(&brokerage, &of_alfa(3, -150, is_lifo), 2_500);
        let lots =
            brokerage.db.snapshot(|txn| txn.scan(brokerage.holdings, ..).collect::<Result<Vec<_>, _>>());
        let lots: Vec<_> = lots.unwrap().into_iter().map(|lot| (lot.trade, lot.quantity)).collect();
        assert_eq!(
            (lots, trade(&brokerage, 3).unwrap().tax),
            (vec![(left, 50)], gain / 10),
            "LIFO: {is_lifo}"
        );
        assert_eq!(brokerage.audit().unwrap().faults, Vec::<String>::new());
    }
}

#[test]
fn a_purchase_covers_what_was_sold_short_and_opens_a_lot_with_the_rest() {
    let brokerage = opened();
    make(&brokerage, &of_alfa(1, -100, false), 2_500);
    make(&brokerage, &of_alfa(2, 300, false), 2_000);
    let lot =
        brokerage.db.snapshot(|txn| txn.scan(brokerage.holdings, ..).next().transpose()).unwrap().unwrap();
    assert_eq!((lot.trade, lot.quantity), (2, 200));
    assert_eq!(trade(&brokerage, 2).unwrap().tax, 100 * 500 / 10);
    make(&brokerage, &of_alfa(3, -200, false), 2_000);
    let audit = brokerage.audit().unwrap();
    assert_eq!((audit.positions, audit.faults), (0, vec![]), "a position of zero has no row");
}

#[test]
fn an_order_that_its_client_declines_leaves_nothing() {
    let brokerage = opened();
    let declined = brokerage.order(&of_alfa(1, 100, false), |costs| costs.commission < 1_000);
    assert!(matches!(declined, Err(TradeError::Declined)), "{declined:?}");
    let noted = brokerage.db.snapshot(|txn| Ok(txn.scan(brokerage.history, ..).count())).unwrap();
    assert_eq!((trade(&brokerage, 1), noted), (None, 0));
    make(&brokerage, &of_alfa(1, 100, false), 2_500);
}

#[test]
fn a_result_that_fits_no_order_is_refused_with_the_reason() {
    let brokerage = opened();
    brokerage.order(&of_alfa(1, 100, false), |_| true).unwrap();
    brokerage.cancel(1, 2).unwrap();
    make(&brokerage, &of_alfa(2, 100, false), 2_500);
    let refused = [1, 2, 3].map(|id| brokerage.complete(id, 2_500, 3).unwrap_err().to_string());
    assert_eq!(refused, ["trade 1 is Canceled", "trade 2 is Completed", "there is no trade 3"]);
    let again = brokerage.order(&of_alfa(2, 100, false), |_| true);
    assert!(matches!(again, Err(TradeError::Known(2))), "{again:?}");
    let elsewhere = brokerage.order(&Trade { account: 99, ..of_alfa(4, 100, false) }, |_| true);
    assert!(matches!(elsewhere, Err(TradeError::NoAccount(99))), "{elsewhere:?}");
    let audit = brokerage.audit().unwrap();
    assert_eq!((audit.orders, audit.completed, audit.faults), (2, 1, vec![]));
    brokerage.db.close().unwrap();
    let closed = brokerage.complete(2, 2_500, 3);
    assert!(matches!(closed, Err(TradeError::Store(error)) if error.advice() == Advice::GiveUp));
}

/// Makes a mistake after a trade of account 1, whose broker is 1, and returns what the check says.
fn found(mistake: impl Fn(&Brokerage, &mut Txn<'_>) -> Result<bool, Error>) -> Vec<String> {
    let brokerage = opened();
    make(&brokerage, &of_alfa(1, 100, false), 2_500);
    assert!(brokerage.db.transact(|txn| mistake(&brokerage, txn)).unwrap(), "the mistake was made");
    brokerage.audit().unwrap().faults
}

#[test]
fn each_mistake_is_found() {
    // A trade that was not added to its broker's totals.
    let missed = Broker { id: 1, trades: Sum(-1), commission: Sum(-1_000) };
    let says = [
        "1: trades of broker 1: 0 is stored, and 1 computed",
        "2: commission of broker 1: 0 is stored, and 1000 computed",
    ];
    assert_eq!(found(|here, txn| txn.add(here.brokers, &missed)), says);
    let twice = Broker { id: 2, trades: Sum(1), commission: Sum(0) };
    assert_eq!(
        found(|here, txn| txn.add(here.brokers, &twice)),
        ["1: trades of broker 2: 1 is stored, and 0 computed"]
    );
    // A sum that was not written, and one of a lot that was not.
    let symbol: Symbol = "ALFA".parse().unwrap();
    let says = ["3: ALFA of account 1: 0 is stored, and 100 computed"];
    assert_eq!(found(|here, txn| txn.delete(here.positions, (1, symbol))), says);
    let says = ["3: ALFA of account 1: 100 is stored, and 0 computed"];
    assert_eq!(found(|here, txn| txn.delete(here.holdings, (1, symbol, 1, 1))), says);
    // An amount that was not added to the balance, and a balance without a settlement.
    let unpaid = |here: &Brokerage, txn: &mut Txn<'_>| {
        let balance = txn.update(here.accounts, 1, |account| account.balance = OPENING_BALANCE)?;
        Ok(balance.is_some())
    };
    assert!(found(unpaid)[0].starts_with("balance of account 1: 1000000 is stored, and "));
    let unsettled = found(|here, txn| txn.delete(here.settlements, 1));
    assert!(unsettled[0].ends_with(" is stored, and 1000000 computed"), "{unsettled:?}");
}
