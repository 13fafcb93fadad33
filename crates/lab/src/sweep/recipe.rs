//! Recipes: the definitions of sweeps, as files in TOML.

use core::str::FromStr;
use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;

use crate::constants::ConstantChange;
use crate::plan::{Request, WarmUpLength, standard_workers};
use crate::simulation::machine_of;
use crate::{Arrival, Catalogue, ClientMode, MemoryPolicy, Placement, Refusal, Retry, rtt_us};

/// The definition of a sweep: its workload, its schemes, and its settings.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(clippy::struct_excessive_bools, reason = "each is a key of the file")]
pub struct Recipe {
    /// A sentence that says what the sweep is to show.
    pub title: String,
    /// The workload's name.
    pub workload: String,
    /// The schemes that are compared. The others are compared with the first. In a file, `all` stands for all schemes
    /// that admit any number of workers and are not named beside it; [`parse`](Self::parse) puts their names there.
    pub schemes: Vec<String>,
    /// The number of runs of each scheme at each point.
    #[serde(default = "repeat")]
    pub repeat: u64,
    /// Measured seconds of each run.
    #[serde(default = "seconds")]
    pub seconds: f64,
    /// Seconds of warm-up before the measured time, or `auto`.
    #[serde(default = "warmup")]
    pub warmup: Scalar,
    /// Seconds after the measured time during which the load goes on.
    #[serde(default)]
    pub cooldown: f64,
    /// The seed of all random numbers, and of the order of runs.
    #[serde(default = "seed")]
    pub seed: u64,
    /// Minutes after which no further run begins. If `None`, the sweep goes on to its end.
    pub budget_minutes: Option<f64>,
    /// Whether workers stay on their cores.
    #[serde(default)]
    pub pin: bool,
    /// Whether runs are checked.
    #[serde(default = "check")]
    pub check: bool,
    /// Whether logs, if `run.durability` asks for them, are written to a file system in memory ([`MEMORY`]), so that
    /// runs wait for no device.
    #[serde(default)]
    pub log_in_memory: bool,
    /// The settings that are the same in all runs, by name.
    #[serde(default)]
    pub settings: BTreeMap<String, Scalar>,
    /// The settings that vary, by name. Each combination of their values is a point.
    #[serde(default)]
    pub vary: BTreeMap<String, Vec<Scalar>>,
    /// Groups of settings that vary together. Each combination of a variant with values of `vary` is a point.
    #[serde(default)]
    pub variants: Vec<RecipeVariant>,
    /// For each setting that is not, or not always, at its standard value, the reason.
    #[serde(default)]
    pub why: BTreeMap<String, String>,
    /// The values of the whole figure of a work, if the recipe has a part of it that takes an hour or less.
    pub whole: Option<WholeFigure>,
    /// Whether the values of [`whole`](Self::whole) take the place of the others.
    #[serde(default)]
    pub is_whole: bool,
    /// The change of a constant of the simulated machines, if they are to differ from those that the recipe names. A
    /// machine that has no such constant is not changed.
    #[serde(skip)]
    pub(crate) change: Option<ConstantChange>,
}

/// Settings that change together, such as workers and warehouses where each worker is to have one.
#[derive(Clone, Debug, Deserialize, PartialEq)]
pub struct RecipeVariant {
    /// The name of the variant in results.
    pub name: String,
    /// The settings, by name.
    #[serde(flatten)]
    pub settings: BTreeMap<String, Scalar>,
}

/// The values of a whole figure: they replace those of the recipe that have the same name.
#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
#[serde(deny_unknown_fields, default)]
pub struct WholeFigure {
    title: Option<String>,
    schemes: Option<Vec<String>>,
    settings: BTreeMap<String, Scalar>,
    vary: BTreeMap<String, Vec<Scalar>>,
    variants: Option<Vec<RecipeVariant>>,
    why: BTreeMap<String, String>,
}

/// The file system in memory that Linux has everywhere.
pub const MEMORY: &str = "/dev/shm";

/// The name of the axis of [`Recipe::variants`].
pub const VARIANT: &str = "variant";

const fn repeat() -> u64 {
    5
}

const fn seconds() -> f64 {
    2.0
}

const fn warmup() -> Scalar {
    Scalar::Real(0.5)
}

const fn seed() -> u64 {
    1
}

