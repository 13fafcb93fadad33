//! Histories under the levers of the engine: every scheme keeps its promise where the column groups of a row share a
//! record, and where updates read before they write.

use engine::Admits;
use schemes::catalogue;
use trials::{Budget, Campaign, CampaignMonitor, TrialLimit};

const FEW: Budget = Budget {
    seed: 1,
    cores: 2,
    searched: 0,
    schedules: TrialLimit::Count(150),
    transactions: TrialLimit::Count(8_000),
};

#[test]
fn every_scheme_keeps_its_promise_whatever_the_levers() {
    let given = ["run.splitting", "run.read_for_update"].map(|name| (name.to_owned(), "off".to_owned()));
    for info in catalogue::infos().filter(|info| info.workers == Admits::Any) {
        let scheme = instances::trial(info.name).expect("a scheme of the catalogue");
        let campaign = Campaign::new(scheme, &given).expect("legal settings");
        let report = campaign.run(&FEW, &CampaignMonitor::default());
        assert!(report.violations.is_empty(), "{}: {:?}", info.name, report.violations);
        assert!(report.schedules >= 150 && report.transactions >= 8_000, "{}", info.name);
    }
}
