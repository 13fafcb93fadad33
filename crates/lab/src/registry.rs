//! The names of workloads, schemes and settings. Unknown names are refused with the nearest known name.

use core::fmt;

use engine::entry::{Entry, Published};
use engine::setting::{Range, Setting, Values, nearest};
use engine::{Admits, Family, Info, Scheme, levers};
use runs::{WORKLOADS, WorkloadInfo};
use simulations::SimulatedInstance;
use sync::atomic::{AtomicPtr, Ordering};
use trials::{SteppedEntry, SteppedScheme};

use crate::{Refusal, own};

/// The settings that every run has, whatever its workload and scheme.
pub(crate) const RUN_SETTINGS: &[Setting] = &[
    Setting {
        name: "run.abort_us",
        default: "0",
        range: Range::Int(0, 1_000_000),
        unit: "microseconds",
        doc: "extra work of the worker at each abort by a scheme, like the cost of exceptions, logging or a slow \
              client library; the locks of the attempt are released before, but a batch waits for this work",
        stresses: "the price of optimism: schemes that abort against schemes that wait",
    },
    Setting {
        name: "run.admission",
        default: "regulated",
        range: Range::Choice(&["open", "regulated", "single"]),
        unit: "",
        doc: "how many requests of a worker may be active at a time: under `regulated` fewer while most attempts are \
              aborted or blocked by others, so that many clients do not thrash; under `open` the requests of all its \
              clients, which shows how a scheme behaves without load control; under `single` one, during its \
              attempts: an attempt that waits keeps its worker, and the next begins when it has ended, as in DBx1000",
        stresses: "many conflicting clients, most of whose attempts are wasted",
    },
    Setting {
        name: "run.backoff_us",
        default: "100",
        range: Range::Int(0, 1_000_000),
        unit: "microseconds",
        doc: "the longest pause of a client of `--retry fixed` after an abort: each pause is a random time up to \
              this, as in DBx1000",
        stresses: "repeated conflicts against time spent waiting",
    },
    Setting {
        name: "run.checkpoint_ms",
        default: "0",
        range: Range::Int(0, 86_400_000),
        unit: "milliseconds",
        doc: "how often a checkpoint of all rows is made from the log while transactions run, by a thread of its own; \
              0 for never; where nothing is logged there is none",
        stresses: "memory bandwidth and the device, which checkpoints share with transactions",
    },
    Setting {
        name: "run.durability",
        default: "none",
        range: Range::Choice(&["none", "async", "group"]),
        unit: "",
        doc: "when commits survive a crash: `none` never, and nothing is logged; `async` some milliseconds after they \
              are acknowledged; `group` before they are acknowledged, all commits of an epoch together, so a client \
              waits for the device, and it takes many clients to keep a worker busy, and its batches full",
        stresses: "the cost of logging: copies of what is written, a thread that writes it, and answers that wait",
    },
    Setting {
        name: "run.log_epoch_us",
        default: "1000",
        range: Range::Int(1, 10_000_000),
        unit: "microseconds",
        doc: "how long an epoch of the log lasts if the device keeps up; what was committed in it becomes durable as a \
              whole",
        stresses: "how long answers wait under `run.durability=group`, against the number of waits for the device",
    },
    Setting {
        name: "run.index",
        default: "standard",
        range: Range::Choice(&["standard", "ordered"]),
        unit: "",
        doc: "the kind of index that finds rows by key: `standard` is a hash index for tables without range scans and \
              an ordered index for others, `ordered` an ordered index for all",
        stresses: "the cost of finding rows, and conflicts of neighbours in leaves",
    },
    Setting {
        name: "run.burst_ms",
        default: "20",
        range: Range::Int(1, 60_000),
        unit: "milliseconds",
        doc: "how long a burst of `--arrivals bursty` lasts in the mean; with the standard lulls, requests come five \
              times as fast in bursts as the rate says",
        stresses: "queues that grow while a burst lasts",
    },
    Setting {
        name: "run.lull_ms",
        default: "80",
        range: Range::Int(1, 60_000),
        unit: "milliseconds",
        doc: "how long no request comes between two bursts of `--arrivals bursty`, in the mean",
        stresses: "how much faster requests come in bursts than in the mean",
    },
    Setting {
        name: "run.pause_us",
        default: "0",
        range: Range::Int(0, 60_000_000),
        unit: "microseconds",
        doc: "wait inside each transaction before it commits, as for an interactive client; pays with more \
              clients than workers, when others use the worker meanwhile",
        stresses: "how long transactions hold their locks",
    },
    Setting {
        name: "run.queue_max",
        default: "1000",
        range: Range::Int(0, 100_000_000),
        unit: "requests",
        doc: "how many requests of an open loop may wait for a free client, at all workers together; further requests \
              are skipped and counted",
        stresses: "latency against skipped requests, if more requests arrive than can be served",
    },
    Setting {
        name: "run.reserve_mb",
        default: "auto",
        range: Range::Text("a whole number of megabytes, or `auto`", |text| {
            text == "auto" || text.parse::<u32>().is_ok()
        }),
        unit: "megabytes",
        doc: "memory that the system is asked for before the run, so that growing tables wait for no page faults; \
              `auto` is what a fast run of this length would add, a quarter of the free memory at most",
        stresses: "page faults and the zeroing of pages while transactions run",
    },
    Setting {
        name: "run.rows",
        default: "auto",
        range: Range::Choice(&["auto", "loaded", "implicit"]),
        unit: "",
        doc: "how a simulated run gets its first rows: `loaded` makes all of them before the run; `implicit` makes \
              those of large tables when they are touched, so that the run needs memory for what it touches, and the \
              simulated caches see the footprint of all; `auto` is `implicit` if the workload can and loading takes \
              more than 2 GiB; native runs load all rows",
        stresses: "the memory of the host, and the time that loading takes",
    },
    Setting {
        name: "run.turn_after",
        default: "100",
        range: Range::Int(0, 1_000_000_000),
        unit: "aborts",
        doc: "the least number of aborts in a row after which the other clients of the worker wait for a request, \
              and, after further aborts, the clients of all workers; at least as many as there are clients that would \
              wait; 0 for never, as in published engines, which shows how a scheme starves requests",
        stresses: "requests that others abort again and again, above all long requests among short ones",
    },
    Setting {
        name: "run.versions",
        default: "inline",
        range: Range::Choice(&["inline", "apart"]),
        unit: "",
        doc: "where multi-version schemes put the versions of a record: `inline` keeps one version within the record \
              if there is room; `apart` keeps none there, which saves moving it but makes an insert allocate two \
              blocks of memory; no effect on other schemes",
        stresses: "cache misses between a record and its version",
    },
    Setting {
        name: "run.sample_every",
        default: "64",
        range: Range::Int(0, 1_000_000),
        unit: "transactions",
        doc: "one in so many transactions is divided into phases for the breakdown; 0 for none",
        stresses: "the cost of measuring itself",
    },
];