const fn check() -> bool {
    true
}

/// A value as a recipe writes it.
#[derive(Clone, Debug, Deserialize, PartialEq)]
#[serde(untagged)]
pub enum Scalar {
    /// `true` or `false`.
    Switch(bool),
    /// A whole number.
    Int(i64),
    /// Another number.
    Real(f64),
    /// Anything else.
    Text(String),
}

impl core::fmt::Display for Scalar {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Self::Switch(value) => value.fmt(f),
            Self::Int(value) => value.fmt(f),
            Self::Real(value) => value.fmt(f),
            Self::Text(value) => value.fmt(f),
        }
    }
}

/// The drives of a run: choices that can be fixed or varied like settings, but are not in the catalogue.
pub(crate) const DRIVES: [&str; 16] = [
    "workers",
    "clients",
    "retry",
    "mode",
    "rtt_us",
    "batch",
    "arrivals",
    "rate",
    "machine",
    "placement",
    "memory",
    "smt",
    "txns",
    "warmup_txns",
    "patience",
    "lookahead_ns",
];

impl Recipe {
    /// Returns the recipe with a fixed number of workers, if `run.durability` varies and the recipe does not set the
    /// workers. The standard number of workers leaves a core to the log if there is one; fixing it ensures that
    /// `run.durability` changes nothing else.
    pub(super) fn with_held_workers(mut self) -> Self {
        let varied: BTreeSet<&String> = self
            .vary
            .keys()
            .chain(self.variants.iter().flat_map(|variant| variant.settings.keys()))
            .collect();
        let is_named = |name: &str| varied.iter().any(|varied| *varied == name);
        if is_named("run.durability") && !is_named("workers") && !self.settings.contains_key("workers") {
            self.settings.insert("workers".to_owned(), Scalar::Int(standard_workers(true) as i64));
        }
        self
    }

    /// Reads a recipe, and checks that it is valid. [`Sweep::new`] checks whether it can be run.
    ///
    /// # Errors
    /// A text that is not TOML, unknown names, missing keys, contradictions, and settings off their standard values
    /// without a reason. The error says what to do.
    ///
    /// [`Sweep::new`]: super::Sweep::new
    pub fn parse(catalogue: Catalogue, text: &str) -> Result<Self, Refusal> {
        let mut recipe: Self =
            toml::from_str(text).map_err(|error| Refusal(error.to_string().trim_end().to_owned()))?;
        recipe.schemes = named(catalogue, &recipe.schemes)?;
        recipe.judge(catalogue)?;
        let Some(whole) = recipe.whole.clone() else {
            return if recipe.is_whole {
                let says = "the recipe has no `[whole]`, so it takes no part of a larger figure: leave `is_whole` or \
                            `--whole` out";
                Err(Refusal(says.to_owned()))
            } else {
                Ok(recipe)
            };
        };
        let in_whole = |refusal| Refusal(format!("with the values of `[whole]`: {refusal}"));
        let whole = recipe.clone().with(catalogue, whole).map_err(in_whole)?;
        Ok(if recipe.is_whole { whole } else { recipe })
    }

    /// Takes the values of the recipe's `[whole]`. `text` is what the recipe was read from; returns what it would be
    /// read from with these values.
    pub fn into_whole(self, catalogue: Catalogue, text: &str) -> Result<(Self, String), Refusal> {
        if self.is_whole {
            return Ok((self, text.to_owned()));
        }
        // The values of a recipe's head may be in any order.
        let text = format!("is_whole = true\n{text}");
        Ok((Self::parse(catalogue, &text)?, text))
    }

    fn with(mut self, catalogue: Catalogue, whole: WholeFigure) -> Result<Self, Refusal> {
        if whole == WholeFigure::default() {
            return Err(Refusal("there are none: leave `[whole]` out".to_owned()));
        }
        let WholeFigure { title, schemes, settings, vary, variants, why } = whole;
        self.title = format!("{} (whole figure)", title.unwrap_or(self.title));
        if let Some(schemes) = schemes {
            self.schemes = named(catalogue, &schemes)?;
        }
        // What is fixed, varies or is set by variants in one may be another of the three in the other.
        let of_variants = variants.iter().flatten().flat_map(|variant| variant.settings.keys());
        for name in settings.keys().chain(vary.keys()).chain(of_variants) {
            self.settings.remove(name);
            self.vary.remove(name);
        }
        self.variants = variants.unwrap_or(self.variants);
        self.settings.extend(settings);
        self.vary.extend(vary);
        self.why.extend(why);
        self.judge(catalogue)?;
        Ok(self)
    }

