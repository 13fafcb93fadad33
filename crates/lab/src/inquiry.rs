//! Inquiries: which schemes are checked for their isolation, how thoroughly, and under which settings. Impossible
//! requests are refused here.

use engine::{Admits, levers};
use trials::{Budget, Campaign, SEARCHES, Schedule, TrialInstance, TrialLimit, TrialSubject};

use crate::registry::pairs;
use crate::{Catalogue, Refusal};

/// A request to check the isolation of schemes, as it is typed.
#[derive(Clone, Debug)]
pub struct Question {
    /// The schemes. If empty, all schemes that protect transactions from each other.
    pub schemes: Vec<String>,
    /// Seconds of checking for each scheme.
    pub seconds: f64,
    /// The number of schedules to explore for each scheme, in addition to those of the searches. It replaces one half
    /// of `seconds`. With 0, there are no searches either.
    pub schedules: Option<u64>,
    /// The number of schedules after which the search of a program ends; see [`Budget::searched`].
    pub searched: Option<u64>,
    /// The number of transactions to run on threads for each scheme. It replaces the other half of `seconds`.
    pub transactions: Option<u64>,
    /// The first seed of the trials.
    pub seed: u64,
    /// `name=value` pairs: settings of the schemes, and levers of the engine, which apply to all schemes.
    pub set: Vec<String>,
    /// The name of a bug to plant.
    pub plant: Option<String>,
    /// The seed of an explored trial, or the name of a searched program, to show instead of a campaign.
    pub replay: Option<String>,
    /// The schedule of the shown trial, if it differs from the trial's own schedule.
    pub schedule: Option<String>,
}

/// A question that was found possible, with the campaigns that answer it.
#[derive(Clone, Debug)]
pub struct Inquiry {
    /// One campaign for each scheme.
    pub campaigns: Vec<Campaign>,
    /// The budget of each campaign.
    pub budget: Budget,
    /// The explored trial to show instead, and its schedule, if it differs from the trial's own schedule.
    pub replay: Option<(TrialSubject, Option<Schedule>)>,
    /// For each campaign, the command that checks this scheme again, without the seed.
    commands: Vec<String>,
}

impl Inquiry {
    /// Returns the inquiry that answers a question.
    ///
    /// # Errors
    /// Anything impossible. The text says what to do instead.
    pub fn new(catalogue: Catalogue, question: &Question) -> Result<Self, Refusal> {
        let names = schemes(catalogue, question)?;
        let given = pairs(&question.set)?;
        refuse_foreign(catalogue, &names, &given)?;
        let mut campaigns = Vec::new();
        let mut commands = Vec::new();
        for name in &names {
            let scheme = catalogue.listed(name).trial;
            let is_own = |setting: &str| catalogue.owner(setting) == Some(name) || levers::is_lever(setting);
            let own: Vec<_> = given.iter().filter(|(setting, _)| is_own(setting)).cloned().collect();
            let campaign = Campaign::new(scheme, &own)?;
            let set = own.iter().map(|(setting, value)| format!(" --set {setting}={value}"));
            let bug = question.plant.iter().map(|plant| format!(" --plant {plant}"));
            commands.push([format!("contend check {name}")].into_iter().chain(set).chain(bug).collect());
            campaigns.push(match &question.plant {
                Some(plant) => {
                    campaign.plant(scheme.plant(plant).ok_or_else(|| unknown_plant(&scheme, plant))?)
                }
                None => campaign,
            });
        }
        if question.replay.is_some() && campaigns.len() != 1 {
            return Err(Refusal("`--replay` shows a trial of one scheme: name it".to_owned()));
        }
        let schedule = question.schedule.as_deref().map(str::parse::<Schedule>).transpose();
        let schedule = schedule.map_err(|error| Refusal(format!("`--schedule`: {error}")))?;
        if schedule.is_some() && question.replay.is_none() {
            let says = "`--schedule` is that of a trial: give its seed or its program with `--replay`";
            return Err(Refusal(says.to_owned()));
        }
        let subject = question.replay.as_deref().map(subject).transpose()?;
        let replay = subject.map(|subject| (subject, schedule));
        Ok(Self { campaigns, budget: budget(question)?, replay, commands })
    }

    /// Returns the command line that repeats an explored trial of the campaign at a position.
    pub fn command(&self, position: usize, subject: TrialSubject, schedule: &Schedule) -> String {
        let runs = schedule.to_string();
        // The plainest schedule has no runs, but a command line cannot hold an empty word. `0` is the same schedule: it
        // begins with the first worker.
        let runs = if runs.is_empty() { "0" } else { &runs };
        format!("{} --replay {subject} --schedule {runs}", self.commands[position])
    }
}

fn schemes(catalogue: Catalogue, question: &Question) -> Result<Vec<&'static str>, Refusal> {
    if question.schemes.is_empty() {
        let all = catalogue.schemes_of(Some("all"))?;
        let breaks = |name: &str| {
            let scheme = catalogue.listed(name).trial;
            question.plant.as_deref().is_none_or(|plant| scheme.plant(plant).is_some())
        };
        let names: Vec<_> = all.iter().map(|info| info.name).filter(|name| breaks(name)).collect();
        if names.is_empty() {
            let plant = question.plant.as_deref().unwrap_or_default();
            return Err(Refusal(format!("no bug `{plant}` can be planted; see `contend list plants`")));
        }
        return Ok(names);
    }
    let schemes = catalogue.schemes_of(Some(&question.schemes.join(",")))?;
    if let Some(info) = schemes.iter().find(|info| info.workers == Admits::One) {
        let says =
            "does not protect transactions from each other, and promises nothing that could be checked";
        return Err(Refusal(format!("{} {says}: name another scheme", info.name)));
    }
    Ok(schemes.iter().map(|info| info.name).collect())
}

