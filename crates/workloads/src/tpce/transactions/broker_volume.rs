//! Broker-Volume (TPC-E 3.3.1): what the pending orders of some brokers in a sector would cost.
//!
//! It reads `SECTOR` and `BROKER` by name, TRADE_REQUEST by broker, and `SECURITY`, `COMPANY` and `INDUSTRY`. Of all
//! but TRADE_REQUEST, it reads columns that nobody writes. Of TRADE_REQUEST it reads ranges into which Trade-Orders
//! insert and from which Market-Feeds delete, so that phantoms are what it conflicts with.
//!
//! The plan goes from the brokers to their requests, and from each request to the sector of its security. An order with
//! a limit waits for 150 seconds in the mean, a sixth of the period of prices, so that with the specification's scale
//! factor a broker has a dozen requests, and forty brokers have five hundred. The other way, from the sector through
//! its industries and companies to its securities, would look up each of these securities for each of the brokers: with
//! 5,000 customers, 285 securities for forty brokers, most of them in vain.

use core::cmp::Reverse;
use core::ops::ControlFlow;

use engine::{Abort, Direction, Text, Transaction};

use super::super::input::{BROKERS_ASKED, BrokerVolume};
use super::super::keys::{BrokerRequestKey, CompanyKey, IndustryKey, SecurityKey};
use super::super::schema::Tables;
use super::super::{Output, Scratch, Tpce, found, names};
use super::{find_named, show};

/// A line of the result.
#[derive(Clone, Copy, Debug, Default)]
struct Volume {
    /// The sum over the requests, in cents.
    cents: u64,
    /// `B_NAME`.
    broker: Text<49>,
    /// The end of the broker's requests in the buffer of all.
    end: usize,
}

impl Tpce {
    /// Adds up the pending orders of brokers in a sector. A result without brokers is a result, too.
    #[inline(never)]
    pub(in super::super) fn broker_volume<T: Transaction>(
        &self,
        input: &BrokerVolume,
        scratch: &mut Scratch,
        txn: &mut T,
    ) -> Result<Output, Abort> {
        let tables = &self.tables;
        let name = names::sector(input.sector);
        let sector = find_named(tables.sector_by_name, name.as_bytes(), txn, |row| show(*row))?;
        let (sector, ()) = found(sector)?;

        let requests = &mut scratch.positions;
        requests.clear();
        let mut volumes = [Volume::default(); BROKERS_ASKED];
        let volumes = &mut volumes[..input.brokers().len()];
        for (volume, &broker) in volumes.iter_mut().zip(input.brokers()) {
            let name = names::broker(broker);
            let row = find_named(tables.broker_by_name, name.as_bytes(), txn, |row| row.name)?;
            let (number, broker) = found(row)?;
            let of_broker = BrokerRequestKey::of_broker(number as u32);
            txn.scan_by(tables.request_by_broker, of_broker, Direction::Forward, |_, row| {
                let cents = i64::from(row.quantity).wrapping_mul(i64::from(row.bid_price));
                requests.push((row.security, cents));
                ControlFlow::Continue(())
            })?;
            *volume = Volume { cents: 0, broker, end: requests.len() };
        }

        txn.prefetch(tables.security, requests.iter().map(|&(security, _)| SecurityKey::new(security)));
        let (mut begin, mut brokers) = (0, 0);
        for volume in volumes.iter_mut() {
            let mut has_requests = false;
            for &(security, cents) in requests.get(begin..volume.end).unwrap_or_default() {
                if is_in_sector(tables, security, sector, txn)? {
                    volume.cents = volume.cents.wrapping_add(cents as u64);
                    has_requests = true;
                }
            }
            brokers += u8::from(has_requests);
            begin = volume.end;
        }

        // An order has a quantity and a price, so that a broker without requests in the sector has the volume 0.
        volumes.sort_unstable_by_key(|volume| Reverse(volume.cents));
        let lines = &volumes[..usize::from(brokers)];
        let mut total = 0_u64;
        for line in lines {
            show((line.broker, line.cents));
            total = total.wrapping_add(line.cents);
        }
        Ok(Output::BrokerVolume { brokers, greatest: lines.first().map_or(0, |line| line.cents), total })
    }
}