    /// Returns the axes: the names of the settings that vary, with their values. The axis of variants comes first.
    pub fn axes(&self) -> Vec<(&str, Vec<String>)> {
        let mut axes: Vec<(&str, Vec<String>)> = Vec::new();
        if !self.variants.is_empty() {
            axes.push((VARIANT, self.variants.iter().map(|variant| variant.name.clone()).collect()));
        }
        for (name, values) in &self.vary {
            axes.push((name, values.iter().map(ToString::to_string).collect()));
        }
        axes
    }

    /// Returns all pairs of a setting and one of its values in the recipe.
    fn given(&self) -> impl Iterator<Item = (&String, &Scalar)> {
        let varied =
            self.vary.iter().flat_map(|(name, values)| values.iter().map(move |value| (name, value)));
        let of_variants = self.variants.iter().flat_map(|variant| &variant.settings);
        self.settings.iter().chain(varied).chain(of_variants)
    }

    fn judge(&self, catalogue: Catalogue) -> Result<(), Refusal> {
        let refuse = |says: String| Err(Refusal(says));
        if self.schemes.is_empty() {
            return refuse(
                "`schemes` is empty: name one or more, for example `schemes = [\"silo\", \"mvto\"]`"
                    .to_owned(),
            );
        }
        let is_logged =
            |(name, value): (&String, &Scalar)| name == "run.durability" && value.to_string() != "none";
        if self.log_in_memory && !self.given().any(is_logged) {
            return refuse(
                "`log_in_memory` chooses the place of the log, but nothing is logged: add `\"run.durability\" = \
                 \"async\"`, or leave it out"
                    .to_owned(),
            );
        }
        if let Some(minutes) = self.budget_minutes.filter(|minutes| !(0.0..=100_000.0).contains(minutes)) {
            return refuse(format!(
                "`budget_minutes = {minutes}`: give a number of minutes from 0 to 100000"
            ));
        }
        for (name, values) in &self.vary {
            if values.is_empty() {
                return refuse(format!(
                    "`{name}` varies over nothing: give values, for example `\"{name}\" = [1, 2]`"
                ));
            }
            if let Some(twice) = (1..values.len()).find(|at| values[..*at].contains(&values[*at])) {
                return refuse(format!("`{name}` has the value {} twice: leave one out", values[twice]));
            }
            if self.settings.contains_key(name) {
                return refuse(format!(
                    "`{name}` is both fixed and varied: leave it out of `[settings]` or `[vary]`"
                ));
            }
        }
        self.judge_variants()?;
        for name in self.given().map(|(name, _)| name).chain(self.why.keys()) {
            if !DRIVES.contains(&name.as_str()) {
                catalogue.setting(name)?;
            }
        }
        match self.unjustified(catalogue) {
            Some(name) => refuse(format!(
                "`{name}` is not the standard value, and no reason is given: add `\"{name}\" = \"...\"` to `[why]`; \
                 readers of the results will want to know"
            )),
            None => Ok(()),
        }
    }

    fn judge_variants(&self) -> Result<(), Refusal> {
        for (at, variant) in self.variants.iter().enumerate() {
            let name = &variant.name;
            if name.trim().is_empty() || self.variants[..at].iter().any(|other| other.name == *name) {
                return Err(Refusal(format!(
                    "the variant `{name}` has no name, or that of another variant: give each a name of its own"
                )));
            }
            let is_elsewhere =
                |name: &&String| self.settings.contains_key(*name) || self.vary.contains_key(*name);
            if let Some(twice) = variant.settings.keys().find(is_elsewhere) {
                return Err(Refusal(format!(
                    "`{twice}` is set by the variant `{name}` and by `[settings]` or `[vary]`: leave one out"
                )));
            }
        }
        Ok(())
    }

    /// Returns a setting that is off its standard value somewhere without a reason.
    fn unjustified(&self, catalogue: Catalogue) -> Option<&str> {
        let is_off = |(name, value): &(&String, &Scalar)| {
            let standard = catalogue.setting(name).ok().map(|setting| setting.default);
            standard.is_some_and(|standard| standard != value.to_string())
        };
        let is_silent = |name: &&String| self.why.get(*name).is_none_or(|why| why.trim().is_empty());
        self.given().filter(is_off).map(|(name, _)| name).find(is_silent).map(String::as_str)
    }

