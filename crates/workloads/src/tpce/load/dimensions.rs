//! The tables with a fixed number of rows, and addresses: CHARGE, COMMISSION_RATE, EXCHANGE, INDUSTRY, SECTOR,
//! STATUS_TYPE, TAXRATE, TRADE_TYPE, ZIP_CODE and ADDRESS.

use engine::{Loader, Share};

use super::super::keys::{
    AddressKey, ChargeKey, CommissionKey, ExchangeDescriptionKey, ExchangeKey, IndustryKey, SectorKey,
    StatusKey, TaxrateKey, TaxrateNameKey, TradeTypeKey, ZipKey,
};
use super::super::rows::{
    Address, COUNTRY_RATES, Charge, CommissionRate, EXCHANGES, Exchange, ExchangeDescription, INDUSTRIES,
    Industry, SECTORS, Sector, StatusId, StatusType, TAXRATES, Taxrate, TaxrateName, TradeType, TradeTypeRow,
    ZIP_CODES, ZipCode,
};
use super::super::scale::{Scale, Stream};
use super::super::{Tpce, fees, names};
use super::taxrate;
use super::texts::{letters, text};

/// `EX_ID` and `EX_NAME`.
const EXCHANGE_NAMES: [(&str, &str); EXCHANGES as usize] = [
    ("NYSE", "New York Stock Exchange"),
    ("NASDAQ", "National Association of Securities Dealers Automated Quotations"),
    ("AMEX", "American Stock Exchange"),
    ("PCX", "Pacific Exchange"),
];
/// `EX_OPEN` and `EX_CLOSE`: hours and minutes.
const EXCHANGE_HOURS: (u32, u32) = (900, 1_700);
/// The streets of `AD_LINE1`.
const STREETS: [&str; 8] = [
    "Ash Street",
    "Beech Lane",
    "Cedar Avenue",
    "Elm Road",
    "Hill Street",
    "Lake Road",
    "Mill Lane",
    "Park Avenue",
];

/// Loads a share of the rows.
pub(super) fn load(tpce: &Tpce, share: Share, loader: &mut impl Loader) {
    let (scale, tables) = (tpce.settings.scale, &tpce.tables);
    if share.index == 0 {
        load_orders(tpce, loader);
    }
    for number in share.of_range(u64::from(EXCHANGES)) {
        let exchange = number as u8;
        loader.insert(tables.exchange, ExchangeKey::new(exchange), &exchange_row(scale, exchange));
        let description = ExchangeDescription {
            description: letters(&mut scale.stream(Stream::Address, &[1, number]), 60, 100),
            pad: [0; 2],
        };
        loader.insert(tables.exchange_description, ExchangeDescriptionKey::new(exchange), &description);
    }
    for number in share.of_range(u64::from(SECTORS)) {
        let sector = number as u8;
        let row = Sector { id: text(&letters_of(sector)), name: names::sector(sector) };
        loader.insert(tables.sector, SectorKey::new(sector), &row);
    }
    for number in share.of_range(u64::from(INDUSTRIES)) {
        let industry = number as u8;
        let sector = sector_of_industry(industry);
        let name = names::industry(industry, sector);
        let row = Industry { id: text(&letters_of(industry)), name, sector, pad: [0; 3] };
        loader.insert(tables.industry, IndustryKey::new(industry), &row);
    }
    for number in share.of_range(u64::from(TAXRATES)) {
        let number = number as u16;
        let (rate, name) = taxrate_rows(number);
        loader.insert(tables.taxrate, TaxrateKey::new(number), &rate);
        loader.insert(tables.taxrate_name, TaxrateNameKey::new(number), &name);
    }
    for code in share.of_range(u64::from(ZIP_CODES)) {
        let code = code as u32;
        loader.insert(tables.zip_code, ZipKey::new(code), &zip_code(scale, code));
    }
    let addresses = u32::from(EXCHANGES) + scale.companies() + scale.customers;
    for number in share.of_range(u64::from(addresses)) {
        let number = number as u32;
        loader.insert(tables.address, AddressKey::new(number), &address(scale, number));
    }
}

