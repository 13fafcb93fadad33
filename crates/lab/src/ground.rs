//! Where a study is made, one of conditions or of sensitivity: what varies, what is the same in all runs, and what
//! makes them. Its points become runs here.

use std::collections::BTreeMap;

use crate::plan::standard_workers;
use crate::registry::pairs;
use crate::sweep::{DRIVES, Recipe, Scalar, Unit};
use crate::{Catalogue, Plan, Refusal, Space};

/// The ground of a study.
#[derive(Clone, Debug)]
pub struct Ground {
    /// What varies.
    pub space: Space,
    /// The names of what varies.
    pub axes: Vec<String>,
    /// What makes the runs.
    pub build: String,
    recipe: Recipe,
}

/// How each run of a study is made.
#[derive(Clone, Copy, Debug)]
pub(crate) struct How {
    /// Seconds that are measured.
    pub(crate) seconds: f64,
    /// Seconds before them.
    pub(crate) warmup: f64,
    /// What all random numbers begin with.
    pub(crate) seed: u64,
    /// Whether workers stay on their cores.
    pub(crate) pin: bool,
    /// Whether runs are checked.
    pub(crate) check: bool,
}

impl Ground {
    /// The ground on which `vary` and `set`, as they are typed, are about `workload`, or without one about that of the
    /// settings that are named. It needs no reasons: what is off the standard is what was asked.
    ///
    /// # Errors
    /// Unknown names, no workload, what is fixed twice or varied as well, and settings of schemes that are not
    /// compared.
    pub(crate) fn new(
        workload: Option<&str>,
        schemes: &[&str],
        (vary, set): (&[String], &[String]),
        how: How,
        build: &str,
    ) -> Result<Self, Refusal> {
        let space = Space::parse(vary)?;
        let axes: Vec<String> = space.axes().iter().map(|axis| axis.name().to_owned()).collect();
        let mut settings = settings(schemes, &axes, set)?;
        let is_open = !axes.iter().chain(settings.keys()).any(|name| name == "workers");
        if is_open && axes.iter().any(|axis| axis == "run.durability") {
            // The standard leaves a core to the log where there is one, and what varies is to change nothing else.
            settings.insert("workers".to_owned(), Scalar::Int(standard_workers(true) as i64));
        }
        let workload = workload_of(workload, settings.keys().chain(&axes))?;
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
        };
        Ok(Self { space, axes, build: build.to_owned(), recipe })
    }

    /// The run of a scheme at a point; each repetition has requests of its own.
    ///
    /// # Errors
    /// When the point cannot be run.
    pub(crate) fn unit(&self, scheme: &'static str, point: &[f64], repetition: u64) -> Result<Unit, Refusal> {
        let values: Vec<String> = self.space.named(point).into_iter().map(|(_, value)| value).collect();
        Unit::new(&self.recipe, &self.build, (scheme, &self.axes, &values), repetition)
    }

    /// The plan of a scheme's runs at a point.
    ///
    /// # Errors
    /// When the point cannot be run.
    pub(crate) fn plan(&self, scheme: &'static str, point: &[f64]) -> Result<Plan, Refusal> {
        let values: Vec<String> = self.space.named(point).into_iter().map(|(_, value)| value).collect();
        let (_, plan) = Unit::planned(&self.recipe, &self.build, (scheme, &self.axes, &values), 0)?;
        plan.suits(&plan.subjects[0])?;
        Ok(plan)
    }

    /// The same with one more thing fixed, or fixed to another value.
    pub(crate) fn with(&self, name: &str, value: &str) -> Self {
        let mut changed = self.clone();
        changed.recipe.settings.insert(name.to_owned(), Scalar::Text(value.to_owned()));
        changed
    }

    /// The workload's name.
    pub fn workload(&self) -> &str {
        &self.recipe.workload
    }

    /// What is fixed, by name.
    pub fn fixed(&self) -> BTreeMap<String, String> {
        self.recipe.settings.iter().map(|(name, value)| (name.clone(), value.to_string())).collect()
    }
}

/// Refuses a time for a study that is none.
///
/// # Errors
/// Minutes that are no number above 0, or too many.
pub(crate) fn judge_budget(minutes: f64) -> Result<(), Refusal> {
    if minutes > 0.0 && minutes <= 100_000.0 {
        return Ok(());
    }
    Err(Refusal(format!("`--budget`: {minutes} minutes are none or too many: give up to 100000")))
}

/// What is fixed.
fn settings(schemes: &[&str], axes: &[String], set: &[String]) -> Result<BTreeMap<String, Scalar>, Refusal> {
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
        Catalogue.setting(name)?;
        if let Some(owner) = Catalogue.owner(name).filter(|owner| !schemes.contains(owner)) {
            return Err(Refusal(format!(
                "`{name}` is a setting of {owner}, which is not compared: leave it out"
            )));
        }
    }
    Ok(settings)
}

/// The workload that was named, or that the settings belong to.
fn workload_of<'n>(
    named: Option<&str>,
    mut settings: impl Iterator<Item = &'n String>,
) -> Result<String, Refusal> {
    if let Some(name) = named {
        return Ok(Catalogue.workload(name)?.name.to_owned());
    }
    let is_of = |name: &str, of: &str| name.split_once('.').is_some_and(|(its, _)| its == of);
    let of = |name: &String| Catalogue.workloads().iter().find(|workload| is_of(name, workload.name));
    settings.find_map(of).map(|workload| workload.name.to_owned()).ok_or_else(|| {
        let says = "no setting says which workload is meant: name it, for example `contend conditions ycsb`";
        Refusal(says.to_owned())
    })
}