    /// Returns the values of a point by name. A variant is replaced by its settings.
    fn resolved(&self, point: &[(String, String)]) -> Vec<(String, String)> {
        let mut resolved = Vec::new();
        for (name, value) in point {
            match self.variants.iter().find(|variant| name == VARIANT && variant.name == *value) {
                Some(variant) => {
                    let settings = variant.settings.iter();
                    resolved.extend(settings.map(|(name, value)| (name.clone(), value.to_string())));
                }
                None => resolved.push((name.clone(), value.clone())),
            }
        }
        resolved
    }

    /// Returns the text by which a machine is asked for, with the recipe's change of a constant.
    fn changed(&self, machine: String) -> Result<String, Refusal> {
        let Some(change) = &self.change else { return Ok(machine) };
        Ok(if change.changes(&machine_of(&machine)?) { change.asked(&machine) } else { machine })
    }

    /// Returns the request of a scheme at a point, in a repetition.
    pub(super) fn request(
        &self,
        catalogue: Catalogue,
        scheme: &str,
        point: &[(String, String)],
        repetition: u64,
    ) -> Result<Request, Refusal> {
        let fixed = self.settings.iter().map(|(name, value)| (name.clone(), value.to_string()));
        let (warmup, until_steady) = self.warmup.to_string().parse::<WarmUpLength>()?.of_request();
        let mut request = Request {
            schemes: Some(scheme.to_owned()),
            seconds: self.seconds,
            warmup,
            until_steady,
            cooldown: self.cooldown,
            seed: self.seed.wrapping_add(repetition),
            pin: self.pin,
            check: self.check,
            ..Request::new(&self.workload)
        };
        for (name, value) in fixed.chain(self.resolved(point)) {
            match name.as_str() {
                "workers" => request.workers = Some(number(&name, &value)?),
                "clients" => request.clients = Some(value.parse()?),
                "retry" => request.retry = word(&name, &value, &Retry::ALL, Retry::name)?,
                "mode" => request.mode = word(&name, &value, &ClientMode::ALL, ClientMode::name)?,
                "rtt_us" => request.rtt_us = Some(rtt_us(&value)?),
                "batch" => request.batch = number(&name, &value)?,
                "arrivals" => request.arrivals = word(&name, &value, &Arrival::ALL, Arrival::name)?,
                "rate" => request.rate = Some(number(&name, &value)?),
                "machine" => request.machine = Some(self.changed(value)?),
                "placement" => {
                    request.placement = Some(word(&name, &value, &Placement::ALL, Placement::name)?);
                }
                "memory" => {
                    let policy = MemoryPolicy::of_name(&value);
                    let legal = "`interleaved`, `local`, or `distance_1` and further";
                    let refuse = || Refusal(format!("`memory = {value}`: write {legal}"));
                    request.memory = Some(policy.ok_or_else(refuse)?);
                }
                "smt" => request.smt = Some(number(&name, &value)?),
                "txns" => request.txns = Some(number(&name, &value)?),
                "warmup_txns" => request.warmup_txns = Some(number(&name, &value)?),
                "patience" => request.patience = Some(number(&name, &value)?),
                "lookahead_ns" => request.lookahead_ns = Some(number(&name, &value)?),
                // A setting of another scheme does not apply to this scheme.
                _ if catalogue.owner(&name).is_some_and(|owner| owner != scheme) => {}
                _ => request.set.push(format!("{name}={value}")),
            }
        }
        Ok(request)
    }
}

/// Returns the schemes of a list in which `all` may stand for those that are not named.
fn named(catalogue: Catalogue, list: &[String]) -> Result<Vec<String>, Refusal> {
    let mut names = Vec::new();
    for name in list {
        if name == "all" {
            let all = catalogue.schemes_of(Some("all"))?;
            let rest = all.iter().map(|info| info.name.to_owned()).filter(|name| !list.contains(name));
            names.extend(rest);
        } else {
            names.push(name.clone());
        }
    }
    Ok(names)
}