/// Loads the tables of all kinds of orders and states.
fn load_orders(tpce: &Tpce, loader: &mut impl Loader) {
    let tables = &tpce.tables;
    for (status, id, name) in StatusId::ALL {
        let row = StatusType { id: text(id), name: text(name), pad: [0; 2] };
        loader.insert(tables.status_type, StatusKey::new(status), &row);
    }
    for (kind, id, name) in TradeType::ALL {
        let row = TradeTypeRow {
            id: text(id),
            name: text(name),
            is_sell: kind.is_sell().into(),
            is_market: kind.is_market().into(),
            pad: [0; 7],
        };
        loader.insert(tables.trade_type, TradeTypeKey::new(kind), &row);
        for tier in 1..=fees::TIERS {
            let row = Charge { charge: fees::charge(kind, tier) };
            loader.insert(tables.charge, ChargeKey::new(kind, tier), &row);
        }
    }
    for band in fees::bands() {
        let key = CommissionKey::new(band.tier, band.kind, band.exchange, band.from);
        loader.insert(tables.commission_rate, key, &CommissionRate { to: band.to, rate: band.rate });
    }
}

/// Returns the sector of an industry.
pub(super) fn sector_of_industry(industry: u8) -> u8 {
    industry % SECTORS
}

/// Returns a text of two letters for a number: `IN_ID`, `SC_ID`.
fn letters_of(number: u8) -> String {
    let letter = |number: u8| char::from(b'A' + number % 26);
    [letter(number / 26), letter(number)].iter().collect()
}

fn exchange_row(scale: Scale, exchange: u8) -> Exchange {
    let is_there = |&security: &u32| fees::exchange_of_security(security) == exchange;
    let (id, name) = EXCHANGE_NAMES[usize::from(exchange)];
    Exchange {
        securities: (0..scale.securities()).filter(is_there).count() as u32,
        open: EXCHANGE_HOURS.0,
        close: EXCHANGE_HOURS.1,
        address: u32::from(exchange),
        id: text(id),
        name: text(name),
        pad: [0; 6],
    }
}

fn taxrate_rows(number: u16) -> (Taxrate, TaxrateName) {
    let (id, name) = match number {
        0..5 => (format!("US{}", number + 1), format!("U.S. Income Tax, bracket {}", number + 1)),
        5..COUNTRY_RATES => {
            (format!("CN{}", number - 4), format!("Canadian Income Tax, bracket {}", number - 4))
        }
        _ => (format!("D{number:03}"), format!("Income Tax of division {number}")),
    };
    (Taxrate { rate: taxrate(number), id: text(&id) }, TaxrateName { name: text(&name), pad: [0; 6] })
}

fn zip_code(scale: Scale, code: u32) -> ZipCode {
    let rng = &mut scale.stream(Stream::ZipCode, &[u64::from(code)]);
    ZipCode {
        code: text(&format!("{:05}", 501 + code * 6)),
        town: letters(rng, 4, 24),
        division: letters(rng, 4, 24),
        pad: [0; 4],
    }
}

/// Returns an address: first those of exchanges, then of companies, then of customers.
fn address(scale: Scale, number: u32) -> Address {
    let rng = &mut scale.stream(Stream::Address, &[0, u64::from(number)]);
    let (house, street) = (rng.between(1, 999), STREETS[rng.below(STREETS.len() as u64) as usize]);
    let has_second_line = rng.below(2) == 0;
    Address {
        zip_code: rng.below(u64::from(ZIP_CODES)) as u32,
        line_1: text(&format!("{house} {street}")),
        line_2: if has_second_line { text(&format!("Apt. {}", rng.between(1, 99))) } else { text("") },
        country: text(if rng.below(5) == 0 { "Canada" } else { "USA" }),
        pad: [0; 4],
    }
}
