//! Consistency after loading and after a run.
//!
//! Every balance that a commit changed is accounted for: the ledger has the amount, by account and part of the
//! customers. The sum of the accounts of a part is the loaded sum plus the changes. The money that came into and left
//! the bank is also computed from the requests alone, so that a program that moves money wrongly is detected.

use engine::{Quiesced, Share, Violation};

use super::rows::{Checking, Customer, Savings};
use super::{Ledger, PARTS, SmallBank};

/// Sums over a part of the customers, in cents.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Sums {
    pub(super) savings: i64,
    pub(super) checking: i64,
}

impl Sums {
    pub(super) fn plus(self, other: Self) -> Self {
        Self {
            savings: self.savings.wrapping_add(other.savings),
            checking: self.checking.wrapping_add(other.checking),
        }
    }

    fn total(self) -> i64 {
        self.savings.wrapping_add(self.checking)
    }
}

/// Checks a share of the bank, against the commits if they are known.
pub(super) fn check(
    bank: &SmallBank,
    view: &impl Quiesced,
    share: Share,
    ledgers: Option<&[Ledger]>,
) -> Result<(), Violation> {
    for part in share.of_range(PARTS as u64) {
        check_part(bank, part, view, ledgers)?;
    }
    for number in share.of_range(bank.settings.customers) {
        let party = bank.people.party(number);
        let leads_to = view.read(bank.tables.account, party.name, |row| row.customer);
        if leads_to != Some(party.id) {
            let found = format!("name {number} leads to {leads_to:?}, not to customer {}", party.id);
            return violation("names lead to their customers", found);
        }
    }
    if share.index == 0 { check_whole(bank, view, ledgers) } else { Ok(()) }
}

/// Checks the accounts of one part: of every 64th customer.
fn check_part(
    bank: &SmallBank,
    part: u64,
    view: &impl Quiesced,
    ledgers: Option<&[Ledger]>,
) -> Result<(), Violation> {
    let (mut loaded, mut present) = (Sums::default(), Sums::default());
    for customer in (part..bank.settings.customers).step_by(PARTS) {
        let key = Customer(customer);
        let savings = view.read(bank.tables.savings, key, |row| (row.customer, row.balance));
        let checking = view.read(bank.tables.checking, key, |row| (row.customer, row.balance));
        let (Some(savings), Some(checking)) = (savings, checking) else {
            return violation("customers keep their accounts", format!("customer {customer} has lost one"));
        };
        if (savings.0, checking.0) != (customer, customer) {
            let found = format!("customer {customer} has accounts of {} and {}", savings.0, checking.0);
            return violation("accounts lie under their customers", found);
        }
        if savings.1 < 0 {
            let found = format!("customer {customer} has savings of {} cents", savings.1);
            return violation("savings are never negative", found);
        }
        let seed = bank.drive.seed;
        loaded = loaded.plus(Sums {
            savings: Savings::loaded(seed, customer).balance,
            checking: Checking::loaded(seed, customer).balance,
        });
        present = present.plus(Sums { savings: savings.1, checking: checking.1 });
    }
    let Some(ledgers) = ledgers else { return Ok(()) };
    let expected = ledgers.iter().fold(loaded, |sum, ledger| sum.plus(ledger.changed[part as usize]));
    if present == expected {
        return Ok(());
    }
    let found = format!(
        "part {part} of {PARTS} has savings of {} and checking accounts of {} cents, but {} and {} were loaded and \
         committed",
        present.savings, present.checking, expected.savings, expected.checking
    );
    violation("balances are what was loaded and committed", found)
}

/// Checks the conditions of the whole bank.
fn check_whole(bank: &SmallBank, view: &impl Quiesced, ledgers: Option<&[Ledger]>) -> Result<(), Violation> {
    let ledgers = ledgers.unwrap_or_default();
    let changed = ledgers.iter().flat_map(|ledger| ledger.changed).fold(Sums::default(), Sums::plus).total();
    let flown = ledgers.iter().fold(0_i64, |sum, ledger| sum.wrapping_add(ledger.flown));
    if changed != flown {
        let found = format!(
            "commits changed balances by {changed} cents, but deposits, withdrawals, checks and penalties are {flown}"
        );
        return violation("money comes and goes by deposits, withdrawals, checks and penalties", found);
    }
    let (mut names, mut savings, mut checking) = (0, 0, 0);
    view.rows(bank.tables.account, Share::WHOLE, |_, _| names += 1);
    view.rows(bank.tables.savings, Share::WHOLE, |_, _| savings += 1);
    view.rows(bank.tables.checking, Share::WHOLE, |_, _| checking += 1);
    if [names, savings, checking] != [bank.settings.customers; 3] {
        let found = format!("{names} names, {savings} savings and {checking} checking accounts");
        return violation("each customer has a name and two accounts", found);
    }
    match ledgers.iter().map(|ledger| ledger.wrong).sum::<u64>() {
        0 => Ok(()),
        wrong => violation("transactions see the customers they name", format!("{wrong} saw others")),
    }
}

fn violation(condition: &'static str, found: String) -> Result<(), Violation> {
    Err(Violation { condition, found })
}
