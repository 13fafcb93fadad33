//! Histories under the levers of the engine: every scheme keeps its promise where the column groups of a row share a
//! record, where updates read before they write, where inputs state no footprints, and where requests that conflict are
//! given to the same worker.

use engine::{Admits, Family};
use schemes::catalogue;
use trials::{Budget, Campaign, CampaignMonitor, TrialLimit};

const FEW: Budget = Budget {
    seed: 1,
    cores: 2,
    searched: 0,
    schedules: TrialLimit::Count(60),
    transactions: TrialLimit::Count(3_000),
};

#[test]
fn every_scheme_keeps_its_promise_whatever_the_levers() {
    let given = |all: &[(&str, &str)]| -> Vec<_> {
        all.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    };
    let off = [("run.splitting", "off"), ("run.read_for_update", "off")];
    for info in catalogue::infos().filter(|info| info.workers == Admits::Any) {
        let is_told = info.family == Family::Deterministic;
        for footprints in ["stated", "rehearsed"].into_iter().take(if is_told { 2 } else { 1 }) {
            let given = given(&[off[0], off[1], ("run.footprints", footprints)]);
            let scheme = instances::trial(info.name).expect("a scheme of the catalogue");
            let campaign = Campaign::new(scheme, &given).expect("legal settings");
            let report = campaign.run(&FEW, &CampaignMonitor::default());
            assert!(report.violations.is_empty(), "{}: {:?}", info.name, report.violations);
            assert!(report.schedules >= 60 && report.transactions >= 3_000, "{}", info.name);
        }
    }
}

#[test]
fn every_scheme_keeps_its_promise_if_requests_are_reordered() {
    for (info, large) in catalogue::infos().zip(["keep", "cut"].into_iter().cycle()) {
        if info.workers != Admits::Any {
            continue;
        }
        let given = [("run.reorder", large), ("run.reorder_batch", "3")]
            .map(|(name, value)| (name.to_owned(), value.to_owned()));
        let scheme = instances::trial(info.name).expect("a scheme of the catalogue");
        match Campaign::new(scheme, &given) {
            Ok(campaign) => {
                let report = campaign.run(&FEW, &CampaignMonitor::default());
                assert!(report.violations.is_empty(), "{}: {:?}", info.name, report.violations);
                assert!(report.schedules >= 60 && report.transactions >= 3_000, "{}", info.name);
            }
            Err(refusal) => {
                let order_by_themselves =
                    [Family::Partitioned, Family::Reordering, Family::Batched, Family::Deterministic];
                assert!(order_by_themselves.contains(&info.family), "{}: {refusal}", info.name);
                assert!(refusal.to_string().contains("give `--set run.reorder=off`"), "{refusal}");
            }
        }
    }
}
