//! The mix: the share of each type of transaction among the requests that clients send.
//!
//! A run counts the commits of each type. Only together with the mix do these counts show whether a type got its share.
//! The requests of a run follow from its seed, so that they can be drawn here again without executing them. A workload
//! whose requests follow from commits states the shares.

use engine::setting::{SettingError, Values};
use engine::{ClientId, Drive, Schema, Workload};
use stdx::Rng;
use workloads::micro::Micro;
use workloads::smallbank::SmallBank;
use workloads::stock::StockTable;
use workloads::tpcc::Tpcc;
use workloads::tpce::Tpce;
use workloads::ycsb::{LongKey, ShortKey, Ycsb};

/// The number of requests that are drawn. With it, a share of 4% is known to within a tenth of its value.
const DRAWN: u64 = 8_192;
/// The minimum number of drawn requests of a type: a share that rests on fewer would be a guess.
const RARE: u64 = 16;
/// The maximum number of clients whose requests are drawn.
const CLIENTS_MAX: u32 = 64;

/// Returns the share of each type of transaction among the requests of a workload, in the order of its types: as the
/// workload says, or as requests are drawn; then the share of a type that is almost never drawn is 0.
///
/// # Errors
/// Settings that contradict each other.
///
/// # Panics
/// If there is no workload of this name: the caller looks up names in the catalogue first.
pub(crate) fn shares(workload: &str, values: &Values, drive: Drive) -> Result<Vec<f64>, SettingError> {
    match workload {
        Tpcc::NAME => of::<Tpcc>(values, drive),
        Tpce::NAME => of::<Tpce>(values, drive),
        Ycsb::<ShortKey>::NAME if values.int("ycsb.key_bytes") == 48 => of::<Ycsb<LongKey>>(values, drive),
        Ycsb::<ShortKey>::NAME => of::<Ycsb<ShortKey>>(values, drive),
        SmallBank::NAME => of::<SmallBank>(values, drive),
        StockTable::NAME => of::<StockTable>(values, drive),
        Micro::NAME => of::<Micro>(values, drive),
        _ => panic!("no workload `{workload}`"),
    }
}

fn of<W: Workload>(values: &Values, drive: Drive) -> Result<Vec<f64>, SettingError> {
    let workload = W::declare(values, drive, &mut Schema::new())?;
    if let Some(shares) = workload.shares() {
        return Ok(shares);
    }
    let clients = drive.clients.clamp(1, CLIENTS_MAX);
    let each = DRAWN.div_ceil(u64::from(clients));
    let mut counts = vec![0_u64; W::TYPES.len()];
    for client in 0..clients {
        for sequence in 0..each {
            let mut rng = Rng::from_path(&[drive.seed, u64::from(client), sequence]);
            let input = workload.generate(ClientId(client), sequence, &mut rng);
            counts[workload.kind(&input)] += 1;
        }
    }
    counts.iter_mut().filter(|count| **count < RARE).for_each(|count| *count = 0);
    let shares: Vec<f64> = counts.into_iter().map(|count| count as f64).collect();
    let all = shares.iter().sum::<f64>();
    Ok(shares.into_iter().map(|share| share / all).collect())
}

#[cfg(test)]
mod tests {
    use crate::registry::tests::catalogue;
    use crate::{Plan, Request};

    fn mix(workload: &str, set: &[&str]) -> Vec<f64> {
        let set = set.iter().map(|&pair| pair.to_owned()).collect();
        let schemes = Some("silo".to_owned());
        let plan =
            Plan::new(catalogue(), &Request { schemes, set, workers: Some(1), ..Request::new(workload) });
        plan.expect("legal").mix().expect("legal")
    }

    #[test]
    fn every_workload_has_one_and_it_adds_up() {
        for workload in catalogue().workloads() {
            let shares = mix(workload.name, &[]);
            assert_eq!(shares.len(), workload.types.len(), "{}", workload.name);
            assert!((shares.iter().sum::<f64>() - 1.0).abs() < 1e-9, "{}: {shares:?}", workload.name);
        }
    }

    #[test]
    fn it_is_that_of_the_specification_and_of_the_settings() {
        // TPC-C 5.2.3 gives minimum shares, and leaves the rest to the terminals: here, new orders have it.
        let full = mix("tpcc", &[]);
        for (found, wanted) in full.iter().zip([0.45, 0.43, 0.04, 0.04, 0.04, 0.0]) {
            assert!((found - wanted).abs() < 0.02, "{full:?}");
        }
        // TPC-E 6.2.2; Data-Maintenance is one transaction in a thousand here.
        let trades = mix("tpce", &[]);
        for (found, wanted) in [(trades[2], 0.01), (trades[6], 0.1), (trades[7], 0.1), (trades[10], 0.001)] {
            assert!((found / wanted - 1.0).abs() < 0.02, "{trades:?}");
        }
        // No feed triggers limits, which four orders in ten have.
        let no_feeds = mix("tpce", &["tpce.mix=trade_order:10,trade_result:10"]);
        assert!((no_feeds[7] / no_feeds[6] - 0.6).abs() < 0.001, "{no_feeds:?}");
        let hybrid = mix("tpce", &["tpce.mix=hybrid"]);
        let unlogged = mix("tpce", &["tpce.mix=hybrid", "tpce.analytic_log=off"]);
        assert!((hybrid[12] - 0.2).abs() < 0.002 && hybrid[13] < 1e-9, "{hybrid:?}");
        assert!((unlogged[13] - hybrid[12]).abs() < 1e-9 && unlogged[12] < 1e-9, "{unlogged:?}");
        let reads = mix("ycsb", &["ycsb.records=1000", "ycsb.workload=b"]);
        assert!((reads[0] - 0.95).abs() < 0.02, "{reads:?}");
        // One transaction in 65,536 only reads, and as many only update.
        let mixed = mix("ycsb", &["ycsb.records=1000", "ycsb.workload=a", "ycsb.ops_per_txn=16"]);
        assert!(mixed.iter().all(|share| [0.0, 1.0].contains(share)), "{mixed:?}");
    }
}