/// The owner of a setting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SettingOf {
    /// Every run.
    Run,
    /// The workload with this name.
    Workload(&'static str),
    /// The scheme with this name.
    Scheme(&'static str),
}

/// A scheme of a catalogue: its entry, and what runs, trials and simulations compile for it.
#[derive(Clone, Copy, Debug)]
pub struct Listed {
    pub(crate) run: runs::Instance,
    pub(crate) trial: trials::TrialInstance,
    pub(crate) simulated: SimulatedInstance,
}

impl Listed {
    /// Returns a scheme, with its entries in the native build and in the stepped one. All that is compiled for the
    /// scheme is compiled where this function is called.
    pub const fn of<N: Scheme, S: SteppedScheme>(
        entry: &'static Entry,
        stepped: &'static SteppedEntry,
    ) -> Self {
        Self {
            run: runs::Instance::of::<N>(entry),
            trial: trials::TrialInstance::of::<N, S>(entry, stepped),
            simulated: SimulatedInstance::of::<S>(stepped),
        }
    }

    /// The scheme's entry.
    pub fn entry(&self) -> &'static Entry {
        self.run.entry
    }
}

impl From<(runs::Instance, trials::TrialInstance, SimulatedInstance)> for Listed {
    fn from((run, trial, simulated): (runs::Instance, trials::TrialInstance, SimulatedInstance)) -> Self {
        Self { run, trial, simulated }
    }
}

/// The list of a catalogue, which stays in memory until the program ends, and the one that was made before it.
#[expect(dead_code, reason = "a search for lost memory finds the lists here, and nobody else looks for them")]
struct Kept {
    listed: &'static [Listed],
    before: *mut Kept,
}

