//! A bank: transfers between accounts from several threads, an error type of the program's own, and an audit that
//! sees one state of all accounts.
#![allow(
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "an ordinary program, which starts threads and prints"
)]

use std::thread;

use contend::{Database, Error, Handle, Options, Table, Text};

#[derive(Clone, Debug, Table)]
#[table(name = "accounts")]
struct Account {
    #[key]
    number: u32,
    holder: Text<24>,
    cents: i64,
}

/// A transfer that was made, numbered in the order of the payer's transfers.
#[derive(Clone, Debug, Table)]
#[table(name = "entries")]
struct Entry {
    #[key]
    account: u32,
    #[key]
    number: u32,
    cents: i64,
}

// ANCHOR: errors
/// The error of a transfer that was not made.
#[derive(Debug)]
enum TransferError {
    /// There is no such account: the caller asked for the wrong one.
    NoAccount(u32),
    /// The payer has less money than the transfer.
    InsufficientFunds { cents: i64 },
    /// An error of the database; [`Error::advice`] says what to do.
    Store(Error),
}

// With this conversion, `?` passes on the errors of the database, which then executes the body again after a conflict.
impl From<Error> for TransferError {
    fn from(error: Error) -> Self {
        Self::Store(error)
    }
}
// ANCHOR_END: errors

struct Bank {
    db: Database,
    accounts: Handle<Account>,
    entries: Handle<Entry>,
}

impl Bank {
    fn open(accounts: u32) -> Result<Self, Box<dyn std::error::Error>> {
        let db = Database::in_memory(Options::new().table::<Account>().table::<Entry>())?;
        let bank = Self { accounts: db.table()?, entries: db.table()?, db };
        bank.db.transact(|txn| {
            for number in 0..accounts {
                let holder = Text::new(&format!("holder {number}"))?;
                txn.insert(bank.accounts, &Account { number, holder, cents: 10_000 })?;
            }
            Ok(())
        })?;
        Ok(bank)
    }

    // ANCHOR: transfer
    fn transfer(&self, from: u32, to: u32, cents: i64) -> Result<(), TransferError> {
        self.db.try_transact(|txn| {
            let take = |account: &mut Account| {
                account.cents -= cents;
                account.cents
            };
            let left = txn.update(self.accounts, from, take)?.ok_or(TransferError::NoAccount(from))?;
            if left < 0 {
                return Err(TransferError::InsufficientFunds { cents: left + cents });
            }
            let paid = txn.update(self.accounts, to, |account| account.cents += cents)?;
            paid.ok_or(TransferError::NoAccount(to))?;
            // The payer's last entry gives the number of the next one.
            let last = txn.scan(self.entries, (from, 0)..=(from, u32::MAX)).backward().next().transpose()?;
            let number = last.map_or(0, |entry| entry.number + 1);
            txn.insert(self.entries, &Entry { account: from, number, cents: -cents })?;
            Ok(())
        })
    }
    // ANCHOR_END: transfer

    /// The sum of all accounts, at one moment.
    fn audit(&self) -> Result<i64, Error> {
        self.db.snapshot(|txn| txn.scan(self.accounts, ..).map(|account| Ok(account?.cents)).sum())
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    const ACCOUNTS: u32 = 10;
    let bank = Bank::open(ACCOUNTS)?;
    thread::scope(|scope| {
        for teller in 0..4 {
            let bank = &bank;
            scope.spawn(move || {
                for step in 0..250 {
                    let (from, to) = ((teller + step) % ACCOUNTS, (teller * 3 + step * 7 + 1) % ACCOUNTS);
                    match bank.transfer(from, to, i64::from(step % 90)) {
                        Ok(()) | Err(TransferError::InsufficientFunds { .. }) => {}
                        Err(TransferError::Store(error)) => panic!("{error}: {:?}", error.advice()),
                        Err(TransferError::NoAccount(number)) => panic!("account {number} is there"),
                    }
                }
            });
        }
    });
    assert_eq!(bank.audit()?, 10_000 * i64::from(ACCOUNTS));
    assert!(matches!(bank.transfer(1, 99, 1), Err(TransferError::NoAccount(99))));
    let refused = bank.transfer(1, 2, 1_000_000);
    assert!(matches!(refused, Err(TransferError::InsufficientFunds { cents }) if cents < 1_000_000));
    let entries = bank.db.snapshot(|txn| Ok(txn.scan(bank.entries, ..).count()))?;
    println!("{entries} transfers; {}", bank.db.counters());
    bank.db.close()?;
    Ok(())
}

#[test]
fn money_is_neither_made_nor_lost() {
    main().expect("the bank balances");
}
