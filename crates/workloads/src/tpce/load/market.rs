//! Companies and securities: COMPANY, COMPANY_COMPETITOR, FINANCIAL, NEWS_ITEM, NEWS_XREF, SECURITY, LAST_TRADE
//! and DAILY_MARKET. Companies are spread evenly over industries, because Market-Watch visits all companies of an
//! industry, and Broker-Volume those of a sector.

use engine::{Loader, Share, Text};
use stdx::{Permutation, Rng};

use super::super::keys::{
    CompanyKey, CompanyNewsKey, CompetitorKey, DailyMarketKey, FinancialKey, NewsKey, SecurityKey,
};
use super::super::rows::{
    Company, CompanyNews, CompanyRating, Competitor, DailyMarket, EXCHANGES, Financial, INDUSTRIES,
    LastTrade, NEWS_BYTES, NEWS_OF_COMPANY, News, NewsBody, Security, SecurityExchangeDate, StatusId,
};
use super::super::scale::{COMPANIES, Scale, Stream, company_of_security};
use super::super::settings::Settings;
use super::super::time::{MARKET_DAYS, PRICE_MAX, PRICE_MIN, calendar, market_date, price};
use super::super::{Tpce, fees, names};
use super::texts::{fill, letters};

/// The competitors of a company.
const COMPETITORS: usize = 3;
/// The years of FINANCIAL: the first, and their number.
const FIRST_YEAR: u16 = 2_000;
/// See [`FIRST_YEAR`].
const YEARS: u16 = 5;
/// 1 January 2000, in days since 1970.
const FIRST_DAY_OF_YEARS: u32 = 10_957;
/// `CO_SP_RATE`.
const RATINGS: [&str; 8] = ["AAA", "AA", "AA-", "A+", "A", "BBB", "BB", "B"];
/// The news of a company appear within so many days before the first of the initial trades.
const NEWS_DAYS: u64 = 30;
const DAY_MS: u64 = 24 * 3_600_000;

/// Loads a share of the rows.
pub(super) fn load(tpce: &Tpce, share: Share, loader: &mut impl Loader) {
    let scale = tpce.settings.scale;
    for company in share.of_range(u64::from(scale.companies())) {
        load_company(tpce, company as u32, loader);
    }
    for security in share.of_range(u64::from(scale.securities())) {
        load_security(tpce, security as u32, loader);
    }
}

fn load_company(tpce: &Tpce, company: u32, loader: &mut impl Loader) {
    let (scale, tables) = (tpce.settings.scale, &tpce.tables);
    let (row, rating) = company_rows(scale, company);
    loader.insert((tables.company, tables.company_rating), CompanyKey::new(company), (&row, &rating));
    for competitor in competitors(scale, company) {
        let key = CompetitorKey::new(company, competitor, row.industry);
        loader.insert(tables.competitor, key, &Competitor { competitor: u64::from(competitor) });
    }
    let rng = &mut scale.stream(Stream::Financial, &[u64::from(company)]);
    for quarter in 0..YEARS * 4 {
        let (year, quarter) = (FIRST_YEAR + quarter / 4, (quarter % 4) as u8 + 1);
        let key = FinancialKey::new(company, year, quarter);
        loader.insert(tables.financial, key, &financial(rng, quarter_start(year, quarter)));
    }
    for item in company * NEWS_OF_COMPANY..(company + 1) * NEWS_OF_COMPANY {
        let (news, body) = news_rows(scale, item);
        loader.insert((tables.news, tables.news_body), NewsKey::new(item), (&news, &body));
        let key = CompanyNewsKey::new(company, item);
        loader.insert(tables.company_news, key, &CompanyNews { item: u64::from(item) });
    }
}

