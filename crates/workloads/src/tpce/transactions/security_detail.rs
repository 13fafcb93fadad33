//! Security-Detail (TPC-E 3.3.5): all about a security, its company and its exchange.
//!
//! It reads `SECURITY`, `COMPANY`, `EXCHANGE`, both rows of `ADDRESS` and ZIP_CODE, COMPANY_COMPETITOR, `INDUSTRY`,
//! `FINANCIAL`, DAILY_MARKET, LAST_TRADE, NEWS_XREF and NEWS_ITEM. Only Data-Maintenance, which is rare, and
//! Market-Feed write any of it, so that the last price is the one hot row.

use core::ops::ControlFlow;

use engine::{Abort, Direction, Transaction};

use super::super::input::SecurityDetail;
use super::super::keys::{
    AddressKey, CompanyKey, CompanyNewsKey, CompetitorKey, DailyMarketKey, ExchangeDescriptionKey,
    ExchangeKey, FinancialKey, IndustryKey, NewsKey, SecurityKey, ZipKey,
};
use super::super::rows::NEWS_OF_COMPANY;
use super::super::schema::Tables;
use super::super::{Output, Scratch, Tpce, found};
use super::show;

/// The maximum number of quarters that are shown (TPC-E 3.3.5).
const QUARTERS_MAX: u8 = 20;
/// The maximum number of competitors that are shown.
const COMPETITORS_MAX: usize = 3;
/// The maximum number of news items that are shown.
const NEWS_MAX: usize = NEWS_OF_COMPANY as usize;