/// Returns `true` if a security is of a company of an industry of a sector.
fn is_in_sector<T: Transaction>(
    tables: &Tables,
    security: u32,
    sector: u64,
    txn: &mut T,
) -> Result<bool, Abort> {
    let company = found(txn.read(tables.security, SecurityKey::new(security), |row| row.company)?)?;
    let industry = found(txn.read(tables.company, CompanyKey::new(company), |row| row.industry)?)?;
    let of_security = found(txn.read(tables.industry, IndustryKey::new(industry), |row| row.sector)?)?;
    Ok(u64::from(of_security) == sector)
}

#[cfg(test)]
mod tests {
    use super::super::super::Input;
    use super::super::super::keys::TradeKey;
    use super::super::super::rows::TradeRequest;
    use super::super::testing::{House, zeroed};
    use super::*;

    /// Securities 0 and 1 are of sector 1, and 2 is of sector 2.
    fn house() -> House {
        let mut house = House::new();
        for (company, industry, sector) in [(0, 10, 1), (1, 11, 1), (2, 20, 2)] {
            house.sector(sector);
            house.industry(industry, sector);
            house.company(company, industry);
            house.security(company, company, 2_500);
        }
        (0..4).for_each(|broker| house.broker(broker));
        house
    }

    fn request(house: &mut House, broker: u32, security: u32, quantity: u32, bid_price: u32) {
        let number = house.mock.count(house.tpce.tables.trade_request) as u64;
        let key = TradeKey::new(200_000_000_000_000 + number);
        let row = TradeRequest { security, quantity, bid_price, broker, ..zeroed() };
        house.load(house.tpce.tables.trade_request, key, &row);
    }

    fn ask(house: &mut House, brokers: &[u32], sector: u8) -> Result<Output, Abort> {
        let mut input = BrokerVolume { brokers: [0; BROKERS_ASKED], count: brokers.len() as u8, sector };
        input.brokers[..brokers.len()].copy_from_slice(brokers);
        house.execute(&Input::BrokerVolume(input))
    }

    #[test]
    fn volumes_are_of_the_listed_brokers_in_the_sector() {
        let mut house = house();
        request(&mut house, 0, 0, 100, 2_000);
        request(&mut house, 0, 1, 200, 2_100);
        request(&mut house, 0, 2, 800, 2_900);
        request(&mut house, 1, 2, 400, 2_500);
        request(&mut house, 3, 1, 400, 2_600);
        request(&mut house, 3, 1, 100, 2_000);
        let (first, last) = (100 * 2_000 + 200 * 2_100, 400 * 2_600 + 100 * 2_000);
        let volume = |brokers, greatest, total| Ok(Output::BrokerVolume { brokers, greatest, total });
        assert_eq!(ask(&mut house, &[0, 1, 2, 3], 1), volume(2, last, first + last));
        assert_eq!(ask(&mut house, &[2, 1, 0], 1), volume(1, first, first));
        assert_eq!(ask(&mut house, &[3, 1], 2), volume(1, 1_000_000, 1_000_000));
    }

    #[test]
    fn no_pending_order_is_a_result() {
        let nothing = Output::BrokerVolume { brokers: 0, greatest: 0, total: 0 };
        let mut house = house();
        assert_eq!(ask(&mut house, &[0, 1, 2, 3], 1), Ok(nothing));
        request(&mut house, 0, 2, 100, 2_000);
        assert_eq!(ask(&mut house, &[0, 1, 2, 3], 1), Ok(nothing));
    }

    #[test]
    fn an_unknown_name_is_a_contradiction() {
        let mut house = house();
        assert_eq!(ask(&mut house, &[0], 3), Err(Abort::ReadChanged));
        assert_eq!(ask(&mut house, &[4], 1), Err(Abort::ReadChanged));
    }
}