/// The list that was made last.
static NEWEST: AtomicPtr<Kept> = AtomicPtr::new(core::ptr::null_mut());

impl Kept {
    fn keep(listed: &'static [Listed]) {
        let kept = Box::leak(Box::new(Self { listed, before: core::ptr::null_mut() }));
        // Relaxed: nobody follows the pointers.
        kept.before = NEWEST.swap(&raw mut *kept, Ordering::Relaxed);
    }
}

/// The catalogue of all schemes, workloads and settings. Its schemes are a value that a program makes once and passes
/// on.
#[derive(Clone, Copy)]
pub struct Catalogue {
    listed: &'static [Listed],
    is_extended: bool,
}

impl fmt::Debug for Catalogue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.schemes().map(|entry| entry.info.name)).finish()
    }
}

impl Catalogue {
    /// The catalogue of workloads and of settings that belong to no scheme.
    pub(crate) const WITHOUT_SCHEMES: Self = Self { listed: &[], is_extended: false };

    /// Makes the catalogue of some schemes, in their order. The list stays in memory until the program ends.
    pub fn new(listed: impl IntoIterator<Item = impl Into<Listed>>) -> Self {
        let listed: &[Listed] = listed.into_iter().map(Into::into).collect::<Vec<Listed>>().leak();
        Kept::keep(listed);
        Self { listed, is_extended: false }
    }

    /// Returns the catalogue with further schemes behind its own.
    ///
    /// # Errors
    /// A scheme whose name is taken, or whose types and entries contradict each other. The text says what to change.
    pub fn with(self, own: &[Listed]) -> Result<Self, Refusal> {
        let mut all = self;
        for listed in own {
            own::judge(all, listed)?;
            all = Self { is_extended: true, ..Self::new([all.listed, &[*listed]].concat()) };
        }
        Ok(all)
    }

    /// Whether schemes were added whose sources are not those of this project.
    pub fn is_extended(self) -> bool {
        self.is_extended
    }

