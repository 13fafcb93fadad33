//! An inventory: goods are found by number, by shelf, and by need, through secondary indexes that follow each change.
//! Counts of sold goods are in a column group that no other operation touches.
#![allow(clippy::print_stdout, reason = "an ordinary program, which prints")]

use contend::{ColumnGroup, Database, Error, Handle, Options, Sum, Table, Text};

// ANCHOR: table
#[derive(Clone, Debug, PartialEq, Table)]
#[table(name = "goods", index(by_need = (is_short, supplier)))]
struct Good {
    #[key]
    number: u64,
    name: Text<32>,
    #[index]
    shelf: Text<8>,
    supplier: u32,
    stock: u32,
    least: u32,
    is_short: bool,
    #[group]
    sold: Sold,
}
// ANCHOR_END: table

// ANCHOR: group
#[derive(Clone, Debug, Default, PartialEq, ColumnGroup)]
struct Sold {
    orders: Sum,
    pieces: Sum,
}
// ANCHOR_END: group

impl Good {
    fn new(number: u64, name: &str, shelf: &str, supplier: u32) -> Result<Self, Error> {
        let (name, shelf) = (name.parse()?, shelf.parse()?);
        Ok(Self {
            number,
            name,
            shelf,
            supplier,
            stock: 10,
            least: 5,
            is_short: false,
            sold: Sold::default(),
        })
    }

    fn set_stock(&mut self, stock: u32) {
        self.stock = stock;
        self.is_short = stock < self.least;
    }
}

/// Takes the goods of an order out, all or none.
// ANCHOR: take
fn take(db: &Database, goods: Handle<Good>, order: &[(u64, u32)]) -> Result<(), Error> {
    db.transact(|txn| {
        txn.prefetch(goods, order.iter().map(|(number, _)| *number));
        for &(number, count) in order {
            let taken = txn.update(goods, number, |good| {
                let left = good.stock.checked_sub(count);
                good.set_stock(left.unwrap_or_default());
                left.is_some()
            })?;
            if taken != Some(true) {
                return Err(Error::rollback(format!("there are not {count} of good {number}")));
            }
            let sold = Sold { orders: Sum(1), pieces: Sum(count.into()) };
            txn.add_group(goods, Good::SOLD, number, &sold)?;
        }
        Ok(())
    })
}
// ANCHOR_END: take

/// The goods that a supplier has to send.
fn needed_of(db: &Database, goods: Handle<Good>, supplier: u32) -> Result<Vec<Good>, Error> {
    db.snapshot(|txn| txn.scan_by(goods, Good::BY_NEED, (true, supplier)..=(true, supplier)).collect())
}

/// Moves all goods from one shelf to another.
fn clear(db: &Database, goods: Handle<Good>, from: Text<8>, to: Text<8>) -> Result<usize, Error> {
    db.transact(|txn| {
        // The rows are collected first: a transaction cannot write while it scans.
        let there = txn.scan_by(goods, Good::BY_SHELF, from..=from).collect::<Result<Vec<Good>, Error>>()?;
        for good in &there {
            txn.update(goods, good.number, |good| good.shelf = to)?;
        }
        Ok(there.len())
    })
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let db = Database::in_memory(Options::new().table::<Good>())?;
    let goods = db.table::<Good>()?;
    db.transact(|txn| {
        for (number, name, shelf, supplier) in
            [(1, "bolts", "A1", 7), (2, "nuts", "A1", 7), (3, "washers", "A2", 8), (4, "screws", "B1", 7)]
        {
            txn.insert(goods, &Good::new(number, name, shelf, supplier)?)?;
        }
        Ok(())
    })?;

    take(&db, goods, &[(1, 6), (2, 1), (3, 8)])?;
    let refused = take(&db, goods, &[(4, 6), (3, 3)]).expect_err("there are two washers");
    assert_eq!(refused.to_string(), "rolled back: there are not 3 of good 3");
    let sold = db.snapshot(|txn| txn.get_group(goods, Good::SOLD, 3))?;
    assert_eq!(sold, Some(Sold { orders: Sum(1), pieces: Sum(8) }));
    let needed = needed_of(&db, goods, 7)?;
    assert_eq!(needed.iter().map(|good| (good.number, good.stock)).collect::<Vec<_>>(), [(1, 4)]);

    let (a1, c3) = ("A1".parse()?, "C3".parse()?);
    assert_eq!((clear(&db, goods, a1, c3)?, clear(&db, goods, a1, c3)?), (2, 0));
    db.transact(|txn| txn.update(goods, 1, |good| good.set_stock(20)))?;
    assert!(needed_of(&db, goods, 7)?.is_empty());
    for good in db.snapshot(|txn| txn.scan_by(goods, Good::BY_SHELF, ..).collect::<Result<Vec<_>, _>>())? {
        println!("{:4} {:8} {:4}", good.shelf.as_str(), good.name.as_str(), good.stock);
    }
    Ok(())
}

#[test]
fn secondary_indexes_follow_each_change() {
    main().expect("the inventory is right");
}
