//! The ground of a study of conditions or of sensitivity: the settings that vary, the settings that are fixed, and the
//! build that makes the runs. The points of the study become runs here.

use std::collections::BTreeMap;

use stdx::Rng;

use crate::plan::standard_workers;
use crate::registry::pairs;
use crate::sweep::{DRIVES, Recipe, Scalar, Unit};
use crate::{Catalogue, Plan, Refusal, Space, simulation};

/// The number of random points that are tried to find one that can be run.
const TRIES: usize = 50;

/// The ground of a study: its space, its fixed settings, and its build.
#[derive(Clone, Debug)]
pub struct Ground {
    /// The catalogue of the schemes.
    pub(crate) catalogue: Catalogue,
    /// The settings that vary, with their ranges.
    pub space: Space,
    /// The names of the settings that vary.
    pub axes: Vec<String>,
    /// The build that makes the runs.
    pub build: String,
    recipe: Recipe,
}

/// The options that all runs of a study share.
#[derive(Clone, Copy, Debug)]
pub(crate) struct How {
    /// Measured seconds of each run.
    pub(crate) seconds: f64,
    /// Seconds of warm-up before the measured time.
    pub(crate) warmup: f64,
    /// The seed of all random numbers.
    pub(crate) seed: u64,
    /// Whether workers stay on their cores.
    pub(crate) pin: bool,
    /// Whether runs are checked.
    pub(crate) check: bool,
}

impl Ground {
    /// Returns the ground for `vary` and `set`, as they are typed on the command line. Without a `workload`, the
    /// workload is the one that the named settings belong to. Unlike a recipe, a study needs no reasons for settings
    /// off their standard values: the user asked for them.
    ///
    /// # Errors
    /// Unknown names, no workload, a setting that is fixed twice or both fixed and varied, and settings of schemes that
    /// are not compared.
    pub(crate) fn new(
        catalogue: Catalogue,
        workload: Option<&str>,
        schemes: &[&str],
        (vary, set): (&[String], &[String]),
        how: How,
        build: &str,
    ) -> Result<Self, Refusal> {
        let space = Space::parse(catalogue, vary)?;
        let axes: Vec<String> = space.axes().iter().map(|axis| axis.name().to_owned()).collect();
        let mut settings = settings(catalogue, schemes, &axes, set)?;
        let is_open = !axes.iter().chain(settings.keys()).any(|name| name == "workers");
        if is_open && axes.iter().any(|axis| axis == "run.durability") {
            // The standard number of workers leaves a core to the log if there is one. It is fixed here, so that a
            // change of `run.durability` changes nothing else.
            settings.insert("workers".to_owned(), Scalar::Int(standard_workers(true) as i64));
        }
        let workload = workload_of(catalogue, workload, settings.keys().chain(&axes))?;
        let recipe = Recipe {
            title: schemes.join(" against "),
            workload,
            schemes: schemes.iter().map(|&scheme| scheme.to_owned()).collect(),
            repeat: 1,
            seconds: how.seconds,
            warmup: Scalar::Real(how.warmup),
            cooldown: 0.0,
            seed: how.seed,
            budget_minutes: None,
            pin: how.pin,
            log_in_memory: false,
            check: how.check,
            settings,
            vary: BTreeMap::new(),
            variants: Vec::new(),
            why: BTreeMap::new(),
            whole: None,
            is_whole: false,
            change: None,
        };
        Ok(Self { catalogue, space, axes, build: build.to_owned(), recipe })
    }

    /// Returns the run of a scheme at a point. Each repetition has its own requests.
    ///
    /// # Errors
    /// A point that cannot be run.
    pub(crate) fn unit(&self, scheme: &'static str, point: &[f64], repetition: u64) -> Result<Unit, Refusal> {
        let values: Vec<String> = self.space.named(point).into_iter().map(|(_, value)| value).collect();
        Unit::new(self.catalogue, &self.recipe, &self.build, (scheme, &self.axes, &values), repetition)
    }

    /// Returns the plan of a scheme's runs at a point.
    ///
    /// # Errors
    /// A point that cannot be run.
    pub(crate) fn plan(&self, scheme: &'static str, point: &[f64]) -> Result<Plan, Refusal> {
        let values: Vec<String> = self.space.named(point).into_iter().map(|(_, value)| value).collect();
        let (_, plan) =
            Unit::planned(self.catalogue, &self.recipe, &self.build, (scheme, &self.axes, &values), 0)?;
        plan.suits(&plan.subjects[0])?;
        Ok(plan)
    }