fn load_security(tpce: &Tpce, security: u32, loader: &mut impl Loader) {
    let (settings, tables) = (&tpce.settings, &tpce.tables);
    let key = SecurityKey::new(security);
    let (row, date) = security_rows(settings.scale, security);
    loader.insert((tables.security, tables.security_exchange_date), key, (&row, &date));
    loader.insert(tables.last_trade, key, &last_trade(settings, security));
    // One stream for all days of a security: they are always made together.
    let rng = &mut settings.scale.stream(Stream::DailyMarket, &[u64::from(security)]);
    for day in 0..MARKET_DAYS {
        let key = DailyMarketKey::new(security, market_date(day));
        loader.insert(tables.daily_market, key, &daily_market(rng));
    }
}

/// Returns the industry of a company. The companies of a granule go to different industries as long as there are any,
/// and those of all granules to all industries in turn.
pub(super) fn industry_of_company(scale: Scale, company: u32) -> u8 {
    let (granule, place) = (company / COMPANIES, company % COMPANIES);
    let seed = scale.stream(Stream::Company, &[1, u64::from(granule)]).next_u64();
    let mixed = Permutation::new(u64::from(COMPANIES), seed).apply(u64::from(place));
    ((u64::from(granule * COMPANIES) + mixed) % u64::from(INDUSTRIES)) as u8
}

fn company_rows(scale: Scale, company: u32) -> (Company, CompanyRating) {
    let rng = &mut scale.stream(Stream::Company, &[0, u64::from(company)]);
    let row = Company {
        open_date: rng.below(u64::from(FIRST_DAY_OF_YEARS)) as u32,
        address: u32::from(EXCHANGES) + company,
        industry: industry_of_company(scale, company),
        status: StatusId::Active as u8,
        name: names::company(company),
        ceo: letters(rng, 10, 40),
        description: letters(rng, 50, 150),
        pad: [0; 6],
    };
    let rating = RATINGS[rng.below(RATINGS.len() as u64) as usize];
    (row, CompanyRating { rating: Text::new(rating.as_bytes()), pad: [0; 4] })
}

/// Returns the competitors of a company: any others.
fn competitors(scale: Scale, company: u32) -> impl Iterator<Item = u32> {
    let companies = scale.companies();
    let seed = scale.stream(Stream::Competitor, &[u64::from(company)]).next_u64();
    let others = Permutation::new(u64::from(companies - 1), seed);
    (0..COMPETITORS as u64).map(move |place| (company + 1 + others.apply(place) as u32) % companies)
}

/// Returns the first day of a quarter of one of the years of FINANCIAL, in days since 1970.
fn quarter_start(year: u16, quarter: u8) -> u32 {
    // Every fourth of these years is a leap year, beginning with the first one.
    let years = u32::from(year - FIRST_YEAR);
    let new_year = FIRST_DAY_OF_YEARS + years * 365 + years.div_ceil(4);
    let leap_day = u32::from(years % 4 == 0);
    new_year
        + match quarter {
            1 => 0,
            2 => 90 + leap_day,
            3 => 181 + leap_day,
            _ => 273 + leap_day,
        }
}

fn financial(rng: &mut Rng, quarter_start: u32) -> Financial {
    let basic_out = rng.between(4_000_000, 100_000_000) as i64;
    let diluted_out = basic_out + basic_out / 10;
    let revenue = rng.between(100_000_000_000, 1_600_000_000_000) as i64;
    let net_earnings = revenue * rng.between(5, 20) as i64 / 100;
    Financial {
        revenue,
        net_earnings,
        basic_eps: net_earnings / basic_out,
        diluted_eps: net_earnings / diluted_out,
        margin: net_earnings * 100 / revenue,
        inventory: rng.between(10_000_000_000, 200_000_000_000) as i64,
        assets: rng.between(100_000_000_000, 9_000_000_000_000) as i64,
        liability: rng.between(10_000_000_000, 90_000_000_000) as i64,
        basic_out,
        diluted_out,
        quarter_start,
        pad: [0; 4],
    }
}