    /// Returns the entries of all schemes.
    pub fn schemes(self) -> impl ExactSizeIterator<Item = &'static Entry> + Clone {
        self.listed.iter().map(Listed::entry)
    }

    /// Returns the scheme with this name, which is one of the catalogue.
    pub(crate) fn listed(self, name: &str) -> &'static Listed {
        let found = self.listed.iter().find(|listed| listed.entry().info.name == name);
        found.unwrap_or_else(|| panic!("no scheme `{name}`"))
    }

    fn infos(self) -> impl Iterator<Item = &'static Info> + Clone {
        self.schemes().map(|entry| &entry.info)
    }

    /// Returns all workloads.
    pub fn workloads(self) -> &'static [WorkloadInfo] {
        WORKLOADS
    }

    /// Returns all settings, each with its owner.
    pub fn settings(self) -> impl Iterator<Item = (SettingOf, &'static Setting)> {
        let of_run = RUN_SETTINGS.iter().chain(levers::SETTINGS).map(|setting| (SettingOf::Run, setting));
        let of_workloads = WORKLOADS.iter().flat_map(|workload| {
            workload.settings.iter().map(|setting| (SettingOf::Workload(workload.name), setting))
        });
        let of_schemes = self.schemes().flat_map(|entry| {
            entry.settings.iter().map(|setting| (SettingOf::Scheme(entry.info.name), setting))
        });
        of_run.chain(of_workloads).chain(of_schemes)
    }

    /// Returns the setting with this name.
    ///
    /// # Errors
    /// An unknown name. The text has the nearest known name.
    pub fn setting(self, name: &str) -> Result<&'static Setting, Refusal> {
        let names = self.settings().map(|(_, setting)| setting.name);
        let found = self.settings().find(|(_, setting)| setting.name == name);
        found.map(|(_, setting)| setting).ok_or_else(|| unknown("setting", "settings", name, names))
    }

    /// Returns the scheme that a setting belongs to; `None` if it is not a setting of a scheme.
    pub fn owner(self, name: &str) -> Option<&'static str> {
        self.settings().find_map(|(of, setting)| match of {
            SettingOf::Scheme(scheme) if setting.name == name => Some(scheme),
            _ => None,
        })
    }

    /// Returns the settings of a scheme that its authors have at other values than the standard ones.
    ///
    /// # Panics
    /// If there is no such scheme.
    pub(crate) fn published(self, scheme: &str) -> &'static [Published] {
        self.listed(scheme).run.entry.published
    }

    /// Returns a setting as the authors of its scheme have it; `None` if the standard value is theirs, too.
    pub(crate) fn published_as(self, name: &str) -> Option<&'static Published> {
        let own = self.owner(name)?;
        self.published(own).iter().find(|published| published.setting == name)
    }

    /// Returns the workload with this name.
    ///
    /// # Errors
    /// An unknown name. The text has the nearest known name.
    pub fn workload(self, name: &str) -> Result<&'static WorkloadInfo, Refusal> {
        let names = WORKLOADS.iter().map(|workload| workload.name);
        WORKLOADS
            .iter()
            .find(|workload| workload.name == name)
            .ok_or_else(|| unknown("workload", "workloads", name, names))
    }

    /// Returns the scheme with this name.
    ///
    /// # Errors
    /// An unknown name. The text has the nearest known name.
    pub fn scheme(self, name: &str) -> Result<&'static Info, Refusal> {
        let names = self.infos().map(|info| info.name);
        let found = self.infos().find(|info| info.name == name);
        found.ok_or_else(|| unknown("scheme", "schemes", name, names))
    }

    /// Returns the schemes of a list. The list is names with commas between them, or `all` for every scheme that admits
    /// any number of workers. Without a list, returns the schemes of `all` that are no baselines.
    ///
    /// # Errors
    /// An unknown name, a name that is given twice, or an empty list.
    pub fn schemes_of(self, list: Option<&str>) -> Result<Vec<&'static Info>, Refusal> {
        let general = self.infos().filter(|info| info.workers == Admits::Any);
        match list {
            None => Ok(general.filter(|info| info.family != Family::Baseline).collect()),
            Some("all") => Ok(general.collect()),
            Some(list) => {
                let mut chosen: Vec<&Info> = Vec::new();
                for name in list.split(',').map(str::trim) {
                    if name == "all" {
                        let says = "`all` stands alone in a list of schemes: give it without other names";
                        return Err(Refusal(says.to_owned()));
                    }
                    let info = self.scheme(name)?;
                    if chosen.iter().any(|earlier| earlier.name == name) {
                        let says = format!("scheme `{name}` is given twice: name it once");
                        return Err(Refusal(says));
                    }
                    chosen.push(info);
                }
                Ok(chosen)
            }
        }
    }

    /// Returns the values of all settings of a run of `workload` under `scheme`. Values in `given` that belong to other
    /// schemes are left out.
    ///
    /// # Errors
    /// A name that is unknown or belongs to another workload, or a value out of range.
    pub fn values(
        self,
        workload: &WorkloadInfo,
        scheme: Option<&Info>,
        given: &[(String, String)],
    ) -> Result<Values, Refusal> {
        let is_known = |of: SettingOf| match of {
            SettingOf::Run => true,
            SettingOf::Workload(name) => name == workload.name,
            SettingOf::Scheme(name) => scheme.is_some_and(|scheme| scheme.name == name),
        };
        let of_name =
            |name: &str| self.settings().find(|(_, setting)| setting.name == name).map(|(of, _)| of);
        let mut own = Vec::new();
        for (name, value) in given {
            match of_name(name) {
                Some(SettingOf::Workload(other)) if other != workload.name => {
                    let says = format!("`{name}` is a setting of workload {other}, not of {}", workload.name);
                    return Err(Refusal(says));
                }
                Some(of) if is_known(of) => own.push((name.clone(), value.clone())),
                Some(_) => {}
                None => {
                    let names = self.settings().map(|(_, setting)| setting.name);
                    return Err(unknown("setting", "settings", name, names));
                }
            }
        }
        let known = self.settings().filter(|(of, _)| is_known(*of)).map(|(_, setting)| setting);
        Ok(Values::new(known, &own)?)
    }
}

/// Returns the names and values of texts such as `name=value`.
///
/// # Errors
/// A text without `=`.
pub(crate) fn pairs(given: &[String]) -> Result<Vec<(String, String)>, Refusal> {
    let pair = |text: &String| match text.split_once('=') {
        Some((name, value)) => Ok((name.trim().to_owned(), value.trim().to_owned())),
        None => Err(Refusal(format!("`--set {text}`: must be a name and a value with `=` between them"))),
    };
    given.iter().map(pair).collect()
}