fn number<N: FromStr>(name: &str, value: &str) -> Result<N, Refusal> {
    value.parse().map_err(|_| {
        Refusal(format!("`{name} = {value}`: must be a number, and a whole one unless it is a rate"))
    })
}

/// Returns the element of `all` that has this name.
fn word<T: Copy>(name: &str, value: &str, all: &[T], name_of: fn(T) -> &'static str) -> Result<T, Refusal> {
    all.iter().copied().find(|one| name_of(*one) == value).ok_or_else(|| {
        let names: Vec<String> = all.iter().map(|one| format!("`{}`", name_of(*one))).collect();
        Refusal(format!("`{name} = \"{value}\"`: must be one of {}", names.join(", ")))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::registry::tests::catalogue;

    const RECIPE: &str = r#"
        title = "a test"
        workload = "ycsb"
        schemes = ["silo", "no_wait"]
        [settings]
        workers = 1
        "ycsb.records" = 1000
        [vary]
        "ycsb.theta" = [0.0, 0.9]
        [why]
        "ycsb.records" = "quick to load"
        "ycsb.theta" = "the question"
    "#;

    fn refusal(text: &str) -> String {
        Recipe::parse(catalogue(), text).expect_err("refused").0
    }

    #[test]
    fn a_recipe_has_standard_values_for_what_it_leaves_out() {
        let recipe = Recipe::parse(catalogue(), RECIPE).expect("legal");
        assert_eq!((recipe.repeat, recipe.seed, recipe.check), (5, 1, true));
        let point = [("ycsb.theta".to_owned(), "0.9".to_owned())];
        let request = recipe.request(catalogue(), "silo", &point, 3).expect("legal");
        assert_eq!((request.workers, request.seed), (Some(1), 4));
        assert_eq!(request.set, ["ycsb.records=1000", "ycsb.theta=0.9"]);
    }

    #[test]
    fn a_log_in_memory_is_refused_where_nothing_is_logged() {
        let says = refusal(&RECIPE.replace("[settings]", "log_in_memory = true\n[settings]"));
        assert!(says.contains("nothing is logged: add `\"run.durability\""), "{says}");
        let logged = "log_in_memory = true\n[settings]\n\"run.durability\" = \"async\"";
        let text =
            RECIPE.replace("[settings]", logged).replace("[why]", "[why]\n\"run.durability\" = \"a test\"");
        assert!(Recipe::parse(catalogue(), &text).expect("legal").log_in_memory);
    }

    #[test]
    fn values_are_written_as_toml_has_them() {
        let text = RECIPE.replace("[vary]", "\"ycsb.distinct\" = false\n\"ycsb.workload\" = \"f\"\n[vary]");
        let text =
            text.replace("[why]", "[why]\n\"ycsb.distinct\" = \"a test\"\n\"ycsb.workload\" = \"a test\"");
        let request = Recipe::parse(catalogue(), &text)
            .expect("legal")
            .request(catalogue(), "silo", &[], 0)
            .expect("legal");
        assert_eq!(request.set, ["ycsb.distinct=false", "ycsb.records=1000", "ycsb.workload=f"]);
    }

    #[test]
    fn traffic_can_be_fixed_and_varied() {
        let text = RECIPE.replace("workers = 1", "workers = 1\nmode = \"interactive\"\nwarmup_is = 0");
        let text = text.replace("warmup_is = 0", "arrivals = \"poisson\"\nrate = 1500.5");
        let text = text.replace("[settings]", "warmup = \"auto\"\ncooldown = 0.25\n[settings]");
        let recipe = Recipe::parse(catalogue(), &text).expect("legal");
        let point = [("rtt_us".to_owned(), "tcp".to_owned())];
        let request = recipe.request(catalogue(), "silo", &point, 0).expect("legal");
        assert_eq!((request.mode, request.rtt_us), (ClientMode::Interactive, Some(50)));
        assert_eq!((request.arrivals, request.rate), (Arrival::Poisson, Some(1500.5)));
        assert!(request.until_steady && request.warmup > 5.0 && request.cooldown > 0.2);
        for (name, value, says) in [
            ("mode", "dialogue", "`interactive`"),
            ("arrivals", "open", "`poisson`"),
            ("rtt_us", "-5", "`tcp` (50)"),
            ("batch", "1.5", "whole"),
        ] {
            let point = [(name.to_owned(), value.to_owned())];
            assert!(
                recipe.request(catalogue(), "silo", &point, 0).expect_err("refused").0.contains(says),
                "{name}"
            );
        }
    }

    #[test]
    fn the_values_of_the_whole_figure_replace_those_of_its_part() {
        let text = RECIPE.replace(
            "[why]",
            "[whole]\nschemes = [\"silo\", \"mocc\"]\nsettings = { workers = 2 }\n\
             vary = { \"ycsb.theta\" = [0.0, 0.5, 0.9] }\n[why]",
        );
        let values = |recipe: &Recipe| {
            (recipe.schemes.clone(), recipe.settings["workers"].clone(), recipe.vary["ycsb.theta"].len())
        };
        let both = |one: &str, other: &str| vec![one.to_owned(), other.to_owned()];
        let part = Recipe::parse(catalogue(), &text).expect("legal");
        assert_eq!(values(&part), (both("silo", "no_wait"), Scalar::Int(1), 2));
        let (whole, its_text) = part.clone().into_whole(catalogue(), &text).expect("legal");
        let read = Recipe::parse(catalogue(), &its_text).expect("legal");
        assert_eq!(values(&read), values(&whole));
        assert_eq!(
            read.into_whole(catalogue(), &its_text).expect("legal").1,
            its_text,
            "it is whole already"
        );
        assert_eq!(values(&whole), (both("silo", "mocc"), Scalar::Int(2), 3));
        assert_eq!(whole.settings["ycsb.records"], Scalar::Int(1000), "the others stay");
        assert!(whole.title.ends_with(" (whole figure)") && !part.title.contains("whole"));
        let without = Recipe::parse(catalogue(), RECIPE).expect("legal").into_whole(catalogue(), RECIPE);
        assert!(without.expect_err("refused").0.contains("leave `is_whole` or `--whole` out"));
        let wrong = text.replace("0.5, 0.9", "0.9, 0.9");
        let says = refusal(&wrong);
        assert!(
            says.contains("`[whole]`") && says.contains("0.9 twice"),
            "it is checked with its part: {says}"
        );
        let empty = RECIPE.replace("[why]", "[whole]\n[why]");
        assert!(refusal(&empty).contains("leave `[whole]` out"));
    }

    fn whole_of(text: &str) -> Recipe {
        Recipe::parse(catalogue(), text).and_then(|part| part.into_whole(catalogue(), text)).expect("legal").0
    }

    #[test]
    fn what_is_fixed_in_a_part_may_vary_in_the_whole_figure_and_the_other_way_round() {
        let text = RECIPE.replace(
            "[why]",
            "[whole]\nvary = { workers = [1, 2] }\nsettings = { \"ycsb.theta\" = 0.9 }\ntitle = \"All\"\n\
             why = { \"ycsb.theta\" = \"as published\" }\n[why]",
        );
        let whole = whole_of(&text);
        assert_eq!(whole.axes(), [("workers", vec!["1".to_owned(), "2".to_owned()])]);
        assert_eq!(whole.settings["ycsb.theta"], Scalar::Real(0.9));
        assert_eq!((&*whole.title, &*whole.why["ycsb.theta"]), ("All (whole figure)", "as published"));
        let variants = "[[whole.variants]]\nname = \"few\"\nworkers = 2\n\"ycsb.theta\" = 0.5\n[why]";
        let text = RECIPE.replace("[why]", variants);
        let whole = whole_of(&text);
        assert_eq!(whole.axes(), [("variant", vec!["few".to_owned()])]);
    }

    #[test]
    fn what_is_not_understood_is_refused_with_the_way_out() {
        assert!(refusal(&RECIPE.replace("title", "titel")).contains("titel"), "an unknown key");
        assert!(refusal(&RECIPE.replace("0.9]", "0.9, 0.9]")).contains("twice"));
        assert!(refusal(&RECIPE.replace("[0.0, 0.9]", "[]")).contains("over nothing"));
        assert!(refusal(&RECIPE.replace("[\"silo\", \"no_wait\"]", "[]")).contains("`schemes` is empty"));
        let both = RECIPE.replace("[vary]", "\"ycsb.theta\" = 0.5\n[vary]");
        assert!(refusal(&both).contains("both fixed and varied"));
        assert!(
            refusal(&RECIPE.replace("ycsb.records", "ycsb.recods")).contains("ycsb.records"),
            "the nearest name"
        );
    }

    #[test]
    fn what_is_off_the_standard_needs_a_reason() {
        for name in ["ycsb.records", "ycsb.theta"] {
            let line = RECIPE
                .lines()
                .find(|line| line.contains(name) && line.trim_end().ends_with('"'))
                .expect("a line");
            let says = refusal(&RECIPE.replace(line, ""));
            assert!(says.contains(name) && says.contains("[why]"), "{says}");
        }
        let standard = catalogue().setting("ycsb.records").expect("a setting").default;
        let records = format!("\"ycsb.records\" = {standard}");
        let text = RECIPE
            .replace("\"ycsb.records\" = 1000", &records)
            .replace("\"ycsb.records\" = \"quick to load\"", "");
        assert!(Recipe::parse(catalogue(), &text).is_ok(), "the standard value needs none");
    }

    const VARIANTS: &str = r#"
        title = "a test"
        workload = "tpcc"
        schemes = ["silo"]
        [[variants]]
        name = "one"
        workers = 1
        [[variants]]
        name = "two"
        workers = 2
        "tpcc.warehouses" = 2
        [vary]
        "tpcc.mix" = ["full", "narrow"]
        [why]
        "tpcc.warehouses" = "one a worker"
        "tpcc.mix" = "the question"
    "#;

    #[test]
    fn variants_are_an_axis_whose_settings_change_together() {
        let recipe = Recipe::parse(catalogue(), VARIANTS).expect("legal");
        let axes = recipe.axes();
        assert_eq!(axes[0], ("variant", vec!["one".to_owned(), "two".to_owned()]));
        assert_eq!(axes[1].0, "tpcc.mix");
        let point = [("variant".to_owned(), "two".to_owned()), ("tpcc.mix".to_owned(), "full".to_owned())];
        let request = recipe.request(catalogue(), "silo", &point, 0).expect("legal");
        assert_eq!(
            (request.workers, request.set),
            (Some(2), vec!["tpcc.warehouses=2".to_owned(), "tpcc.mix=full".to_owned()])
        );
    }

    #[test]
    fn variants_are_held_to_the_same_rules() {
        assert!(refusal(&VARIANTS.replace("\"two\"", "\"one\"")).contains("`one`"), "a name twice");
        assert!(
            refusal(&VARIANTS.replace("\"tpcc.warehouses\" = 2", "\"tpcc.mix\" = \"full\""))
                .contains("tpcc.mix")
        );
        assert!(refusal(&VARIANTS.replace("\"one a worker\"", "\"\"")).contains("[why]"));
        assert!(refusal(&VARIANTS.replace("workers = 1", "wokers = 1")).contains("wokers"));
    }

    #[test]
    fn all_stands_for_the_schemes_that_are_not_named() {
        let schemes = |list: &str| {
            let text = RECIPE.replace("[\"silo\", \"no_wait\"]", list);
            Recipe::parse(catalogue(), &text).expect("legal").schemes
        };
        let everything = catalogue().schemes_of(Some("all")).expect("known");
        let everything: Vec<&str> = everything.into_iter().map(|info| info.name).collect();
        assert_eq!(schemes("[\"all\"]"), everything);
        let led = schemes("[\"silo\", \"all\"]");
        assert_eq!((led[0].as_str(), led.len()), ("silo", everything.len()));
        assert!(led[1..].iter().all(|name| name != "silo" && everything.contains(&name.as_str())));
        let alone = schemes("[\"all\", \"uncontrolled\"]");
        assert_eq!(alone.len(), everything.len() + 1, "a scheme for one worker has to be named");
    }

    #[test]
    fn settings_of_other_schemes_are_left_out() {
        let text = RECIPE.replace("workers = 1", "workers = 1\n\"silo.epoch_ms\" = 10");
        let text = text.replace("[why]", "[why]\n\"silo.epoch_ms\" = \"a test\"");
        let recipe = Recipe::parse(catalogue(), &text).expect("legal");
        let has_epoch = |scheme| {
            let request = recipe.request(catalogue(), scheme, &[], 0).expect("legal");
            request.set.contains(&"silo.epoch_ms=10".to_owned())
        };
        assert!(has_epoch("silo") && !has_epoch("no_wait"));
    }
}
