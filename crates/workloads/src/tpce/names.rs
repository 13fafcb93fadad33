//! Names: of companies, brokers, sectors, industries and people. The words are of our own. Where a transaction finds a
//! row by its name, the names are distinct, and so are their first 40 bytes.

use engine::Text;
use stdx::{Permutation, Rng};

use super::scale::{Scale, Stream};

const FIRST_NAMES: [&str; 24] = [
    "Ada", "Bruno", "Clara", "David", "Elena", "Felix", "Grace", "Hugo", "Irene", "Jonas", "Karin", "Leo",
    "Maria", "Nils", "Olga", "Paul", "Rosa", "Simon", "Tessa", "Ulrich", "Vera", "Walter", "Yara", "Zeno",
];
const LAST_NAMES: [&str; 24] = [
    "Adler", "Brandt", "Costa", "Dahl", "Ekman", "Fuchs", "Garcia", "Haas", "Ito", "Jensen", "Kovacs",
    "Lind", "Moreau", "Novak", "Olsen", "Petrov", "Quist", "Rossi", "Sato", "Turner", "Urban", "Vogel",
    "Weber", "Zhang",
];
const COMPANY_WORDS: [&str; 20] = [
    "Amber", "Birch", "Cobalt", "Delta", "Ember", "Falcon", "Granite", "Harbor", "Iris", "Juniper",
    "Keystone", "Linden", "Maple", "North", "Onyx", "Pioneer", "Quartz", "River", "Summit", "Timber",
];
const COMPANY_KINDS: [&str; 10] = [
    "Holdings",
    "Industries",
    "Energy",
    "Systems",
    "Foods",
    "Transport",
    "Chemicals",
    "Media",
    "Insurance",
    "Metals",
];
const SECTOR_NAMES: [&str; 12] = [
    "Basic Materials",
    "Capital Goods",
    "Conglomerates",
    "Consumer Cyclical",
    "Consumer Staples",
    "Energy",
    "Financial",
    "Health Care",
    "Services",
    "Technology",
    "Transportation",
    "Utilities",
];

/// Returns `CO_NAME` of a company.
pub(super) fn company(company: u32) -> Text<60> {
    let number = company as usize;
    let (word, kind) = (COMPANY_WORDS[number % 20], COMPANY_KINDS[number / 20 % 10]);
    numbered([word, kind], company)
}

/// Returns `B_NAME` of a broker.
pub(super) fn broker(broker: u32) -> Text<49> {
    let number = broker as usize;
    let (first, last) = (FIRST_NAMES[number % 24], LAST_NAMES[number / 24 % 24]);
    numbered([first, last], broker)
}

/// Returns two words and a number, with spaces between them. It allocates nothing, because stored procedures make the
/// names by which they find rows.
fn numbered<const N: usize>(words: [&str; 2], number: u32) -> Text<N> {
    let mut text = [0; N];
    let mut len = 0;
    for word in words {
        text[len..len + word.len()].copy_from_slice(word.as_bytes());
        len += word.len();
        text[len] = b' ';
        len += 1;
    }
    let digits = number.checked_ilog10().unwrap_or(0) as usize + 1;
    let mut rest = number;
    for digit in text[len..len + digits].iter_mut().rev() {
        *digit = b'0' + (rest % 10) as u8;
        rest /= 10;
    }
    Text::new(&text)
}

/// Returns `SC_NAME` of a sector.
pub(super) fn sector(sector: u8) -> Text<30> {
    Text::new(SECTOR_NAMES[usize::from(sector) % 12].as_bytes())
}

/// Returns `IN_NAME` of an industry.
pub(super) fn industry(industry: u8, sector: u8) -> Text<50> {
    let sector = SECTOR_NAMES[usize::from(sector) % 12];
    Text::new(format!("{sector} {industry}").as_bytes())
}

/// Returns `S_SYMB` of a security: letters that grow with its number.
pub(super) fn symbol(security: u32) -> Text<15> {
    let mut letters = [b'A'; 15];
    let mut rest = security;
    for letter in letters[..5].iter_mut().rev() {
        *letter = b'A' + (rest % 26) as u8;
        rest /= 26;
    }
    Text::new(&letters[..5])
}

/// A person: a customer, or somebody who may trade for one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Person {
    pub(super) tax_id: Text<20>,
    pub(super) last_name: Text<25>,
    pub(super) first_name: Text<20>,
}

impl Person {
    /// Returns the customer with a number.
    pub(super) fn customer(scale: Scale, customer: u32) -> Self {
        let rng = &mut scale.stream(Stream::Customer, &[u64::from(customer), 0]);
        let one_of = |names: &[&'static str; 24], rng: &mut Rng| names[rng.below(24) as usize];
        let (last, first) = (one_of(&LAST_NAMES, rng), one_of(&FIRST_NAMES, rng));
        Self {
            tax_id: tax_id(scale, customer),
            last_name: Text::new(last.as_bytes()),
            first_name: Text::new(first.as_bytes()),
        }
    }

    /// Returns both names, as in `T_EXEC_NAME`.
    pub(super) fn full_name(&self) -> Text<49> {
        let (first, last) = (self.first_name.as_bytes(), self.last_name.as_bytes());
        let mut name = [0; 49];
        name[..first.len()].copy_from_slice(first);
        name[first.len()] = b' ';
        name[first.len() + 1..][..last.len()].copy_from_slice(last);
        Text::new(&name)
    }
}

/// Returns `C_TAX_ID` of a customer: distinct, and without the order of the customers.
pub(super) fn tax_id(scale: Scale, customer: u32) -> Text<20> {
    let mut number = Permutation::new(100_000_000, scale.seed).apply(u64::from(customer));
    let mut text = *b"00000000XX0000";
    let digits = text.iter_mut().rev().filter(|byte| **byte == b'0');
    for digit in digits {
        *digit = b'0' + (number % 10) as u8;
        number /= 10;
    }
    Text::new(&text)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn distinct<T: Ord>(names: impl Iterator<Item = T>) -> usize {
        names.collect::<BTreeSet<_>>().len()
    }

    #[test]
    fn names_by_which_rows_are_found_are_distinct() {
        let scale = Scale { seed: 1, customers: 10_000 };
        assert_eq!(distinct((0..5_000).map(company)), 5_000);
        assert_eq!(distinct((0..5_000).map(broker)), 5_000);
        assert_eq!(distinct((0..10_000).map(symbol)), 10_000);
        assert_eq!(distinct((0..10_000).map(|customer| tax_id(scale, customer))), 10_000);
        assert_eq!(distinct((0..12).map(sector)), 12);
        assert_eq!(distinct((0..102).map(|number| industry(number, number % 12))), 102);
        assert!((0..400_000).all(|number| company(number).as_bytes().len() <= 40));
        assert_eq!(company(0).as_bytes(), b"Amber Holdings 0");
        assert_eq!(broker(4_095).as_bytes(), b"Paul Costa 4095");
    }

    #[test]
    fn a_person_has_the_same_names_wherever_he_is_mentioned() {
        let scale = Scale { seed: 1, customers: 200 };
        let person = Person::customer(scale, 7);
        assert_eq!(person, Person::customer(scale, 7));
        assert_eq!(person.tax_id, tax_id(scale, 7));
        assert!(person.full_name().as_bytes().starts_with(person.first_name.as_bytes()));
    }
}