fn unknown<'n>(kind: &str, list: &str, name: &str, names: impl IntoIterator<Item = &'n str>) -> Refusal {
    Refusal(match nearest(name, names) {
        // `contend simulate` has an option of this name.
        _ if kind == "setting" && name == "cores" => {
            "unknown setting `cores`: in a sweep, vary `workers`; each simulated worker has a hardware thread to \
             itself"
                .to_owned()
        }
        Some(near) => format!("unknown {kind} `{name}`; did you mean `{near}`?"),
        None => format!("unknown {kind} `{name}`; see `contend list {list}`"),
    })
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// Returns the catalogue of all schemes of this project.
    pub(crate) fn catalogue() -> Catalogue {
        Catalogue::new(instances::all())
    }

    fn refusal<T>(result: Result<T, Refusal>) -> String {
        result.err().expect("refused").0
    }

    fn values(workload: &str, given: &[&str]) -> Result<Values, Refusal> {
        let given = pairs(&given.iter().map(|&text| text.to_owned()).collect::<Vec<_>>())?;
        catalogue().values(catalogue().workload(workload)?, Some(catalogue().scheme("silo")?), &given)
    }

    #[test]
    fn names_of_settings_begin_with_whose_they_are_and_are_unique() {
        let mut seen = std::collections::BTreeSet::new();
        for (of, setting) in catalogue().settings() {
            let owner = match of {
                SettingOf::Run => "run",
                SettingOf::Workload(name) | SettingOf::Scheme(name) => name,
            };
            assert!(setting.name.starts_with(&format!("{owner}.")), "{}", setting.name);
            assert!(seen.insert(setting.name), "{} is there twice", setting.name);
            assert!(!setting.doc.is_empty() && !setting.stresses.is_empty(), "{} says nothing", setting.name);
        }
    }

    #[test]
    fn published_values_are_legal_and_differ_from_the_standard() {
        for Entry { info, settings, published, .. } in catalogue().schemes() {
            for Published { setting: name, value, place } in *published {
                let own = settings.iter().find(|setting| setting.name == *name);
                let own = own.unwrap_or_else(|| panic!("{name} is no setting of {}", info.name));
                assert!(own.default != *value && !place.is_empty(), "{name}");
                Values::new([own], &[((*name).to_owned(), (*value).to_owned())]).expect("in range");
            }
        }
    }

    #[test]
    fn standard_values_are_legal() {
        for workload in catalogue().workloads() {
            for Entry { info: scheme, .. } in catalogue().schemes() {
                let standard: Vec<_> = catalogue()
                    .values(workload, Some(scheme), &[])
                    .expect("no value is given")
                    .iter()
                    .map(|(name, value)| (name.to_owned(), value.to_owned()))
                    .collect();
                catalogue().values(workload, Some(scheme), &standard).expect("standard values are in range");
            }
        }
    }

    #[test]
    fn unknown_names_are_refused_with_the_nearest() {
        assert!(refusal(catalogue().workload("tpc")).contains("did you mean `tpcc`"));
        assert!(refusal(catalogue().scheme("sillo")).contains("did you mean `silo`"));
        assert!(refusal(catalogue().scheme("zzzzzz")).contains("contend list schemes"));
        assert!(refusal(values("ycsb", &["ycsb.tehta=1"])).contains("did you mean `ycsb.theta`"));
        assert!(refusal(catalogue().setting("cores")).contains("vary `workers`"));
    }

    #[test]
    fn settings_of_another_workload_and_values_without_a_name_are_refused() {
        assert!(refusal(values("ycsb", &["tpcc.warehouses=2"])).contains("of workload tpcc"));
        assert!(refusal(values("ycsb", &["0.5"])).contains('='));
        assert!(refusal(values("ycsb", &["ycsb.theta=2"])).contains("from 0 to 0.999"));
        assert_eq!(values("ycsb", &["ycsb.theta = 0.5"]).expect("legal").text("ycsb.theta"), "0.5");
    }

    #[test]
    fn lists_of_schemes_leave_out_what_takes_one_worker_unless_it_is_named() {
        for list in [None, Some("all")] {
            let schemes = catalogue().schemes_of(list).expect("legal");
            assert!(!schemes.is_empty() && schemes.iter().all(|info| info.workers == Admits::Any));
        }
        assert!(refusal(catalogue().schemes_of(Some("silo,silo"))).contains("twice"));
        assert!(refusal(catalogue().schemes_of(Some(""))).contains("unknown scheme"));
    }
}