/// Refuses settings of schemes that are not checked: otherwise they would be ignored silently.
fn refuse_foreign(catalogue: Catalogue, schemes: &[&str], given: &[(String, String)]) -> Result<(), Refusal> {
    for (name, _) in given.iter().filter(|(name, _)| !levers::is_lever(name)) {
        let Some(owner) = catalogue.owner(name) else {
            return Err(Refusal(format!(
                "`{name}` is no setting of a scheme, and only these can be checked; see `contend list settings`"
            )));
        };
        if !schemes.contains(&owner) {
            return Err(Refusal(format!(
                "`{name}` is a setting of a scheme that is not checked: name it, too"
            )));
        }
    }
    Ok(())
}

fn unknown_plant(scheme: &TrialInstance, plant: &str) -> Refusal {
    let names: Vec<&str> = scheme.plants().iter().map(|known| known.plant.name).collect();
    let scheme = scheme.name();
    Refusal(format!("no bug `{plant}` can be planted in `{scheme}`; there are {}", names.join(", ")))
}

fn subject(text: &str) -> Result<TrialSubject, Refusal> {
    TrialSubject::named(text).ok_or_else(|| {
        let names: Vec<&str> = SEARCHES.iter().map(|program| program.name).collect();
        Refusal(format!(
            "`--replay {text}`: must be a seed, such as `--replay 1`, or the name of a program that is searched; there \
             are {}",
            names.join(", ")
        ))
    })
}

fn budget(question: &Question) -> Result<Budget, Refusal> {
    let seconds = question.seconds;
    if !(seconds > 0.0 && seconds <= 1e6) {
        return Err(Refusal(format!(
            "`--seconds {seconds}`: must be a number above 0, up to a million, such as `--seconds 10`"
        )));
    }
    // Runs on threads do not contain the planted bug, so the explored trials get all of the time.
    let share = if question.plant.is_some() { seconds } else { seconds / 2.0 };
    let limit = |count: Option<u64>| count.map_or(TrialLimit::Seconds(share), TrialLimit::Count);
    Ok(Budget {
        seed: question.seed,
        cores: sync::workers::cores(),
        searched: if question.schedules == Some(0) {
            0
        } else {
            question.searched.unwrap_or(Budget::SEARCHED)
        },
        schedules: limit(question.schedules),
        transactions: limit(question.transactions),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::registry::tests::catalogue;

    fn question(schemes: &[&str]) -> Question {
        Question {
            schemes: schemes.iter().map(|&name| name.to_owned()).collect(),
            seconds: 1.0,
            schedules: None,
            searched: None,
            transactions: None,
            seed: 1,
            set: Vec::new(),
            plant: None,
            replay: None,
            schedule: None,
        }
    }

    fn refusal(question: &Question) -> String {
        Inquiry::new(catalogue(), question).expect_err("refused").0
    }

    #[test]
    fn without_names_every_scheme_is_checked_that_excludes_others() {
        let inquiry = Inquiry::new(catalogue(), &question(&[])).expect("legal");
        assert!(inquiry.campaigns.len() >= 8);
        assert!(inquiry.commands.iter().all(|command| !command.contains("uncontrolled")));
    }

    #[test]
    fn the_command_brings_settings_and_bugs_along() {
        let asked = Question {
            set: vec!["silo.snapshots=on".to_owned()],
            plant: Some("silo_skips_reads".to_owned()),
            ..question(&["silo"])
        };
        let inquiry = Inquiry::new(catalogue(), &asked).expect("legal");
        let line =
            "contend check silo --set silo.snapshots=on --plant silo_skips_reads --replay 7 --schedule 0x3,1";
        assert_eq!(inquiry.command(0, TrialSubject::Seed(7), &"0x3,1".parse().expect("a schedule")), line);
        let program = TrialSubject::named("insert_after_a_miss").expect("a program");
        let line = inquiry.command(0, program, &Schedule::default());
        assert!(line.ends_with(" --replay insert_after_a_miss --schedule 0"), "{line}");
    }

    #[test]
    fn what_cannot_be_done_is_refused_with_the_way_out() {
        assert!(refusal(&question(&["sillo"])).contains("did you mean `silo`"));
        assert!(refusal(&Question { seconds: 0.0, ..question(&[]) }).contains("--seconds 10"));
        let plant = Some("silo_skips_reads".to_owned());
        assert!(refusal(&Question { plant, ..question(&["si"]) }).contains("si_last_writer_wins"));
        let plant = Some("no_such".to_owned());
        assert!(refusal(&Question { plant, ..question(&[]) }).contains("contend list plants"));
        let set = vec!["tpcc.warehouses=2".to_owned()];
        assert!(refusal(&Question { set, ..question(&["silo"]) }).contains("no setting of a scheme"));
        let set = vec!["aria.batch=2".to_owned()];
        assert!(refusal(&Question { set, ..question(&["silo"]) }).contains("not checked"));
        let set = vec!["silo.epoch_ms=0".to_owned()];
        assert!(refusal(&Question { set, ..question(&["silo"]) }).contains("silo.epoch_ms=0"));
        assert!(refusal(&Question { replay: Some("1".to_owned()), ..question(&[]) }).contains("name it"));
        let replay = Some("insert".to_owned());
        assert!(refusal(&Question { replay, ..question(&["silo"]) }).contains("insert_after_a_miss"));
        let schedule = Some("0x3".to_owned());
        assert!(refusal(&Question { schedule, ..question(&["silo"]) }).contains("--replay"));
        let schedule = Some("zero".to_owned());
        assert!(
            refusal(&Question { replay: Some("1".to_owned()), schedule, ..question(&["silo"]) })
                .contains("0x12,1,0x3")
        );
    }
}