    /// Refuses a space of which no point that has a certain word, or lies at a certain end of a range, can be run:
    /// nothing would be learnt about that word. `possible` judges a point.
    ///
    /// # Errors
    /// Such a word or end, with the reason.
    pub(crate) fn refuse_dead_ends(
        &self,
        possible: impl Fn(&[f64]) -> Result<(), Refusal>,
    ) -> Result<(), Refusal> {
        let mut rng = Rng::from_path(&[self.recipe.seed, 0x656e_6473]);
        let middle = self.space.point(&vec![0.5; self.axes.len()]);
        for (nth, axis) in self.space.axes().iter().enumerate() {
            let (low, high) = axis.ends();
            let words = axis.choices().map(|words| (0..words.len()).map(|word| word as f64).collect());
            for value in words.unwrap_or_else(|| vec![low, high]) {
                let at = |mut point: Vec<f64>| {
                    point[nth] = value;
                    possible(&point).err()
                };
                let Some(why) = at(middle.clone()) else { continue };
                if (0..TRIES).all(|_| at(self.space.random(&mut rng)).is_some()) {
                    let (name, value) = (axis.name(), axis.text(value));
                    return Err(Refusal(format!("`--vary {name}`: with {value} no point can be run: {why}")));
                }
            }
        }
        Ok(())
    }

    /// Returns this ground with `name` fixed to `value`, in place of an earlier value.
    pub(crate) fn with(&self, name: &str, value: &str) -> Self {
        let mut changed = self.clone();
        changed.recipe.settings.insert(name.to_owned(), Scalar::Text(value.to_owned()));
        changed
    }

    /// Returns the workload's name.
    pub fn workload(&self) -> &str {
        &self.recipe.workload
    }

    /// Returns a sentence for each machine on which the study simulates its runs; none if its runs are native.
    pub(crate) fn simulated(&self) -> Vec<String> {
        simulation::told_by(&self.fixed(), &self.space.result())
    }

    /// Returns the fixed settings, by name.
    pub fn fixed(&self) -> BTreeMap<String, String> {
        self.recipe.settings.iter().map(|(name, value)| (name.clone(), value.to_string())).collect()
    }
}

/// Refuses an invalid time budget of a study.
///
/// # Errors
/// Minutes that are not a number above 0, and more than 100000 minutes.
pub(crate) fn judge_budget(minutes: f64) -> Result<(), Refusal> {
    if minutes > 0.0 && minutes <= 100_000.0 {
        return Ok(());
    }
    Err(Refusal(format!("`--budget`: {minutes} minutes are none or too many: give up to 100000")))
}

/// Returns the fixed settings of `set`, checked against the axes and the schemes.
fn settings(
    catalogue: Catalogue,
    schemes: &[&str],
    axes: &[String],
    set: &[String],
) -> Result<BTreeMap<String, Scalar>, Refusal> {
    let mut settings = BTreeMap::new();
    for (name, value) in pairs(set)? {
        if axes.contains(&name) {
            return Err(Refusal(format!(
                "`{name}` is both fixed and varied: leave it out of `--set` or `--vary`"
            )));
        }
        if settings.insert(name.clone(), Scalar::Text(value)).is_some() {
            return Err(Refusal(format!("`--set {name}` is given twice; give it once")));
        }
    }
    for name in settings.keys().chain(axes).filter(|name| !DRIVES.contains(&name.as_str())) {
        catalogue.setting(name)?;
        if let Some(owner) = catalogue.owner(name).filter(|owner| !schemes.contains(owner)) {
            return Err(Refusal(format!(
                "`{name}` is a setting of {owner}, which is not compared: leave it out"
            )));
        }
    }
    Ok(settings)
}

/// Returns the named workload, or else the workload that the settings belong to.
fn workload_of<'n>(
    catalogue: Catalogue,
    named: Option<&str>,
    mut settings: impl Iterator<Item = &'n String>,
) -> Result<String, Refusal> {
    if let Some(name) = named {
        return Ok(catalogue.workload(name)?.name.to_owned());
    }
    let is_of = |name: &str, of: &str| name.split_once('.').is_some_and(|(its, _)| its == of);
    let of = |name: &String| catalogue.workloads().iter().find(|workload| is_of(name, workload.name));
    settings.find_map(of).map(|workload| workload.name.to_owned()).ok_or_else(|| {
        let says = "no setting names the workload: give it, for example `contend conditions ycsb`";
        Refusal(says.to_owned())
    })
}