impl Tpce {
    /// Reads all about a security.
    #[inline(never)]
    pub(in super::super) fn security_detail<T: Transaction>(
        &self,
        input: &SecurityDetail,
        _: &mut Scratch,
        txn: &mut T,
    ) -> Result<Output, Abort> {
        let tables = &self.tables;
        let key = SecurityKey::new(input.security);
        let security = txn.read(tables.security, key, |row| {
            show(*row);
            (row.company, row.exchange)
        })?;
        let (company, exchange) = found(security)?;
        found(txn.read(tables.security_exchange_date, key, |row| show(*row))?)?;
        read_company(tables, company, txn)?;
        read_exchange(tables, exchange, txn)?;
        read_competitors(tables, company, txn)?;

        let mut quarters = 0;
        txn.scan(tables.financial, FinancialKey::of_company(company), Direction::Forward, |_, row| {
            show(*row);
            quarters += 1;
            if quarters < QUARTERS_MAX { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        })?;
        let mut days = 0;
        let from = DailyMarketKey::from_date(input.security, input.date);
        txn.scan(tables.daily_market, from, Direction::Forward, |_, row| {
            if days == input.days {
                return ControlFlow::Break(());
            }
            show(*row);
            days += 1;
            // No row beyond the last one is read.
            if days < input.days { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        })?;
        let price = found(txn.read(tables.last_trade, key, |row| {
            show(*row);
            row.price
        })?)?;
        let news_bytes = read_news(tables, company, input.with_news, txn)?;
        Ok(Output::SecurityDetail { price, days, quarters, news_bytes })
    }
}

fn read_company<T: Transaction>(tables: &Tables, company: u32, txn: &mut T) -> Result<(), Abort> {
    let key = CompanyKey::new(company);
    let address = found(txn.read(tables.company, key, |row| {
        show(*row);
        row.address
    })?)?;
    found(txn.read(tables.company_rating, key, |row| show(*row))?)?;
    read_address(tables, address, txn)
}

fn read_exchange<T: Transaction>(tables: &Tables, exchange: u8, txn: &mut T) -> Result<(), Abort> {
    let address = found(txn.read(tables.exchange, ExchangeKey::new(exchange), |row| {
        show(*row);
        row.address
    })?)?;
    let key = ExchangeDescriptionKey::new(exchange);
    found(txn.read(tables.exchange_description, key, |row| show(*row))?)?;
    read_address(tables, address, txn)
}

/// Reads `ADDRESS` and its ZIP_CODE.
fn read_address<T: Transaction>(tables: &Tables, address: u32, txn: &mut T) -> Result<(), Abort> {
    let zip_code = found(txn.read(tables.address, AddressKey::new(address), |row| {
        show(*row);
        row.zip_code
    })?)?;
    found(txn.read(tables.zip_code, ZipKey::new(zip_code), |row| show(*row))?)
}

/// Reads the names of the competitors of a company, and of the industries in which they compete.
fn read_competitors<T: Transaction>(tables: &Tables, company: u32, txn: &mut T) -> Result<(), Abort> {
    let mut competitors = [(0, 0); COMPETITORS_MAX];
    let mut len = 0;
    txn.scan(tables.competitor, CompetitorKey::of_company(company), Direction::Forward, |key, _| {
        let Some(competitor) = competitors.get_mut(len) else { return ControlFlow::Break(()) };
        *competitor = (key.competitor(), key.industry());
        len += 1;
        ControlFlow::Continue(())
    })?;
    let competitors = &competitors[..len];
    txn.prefetch(tables.company, competitors.iter().map(|&(competitor, _)| CompanyKey::new(competitor)));
    for &(competitor, industry) in competitors {
        found(txn.read(tables.company, CompanyKey::new(competitor), |row| show(row.name))?)?;
        found(txn.read(tables.industry, IndustryKey::new(industry), |row| show(row.name))?)?;
    }
    Ok(())
}

/// Reads the news of a company: their bodies, or their headlines and summaries. Returns their number of bytes.
fn read_news<T: Transaction>(
    tables: &Tables,
    company: u32,
    with_bodies: bool,
    txn: &mut T,
) -> Result<u32, Abort> {
    let mut items = [0; NEWS_MAX];
    let mut len = 0;
    txn.scan(tables.company_news, CompanyNewsKey::of_company(company), Direction::Forward, |key, _| {
        let Some(item) = items.get_mut(len) else { return ControlFlow::Break(()) };
        *item = key.item();
        len += 1;
        ControlFlow::Continue(())
    })?;
    let mut bytes = 0;
    for &item in &items[..len] {
        let key = NewsKey::new(item);
        let of_item = if with_bodies {
            found(txn.read(tables.news, key, |row| show((row.time, row.source, row.author)))?)?;
            found(txn.read(tables.news_body, key, |row| {
                show(row.text);
                row.text.len()
            })?)?
        } else {
            found(txn.read(tables.news, key, |row| {
                show(*row);
                row.headline.as_bytes().len() + row.summary.as_bytes().len()
            })?)?
        };
        bytes += of_item as u32;
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use engine::Text;

    use super::super::super::Input;
    use super::super::super::rows::{CompanyNews, Competitor, Financial, NEWS_BYTES, News, NewsBody};
    use super::super::testing::{House, zeroed};
    use super::*;

    /// Security 3 of company 1, which has three competitors, 24 quarters, 30 days of the market and two news items,
    /// with a headline of 3 bytes and a summary of 4.
    fn house() -> House {
        let mut house = House::new();
        let tables = house.tpce.tables;
        house.exchange();
        house.industry(7, 1);
        (0..5).for_each(|company| house.company(company, 7));
        house.security(3, 1, 2_345);
        for competitor in [0, 2, 3] {
            let row = Competitor { competitor: u64::from(competitor) };
            house.load(tables.competitor, CompetitorKey::new(1, competitor, 7), &row);
        }
        for (year, quarter) in (2_000..2_006).flat_map(|year| (1..5).map(move |quarter| (year, quarter))) {
            house.load(tables.financial, FinancialKey::new(1, year, quarter), &zeroed::<Financial>());
        }
        (0..30).for_each(|day| house.day(3, 11_000 + day, 2_000));
        house.day(4, 11_000, 2_000);
        for item in [2, 3] {
            let row = News { headline: Text::new(b"abc"), summary: Text::new(b"defg"), ..zeroed() };
            let body = NewsBody { text: [b'x'; NEWS_BYTES] };
            house.load((tables.news, tables.news_body), NewsKey::new(item), (&row, &body));
            house.load(tables.company_news, CompanyNewsKey::new(1, item), &CompanyNews { item: item.into() });
        }
        house
    }

    fn ask(house: &mut House, with_news: bool, days: u8, date: u32) -> Result<Output, Abort> {
        house.execute(&Input::SecurityDetail(SecurityDetail { security: 3, with_news, days, date }))
    }

    #[test]
    fn quarters_days_and_news_are_as_many_as_are_wanted() {
        let mut house = house();
        let seen =
            |days, news_bytes| Ok(Output::SecurityDetail { price: 2_345, days, quarters: 20, news_bytes });
        assert_eq!(ask(&mut house, false, 20, 11_000), seen(20, 2 * 7));
        assert_eq!(ask(&mut house, true, 5, 11_000), seen(5, 2 * NEWS_BYTES as u32));
        assert_eq!(ask(&mut house, false, 20, 11_022), seen(8, 2 * 7));
        assert_eq!(ask(&mut house, false, 0, 11_000), seen(0, 2 * 7));
    }

    #[test]
    fn each_row_is_needed() {
        let mut complete = house();
        assert!(ask(&mut complete, true, 5, 11_000).is_ok());
        let tables = complete.tpce.tables;
        macro_rules! assert_needed {
            ($($table:ident: $key:expr),* $(,)?) => {$(
                let mut damaged = house();
                assert_eq!(damaged.mock.attempt(|txn| txn.delete(tables.$table, $key)), Ok(true));
                let seen = ask(&mut damaged, true, 5, 11_000);
                assert_eq!(seen, Err(Abort::ReadChanged), stringify!($table: $key));
            )*};
        }
        assert_needed!(
            security: SecurityKey::new(3),
            last_trade: SecurityKey::new(3),
            company: CompanyKey::new(1),
            company: CompanyKey::new(0),
            company: CompanyKey::new(3),
            industry: IndustryKey::new(7),
            exchange: ExchangeKey::new(0),
            exchange_description: ExchangeDescriptionKey::new(0),
            address: AddressKey::new(0),
            address: AddressKey::new(1),
            zip_code: ZipKey::new(10),
            zip_code: ZipKey::new(11),
            news: NewsKey::new(3),
        );
    }
}