fn news_rows(scale: Scale, item: u32) -> (News, NewsBody) {
    let rng = &mut scale.stream(Stream::News, &[u64::from(item)]);
    let news = News {
        time: calendar(0) - rng.below(NEWS_DAYS * DAY_MS),
        headline: letters(rng, 40, 80),
        summary: letters(rng, 150, 255),
        source: letters(rng, 10, 30),
        author: letters(rng, 10, 30),
        pad: [0; 5],
    };
    let mut body = NewsBody { text: [0; NEWS_BYTES] };
    fill(rng, &mut body.text);
    (news, body)
}

fn security_rows(scale: Scale, security: u32) -> (Security, SecurityExchangeDate) {
    let rng = &mut scale.stream(Stream::Security, &[u64::from(security)]);
    let prices = (u64::from(PRICE_MIN), u64::from(PRICE_MAX));
    let middle = u64::midpoint(prices.0, prices.1);
    let start_date = rng.below(u64::from(FIRST_DAY_OF_YEARS)) as u32;
    // Any day of the last year of DAILY_MARKET.
    let day = |rng: &mut Rng| market_date(MARKET_DAYS - 1 - rng.below(u64::from(MARKET_DAYS) / 5) as u32);
    let row = Security {
        outstanding: rng.between(4_000_000, 9_500_000_000) as i64,
        company: company_of_security(security),
        start_date,
        price_earnings: rng.between(100, 12_000) as u32,
        high_52_weeks: rng.between(middle, prices.1) as u32,
        high_date: day(rng),
        low_52_weeks: rng.between(prices.0, middle) as u32,
        low_date: day(rng),
        dividend: rng.between(0, 1_000) as u32,
        yield_rate: rng.between(0, 12_000) as u32,
        exchange: fees::exchange_of_security(security),
        issue: fees::issue_of_security(security),
        status: StatusId::Active as u8,
        symbol: names::symbol(security),
        name: fees::security_name(security),
        pad: [0; 4],
    };
    let date = u64::from(start_date) + rng.below(u64::from(FIRST_DAY_OF_YEARS - start_date));
    (row, SecurityExchangeDate { date })
}

fn last_trade(settings: &Settings, security: u32) -> LastTrade {
    let opening = settings.opening();
    let price = price(security, opening);
    LastTrade { time: calendar(opening), volume: 0, price, open_price: price }
}

fn daily_market(rng: &mut Rng) -> DailyMarket {
    let close = rng.between(u64::from(PRICE_MIN), u64::from(PRICE_MAX)) as u32;
    DailyMarket {
        volume: rng.between(1_000, 10_000) as i64,
        close,
        high: close + rng.below(100) as u32,
        low: close - rng.below(100) as u32,
        pad: [0; 4],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn companies_are_spread_evenly_over_industries() {
        for granules in [1, 5, 20] {
            let scale = Scale { seed: 1, customers: granules * 200 };
            let mut counts = [0_u32; INDUSTRIES as usize];
            for company in 0..scale.companies() {
                counts[usize::from(industry_of_company(scale, company))] += 1;
            }
            let (least, most) = (counts.iter().min().unwrap(), counts.iter().max().unwrap());
            assert!(most - least <= 1, "{least} and {most}");
        }
    }

    #[test]
    fn a_company_competes_with_three_others() {
        let scale = Scale { seed: 1, customers: 200 };
        for company in 0..scale.companies() {
            let mut others: Vec<u32> = competitors(scale, company).collect();
            others.sort_unstable();
            others.dedup();
            assert_eq!(others.len(), COMPETITORS);
            assert!(others.iter().all(|&other| other != company && other < scale.companies()));
        }
    }

    #[test]
    fn quarters_begin_on_the_first_of_a_month() {
        let starts = [(2_000, 1), (2_000, 2), (2_000, 4), (2_001, 1), (2_003, 3), (2_004, 2), (2_004, 4)];
        let days = starts.map(|(year, quarter)| quarter_start(year, quarter));
        assert_eq!(days, [10_957, 11_048, 11_231, 11_323, 12_234, 12_509, 12_692]);
    }
}
