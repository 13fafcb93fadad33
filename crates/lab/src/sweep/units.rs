//! The runs that a recipe asks for, in the order in which they are made.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use stdx::Rng;

use super::Recipe;
use crate::constants::ConstantChange;
use crate::json;
use crate::plan::{Plan, Request, StandardValues};
use crate::{Catalogue, Refusal};

/// The maximum number of runs of a sweep: years of measuring.
const UNITS_MAX: usize = 1_000_000;
/// The number of digits of an id: 80 bits, so that two of a million results have the same id by chance in one of a
/// trillion sweeps.
const ID_DIGITS: usize = 20;
/// The assumed number of rows that are loaded and checked in a second, to guess the time of a run.
const ROWS_S: f64 = 1e6;

/// A recipe that was found possible.
#[derive(Debug)]
pub struct Sweep {
    /// The catalogue of the schemes.
    pub(crate) catalogue: Catalogue,
    /// The recipe of the sweep.
    pub recipe: Recipe,
    /// The build that makes the runs.
    pub build: String,
    /// The names of the settings that vary, in the order of their values in [`Unit::point`].
    pub axes: Vec<String>,
    /// The schemes. The others are compared with the first.
    pub schemes: Vec<&'static str>,
    /// The number of points, which are combinations of values.
    pub points: usize,
    /// The runs, in the order in which they are to be made.
    pub units: Vec<Unit>,
    /// The points that schemes cannot run.
    pub left_out: Vec<LeftOut>,
}

/// Points that a scheme cannot run, for one reason.
#[derive(Clone, Debug)]
pub struct LeftOut {
    /// The scheme.
    pub scheme: &'static str,
    /// The points, by their values in the order of [`Sweep::axes`].
    pub points: Vec<Vec<String>>,
    /// The reason, and what could be changed.
    pub why: String,
}

/// One run of a sweep.
#[derive(Clone, Debug)]
pub struct Unit {
    /// The digest of everything that is known to change the outcome of the run.
    pub id: String,
    /// The scheme of the run.
    pub scheme: &'static str,
    /// The values of the settings that vary, in the order of [`Sweep::axes`].
    pub point: Vec<String>,
    /// The repetition, from 0.
    pub repetition: u64,
    /// The request for the run.
    pub request: Request,
    /// The guessed seconds of the run, from its rows and its times.
    pub lasts_s: f64,
    /// The estimated bytes of memory that the run needs.
    pub needed_bytes: u64,
    /// Whether the run's log is written to a file system in memory.
    pub is_log_in_memory: bool,
}

impl Sweep {
    /// Makes the sweep of a recipe. `build` names the build that makes the runs, for example by a version and a commit.
    /// Points that a scheme cannot run, while others can, are left out.
    ///
    /// # Errors
    /// Unknown names, combinations of values that no scheme can run, and schemes that can run no combination.
    pub fn new(catalogue: Catalogue, recipe: Recipe, build: &str) -> Result<Self, Refusal> {
        let recipe = recipe.with_held_workers();
        let schemes = catalogue.schemes_of(Some(&recipe.schemes.join(",")))?;
        let schemes: Vec<&'static str> = schemes.into_iter().map(|info| info.name).collect();
        let axes: Vec<String> = recipe.axes().into_iter().map(|(name, _)| name.to_owned()).collect();
        let of_axes = recipe.axes().into_iter().map(|(_, values)| values.len());
        let of_all = of_axes.chain([schemes.len(), recipe.repeat as usize]);
        let count = of_all.fold(1_usize, usize::saturating_mul);
        if recipe.repeat == 0 {
            return Err(Refusal("`repeat` is 0: give the number of repetitions, from 1 on".to_owned()));
        }
        if count > UNITS_MAX {
            return Err(Refusal(format!(
                "{count} runs: vary over fewer values, or repeat less; a sweep has at most {UNITS_MAX}"
            )));
        }
        let points = combinations(&recipe);
        let (points_count, build) = (points.len(), build.to_owned());
        let units = Vec::new();
        let mut sweep = Self {
            catalogue,
            recipe,
            build,
            axes,
            schemes,
            points: points_count,
            units,
            left_out: Vec::new(),
        };
        let firsts = sweep.firsts(&points)?;
        sweep.refuse_schemes_without_points(&firsts)?;
        for repetition in 0..sweep.recipe.repeat {
            let mut rng = Rng::from_path(&[sweep.recipe.seed, 0x7377_6565_7073, repetition]);
            for point in shuffled(points.len(), &mut rng) {
                for scheme in shuffled(sweep.schemes.len(), &mut rng) {
                    let first = &firsts[point * sweep.schemes.len() + scheme];
                    let unit = first.as_ref().map(|unit| unit.again(&sweep, repetition));
                    sweep.units.extend(unit.transpose()?);
                }
            }
        }
        Ok(sweep)
    }

    /// Returns the runs of the first repetition by point and scheme. Runs of other repetitions differ from these only
    /// in the seed. Notes the points that are left out.
    fn firsts(&mut self, points: &[Vec<String>]) -> Result<Vec<Option<Unit>>, Refusal> {
        let mut firsts = Vec::new();
        for point in points {
            for scheme in self.schemes.clone() {
                let place = (scheme, self.axes.as_slice(), point.as_slice());
                let (unit, plan) = Unit::planned(self.catalogue, &self.recipe, &self.build, place, 0)?;
                let suits = plan.suits(&plan.subjects[0]);
                firsts.push(suits.is_ok().then_some(unit));
                if let Err(Refusal(why)) = suits {
                    self.leave_out(scheme, point, why);
                }
            }
        }
        Ok(firsts)
    }

    fn leave_out(&mut self, scheme: &'static str, point: &[String], why: String) {
        let is_same = |other: &&mut LeftOut| other.scheme == scheme && other.why == why;
        match self.left_out.iter_mut().find(is_same) {
            Some(same) => same.points.push(point.to_vec()),
            None => self.left_out.push(LeftOut { scheme, points: vec![point.to_vec()], why }),
        }
    }

    /// Refuses a scheme that can run no point: it is a mistake in the recipe.
    fn refuse_schemes_without_points(&self, firsts: &[Option<Unit>]) -> Result<(), Refusal> {
        let runs = |scheme: &str| firsts.iter().flatten().any(|unit| unit.scheme == scheme);
        match self.left_out.iter().find(|left_out| !runs(left_out.scheme)) {
            Some(left_out) => Err(Refusal(self.at(&left_out.points[0]) + &left_out.why)),
            None => Ok(()),
        }
    }

    /// Whether some runs are simulated.
    pub fn simulates(&self) -> bool {
        self.units.iter().any(Unit::is_simulated)
    }

    /// Returns the texts by which the runs ask for simulated machines.
    pub(crate) fn machines(&self) -> BTreeSet<&str> {
        self.units.iter().filter_map(|unit| unit.request.machine.as_deref()).collect()
    }

    /// Returns the same sweep on machines that differ in a constant.
    ///
    /// # Errors
    /// See [`Sweep::new`].
    pub fn changed(&self, change: &ConstantChange) -> Result<Self, Refusal> {
        let recipe = Recipe { change: Some(change.clone()), ..self.recipe.clone() };
        Self::new(self.catalogue, recipe, &self.build)
    }

    /// Returns the values of a point by name, as the beginning of a sentence.
    pub(crate) fn at(&self, point: &[String]) -> String {
        at(&self.axes, point)
    }

    /// Returns the runs with some ids, in the order of the sweep.
    ///
    /// # Errors
    /// An id that no run of this recipe and build has.
    pub fn only(&self, ids: &[String]) -> Result<Vec<&Unit>, Refusal> {
        let unknown = ids.iter().find(|id| self.units.iter().all(|unit| unit.id != **id));
        if let Some(id) = unknown {
            return Err(Refusal(format!(
                "`--only {id}`: no run of this recipe has this id here: ids are of the settings, the seed and the \
                 build, which is {} on this host; take the same program and the same recipe to all hosts",
                self.build
            )));
        }
        Ok(self.units.iter().filter(|unit| ids.contains(&unit.id)).collect())
    }

    /// Refuses a sweep whose runs would be different on a host with another number of cores.
    ///
    /// # Errors
    /// A recipe that leaves the number of workers to the host.
    pub fn portable(&self) -> Result<(), Refusal> {
        if self.units.iter().all(|unit| unit.request.workers.is_some() || unit.request.machine.is_some()) {
            return Ok(());
        }
        Err(Refusal(
            "`workers` is not given, and would be the cores of whichever host makes a run: write `workers = 2`, for \
             example, into `[settings]`"
                .to_owned(),
        ))
    }

    /// Returns the workload, scheme, point and repetition of a unit in a line.
    pub fn label(&self, unit: &Unit) -> String {
        let values = self.axes.iter().zip(&unit.point).map(|(name, value)| format!("{name}={value}"));
        let head = [self.recipe.workload.clone(), unit.scheme.to_owned()];
        let words: Vec<String> = head.into_iter().chain(values).collect();
        format!("{}, repetition {}", words.join(" "), unit.repetition + 1)
    }
}

impl Unit {
    /// Whether the run is simulated: its result does not depend on what else the host does.
    pub fn is_simulated(&self) -> bool {
        self.request.machine.is_some()
    }

    /// Returns the run of a scheme at a point, which is given by the names and values of the settings that vary.
    ///
    /// # Errors
    /// A run that cannot be made. The text has the values of the point.
    pub(crate) fn new(
        catalogue: Catalogue,
        recipe: &Recipe,
        build: &str,
        (scheme, axes, point): (&'static str, &[String], &[String]),
        repetition: u64,
    ) -> Result<Self, Refusal> {
        let (unit, plan) = Self::planned(catalogue, recipe, build, (scheme, axes, point), repetition)?;
        let suits = plan.suits(&plan.subjects[0]);
        suits.map_err(|Refusal(says)| Refusal(at(axes, point) + &says))?;
        Ok(unit)
    }

    /// Returns the run of a scheme at a point with its plan, even if the scheme cannot run it.
    pub(crate) fn planned(
        catalogue: Catalogue,
        recipe: &Recipe,
        build: &str,
        (scheme, axes, point): (&'static str, &[String], &[String]),
        repetition: u64,
    ) -> Result<(Self, Plan), Refusal> {
        let named: Vec<(String, String)> = axes.iter().cloned().zip(point.iter().cloned()).collect();
        let told = |Refusal(says): Refusal| Refusal(at(axes, point) + &says);
        let mut request = recipe.request(catalogue, scheme, &named, repetition).map_err(told)?;
        let plan = Plan::for_any_scheme(catalogue, &request).map_err(told)?;
        request.machine_digest = plan.simulation.as_ref().map(|simulation| simulation.digest.clone());
        let lasts_s = plan.lasts_s() + plan.loaded_rows() as f64 / ROWS_S;
        let is_log_in_memory = recipe.log_in_memory;
        let id = id(&plan, build, is_log_in_memory);
        let (point, needed_bytes) = (point.to_vec(), plan.needed_bytes());
        Ok((Self { id, scheme, point, repetition, request, lasts_s, needed_bytes, is_log_in_memory }, plan))
    }

    /// Returns this run in another repetition.
    fn again(&self, sweep: &Sweep, repetition: u64) -> Result<Self, Refusal> {
        let request = Request { seed: sweep.recipe.seed.wrapping_add(repetition), ..self.request.clone() };
        let id = id(&Plan::new(sweep.catalogue, &request)?, &sweep.build, self.is_log_in_memory);
        Ok(Self { id, repetition, request, ..self.clone() })
    }

    /// Returns the command line that makes this single run.
    pub fn line(&self) -> String {
        let folder = if self.is_log_in_memory { format!("TMPDIR={} ", super::MEMORY) } else { String::new() };
        let words: Vec<String> = self.command().iter().map(|word| quoted(word)).collect();
        format!("{folder}contend {}", words.join(" "))
    }

    /// Returns the arguments with which `contend` makes this single run, and prints one line of JSON.
    pub fn command(&self) -> Vec<String> {
        command(&self.request)
    }
}

/// Returns a word as shells take it: in quotes if a shell would read more than letters in it.
fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || "-_./:=,@+%".contains(c);
    if word.chars().all(is_plain) { word.to_owned() } else { format!("'{}'", word.replace('\'', r"'\''")) }
}

/// Returns the arguments with which `contend` makes the runs of a request, and prints a line of JSON for each.
pub(crate) fn command(request: &Request) -> Vec<String> {
    let Request {
        workload,
        schemes,
        machine,
        machine_digest,
        placement,
        memory,
        smt,
        txns,
        warmup_txns,
        patience,
        lookahead_ns,
        workers,
        clients,
        seconds,
        warmup,
        until_steady,
        cooldown,
        repeat,
        seed,
        set,
        standard,
        retry,
        mode,
        rtt_us,
        batch,
        arrivals,
        rate,
        pin,
        // The place of the log is chosen by the host.
        log: _,
        check,
    } = request;
    let flag = |name: &str, value: String| [format!("--{name}"), value];
    let mut words = vec!["run".to_owned(), workload.clone()];
    words.extend(schemes.iter().flat_map(|schemes| flag("scheme", schemes.clone())));
    words.extend(workers.iter().flat_map(|workers| flag("workers", workers.to_string())));
    words.extend(clients.iter().flat_map(|clients| flag("clients", clients.to_string())));
    words.extend(txns.iter().flat_map(|txns| flag("txns", txns.to_string())));
    if let Some(machine) = machine {
        // A simulated run goes by commits, and refuses times.
        words.extend(flag("machine", machine.clone()));
        words.extend(machine_digest.iter().flat_map(|digest| flag("machine-digest", digest.clone())));
        words.extend(placement.iter().flat_map(|placement| flag("placement", placement.name().to_owned())));
        words.extend(memory.iter().flat_map(|policy| flag("memory", policy.name())));
        words.extend(smt.iter().flat_map(|smt| flag("smt", smt.to_string())));
        words.extend(warmup_txns.iter().flat_map(|txns| flag("warmup-txns", txns.to_string())));
        words.extend(patience.iter().flat_map(|times| flag("patience", times.to_string())));
        words.extend(lookahead_ns.iter().flat_map(|ns| flag("lookahead-ns", ns.to_string())));
    } else if txns.is_none() {
        words.extend(flag("seconds", seconds.to_string()));
        words.extend(flag("warmup", if *until_steady { "auto".to_owned() } else { warmup.to_string() }));
        words.extend(flag("cooldown", cooldown.to_string()));
    }
    words.extend(flag("repeat", repeat.to_string()));
    words.extend(flag("seed", seed.to_string()));
    words.extend(flag("retry", retry.name().to_owned()));
    words.extend(flag("mode", mode.name().to_owned()));
    words.extend(rtt_us.iter().flat_map(|rtt_us| flag("rtt-us", rtt_us.to_string())));
    words.extend(flag("batch", batch.to_string()));
    words.extend(flag("arrivals", arrivals.name().to_owned()));
    words.extend(rate.iter().flat_map(|rate| flag("rate", rate.to_string())));
    words.extend(set.iter().flat_map(|pair| flag("set", pair.clone())));
    words.extend((*standard == StandardValues::Published).then(|| "--published".to_owned()));
    words.extend(flag("format", "json".to_owned()));
    words.extend(pin.then(|| "--pin".to_owned()));
    words.extend((!check).then(|| "--no-check".to_owned()));
    words
}

/// Divides runs into blocks. A block has the runs of all schemes at a point in a repetition. These are to be made one
/// after the other on one host, so that they can be compared.
pub fn blocks<'s>(units: &[&'s Unit]) -> Vec<Vec<&'s Unit>> {
    let is_of_one = |a: &&Unit, b: &&Unit| a.repetition == b.repetition && a.point == b.point;
    units.chunk_by(is_of_one).map(<[&Unit]>::to_vec).collect()
}

/// Returns all combinations of the values that vary. The last axis varies fastest.
fn combinations(recipe: &Recipe) -> Vec<Vec<String>> {
    recipe.axes().into_iter().fold(vec![Vec::new()], |points, (_, values)| {
        let longer = |point: &Vec<String>| {
            let with = |value: &String| [point.clone(), vec![value.clone()]].concat();
            values.iter().map(with).collect::<Vec<_>>()
        };
        points.iter().flat_map(longer).collect()
    })
}

/// Returns the values of a point by name, as the beginning of a sentence; empty if nothing varies.
fn at(axes: &[String], point: &[String]) -> String {
    let values: Vec<String> =
        axes.iter().zip(point).map(|(name, value)| format!("{name} = {value}")).collect();
    if values.is_empty() { String::new() } else { format!("at {}: ", values.join(", ")) }
}

/// Returns the id of a run: the digest of its plan's conditions, its build, whether it is checked, and whether its log
/// is in memory.
fn id(plan: &Plan, build: &str, is_log_in_memory: bool) -> String {
    let mut conditions = json::conditions(plan, 0);
    if is_log_in_memory {
        conditions.insert("log_in_memory".to_owned(), true.into());
    }
    let conditions = Value::Object(conditions);
    digest(json!({ "build": build, "conditions": conditions, "check": plan.check }).to_string().as_bytes())
}

/// Returns the beginning of a SHA-256 digest, in hexadecimal digits.
pub fn digest(bytes: &[u8]) -> String {
    let hexadecimal = |digits: String, byte: &u8| digits + &format!("{byte:02x}");
    let mut digits = Sha256::digest(bytes).iter().fold(String::new(), hexadecimal);
    digits.truncate(ID_DIGITS);
    digits
}

/// Returns the numbers below `count` in random order.
fn shuffled(count: usize, rng: &mut Rng) -> Vec<usize> {
    let mut numbers: Vec<usize> = (0..count).collect();
    stats::shuffle(&mut numbers, rng);
    numbers
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::plan::standard_workers;
    use crate::registry::tests::catalogue;

    fn sweep(more: &str) -> Sweep {
        let text = format!(
            "title = \"a test\"\nworkload = \"ycsb\"\nschemes = [\"silo\", \"no_wait\"]\nrepeat = 3\n{more}\n\
             [settings]\n\"ycsb.records\" = 1000\n[vary]\nworkers = [1, 2]\n\"ycsb.theta\" = [0.5, 0.9]\n\
             [why]\n\"ycsb.records\" = \"a test\"\n\"ycsb.theta\" = \"a test\"\n"
        );
        Sweep::new(catalogue(), Recipe::parse(catalogue(), &text).expect("legal"), "a build")
            .expect("possible")
    }

    #[test]
    fn a_changed_constant_makes_other_runs_of_the_same_points() {
        let text = "title = \"a test\"\nworkload = \"ycsb\"\nschemes = [\"silo\"]\nrepeat = 1\n[settings]\n\
                    workers = 2\ntxns = 10\n[vary]\nmachine = [\"epyc\", \"hpe-superdome-flex\"]\n";
        let sweep = Sweep::new(catalogue(), Recipe::parse(catalogue(), text).expect("legal"), "a build")
            .expect("possible");
        let only = ["hops.3.round_trip_ns".to_owned()];
        let changes = crate::reproduce::constant_changes([&sweep], &[0.7], &only).expect("one has it");
        let changed = sweep.changed(&changes[0]).expect("possible");
        let asked = |sweep: &Sweep| sweep.machines().into_iter().map(str::to_owned).collect::<Vec<_>>();
        assert_eq!(asked(&sweep), ["epyc", "hpe-superdome-flex"]);
        assert_eq!(asked(&changed), ["epyc", "hpe-superdome-flex@hops.3.round_trip_ns*0.7"]);
        for (unit, other) in sweep.units.iter().zip(&changed.units) {
            let is_same = unit.point[0] == "epyc";
            assert_eq!((&unit.point, unit.id == other.id), (&other.point, is_same), "a run is made once");
        }
    }

    #[test]
    fn a_log_in_memory_is_part_of_what_a_run_is() {
        let logged = |more: &str| {
            let text = format!(
                "title = \"a test\"\nworkload = \"ycsb\"\nschemes = [\"silo\"]\nrepeat = 1\n{more}\n[settings]\n\
                 \"run.durability\" = \"async\"\n[why]\n\"run.durability\" = \"a test\"\n"
            );
            Sweep::new(catalogue(), Recipe::parse(catalogue(), &text).expect("legal"), "a build")
                .expect("possible")
                .units
                .remove(0)
        };
        let (on_device, in_memory) = (logged(""), logged("log_in_memory = true"));
        assert_ne!(on_device.id, in_memory.id, "results of one are not taken for the other's");
        assert_eq!(in_memory.line(), format!("TMPDIR=/dev/shm {}", on_device.line()));
    }

    #[test]
    fn runs_with_a_log_and_runs_without_one_have_the_same_workers() {
        let workers = |more: &str| {
            let text = format!(
                "title = \"a test\"\nworkload = \"ycsb\"\nschemes = [\"silo\"]\nrepeat = 1\n{more}\n\
                 [why]\n\"run.durability\" = \"a test\"\n"
            );
            let sweep = Sweep::new(catalogue(), Recipe::parse(catalogue(), &text).expect("legal"), "a build")
                .expect("possible");
            let workers = sweep
                .units
                .iter()
                .map(|unit| Plan::new(catalogue(), &unit.request).expect("possible").job.workers);
            workers.collect::<Vec<usize>>()
        };
        let both = "\"run.durability\" = [\"none\", \"async\"]";
        let held = standard_workers(true) as usize;
        assert_eq!(workers(&format!("[vary]\n{both}")), [held; 2]);
        let variants = "[[variants]]\nname = \"plain\"\n\"run.durability\" = \"none\"\n\
                        [[variants]]\nname = \"logged\"\n\"run.durability\" = \"async\"";
        assert_eq!(workers(variants), [held; 2]);
        assert_eq!(
            workers(&format!("[settings]\nworkers = 2\n[vary]\n{both}")),
            [2; 2],
            "as it is asked for"
        );
    }

    #[test]
    fn each_repetition_has_all_points_and_each_point_all_schemes_side_by_side() {
        let sweep = sweep("");
        assert_eq!((sweep.points, sweep.units.len()), (4, 24));
        for (repetition, units) in sweep.units.chunks(8).enumerate() {
            let points: BTreeSet<&[String]> = units.iter().map(|unit| unit.point.as_slice()).collect();
            assert_eq!(points.len(), 4);
            for pair in units.chunks(2) {
                assert_eq!(pair[0].point, pair[1].point);
                assert_eq!(pair[0].request.seed, pair[1].request.seed, "they answer the same requests");
                assert_ne!(pair[0].scheme, pair[1].scheme);
            }
            assert!(units.iter().all(|unit| unit.repetition == repetition as u64));
        }
        let order = |units: &[Unit]| units.iter().map(|unit| unit.point.clone()).collect::<Vec<_>>();
        assert_ne!(
            order(&sweep.units[..8]),
            order(&sweep.units[8..16]),
            "each repetition in an order of its own"
        );
    }

    #[test]
    fn an_id_is_of_all_that_can_change_the_outcome_and_of_nothing_else() {
        let ids =
            |sweep: &Sweep| sweep.units.iter().map(|unit| unit.id.clone()).collect::<BTreeSet<String>>();
        let first = ids(&sweep(""));
        assert_eq!(first.len(), 24);
        assert_eq!(first, ids(&sweep("budget_minutes = 3")), "when to stop changes no run");
        for more in [
            "seconds = 1.0",
            "seed = 9",
            "check = false",
            "pin = true",
            "warmup = \"auto\"",
            "cooldown = 1.0",
        ] {
            assert!(first.is_disjoint(&ids(&sweep(more))), "{more}");
        }
        let recipe = sweep("").recipe;
        assert!(
            first.is_disjoint(&ids(&Sweep::new(catalogue(), recipe, "another build").expect("possible")))
        );
    }

    #[test]
    fn the_recipes_that_come_along_can_be_run() {
        let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let read = |path: &std::path::Path| std::fs::read_to_string(path).expect("readable");
        let mut texts: Vec<String> = std::fs::read_dir(root.join("experiments"))
            .expect("there")
            .map(|file| file.expect("readable").path())
            .filter(|path| path.extension().is_some_and(|ending| ending == "toml"))
            .map(|path| read(&path))
            .collect();
        let book = read(&root.join("docs/book/sweeps.md"));
        let shown = book.split("```toml\n").nth(1).and_then(|rest| rest.split("```").next());
        texts.push(shown.expect("the book shows a recipe").to_owned());
        assert!(texts.len() > 1);
        for text in texts {
            let recipe =
                Recipe::parse(catalogue(), &text).unwrap_or_else(|refusal| panic!("{refusal}: {text}"));
            Sweep::new(catalogue(), recipe, "a build").unwrap_or_else(|refusal| panic!("{refusal}: {text}"));
        }
    }

    #[test]
    fn a_unit_is_a_command_that_asks_for_the_same() {
        let sweep = sweep("pin = true");
        let unit = sweep.units.iter().find(|unit| unit.scheme == "silo").expect("one");
        let command = unit.command().join(" ");
        for part in
            ["run ycsb --scheme silo", "--set ycsb.records=1000", "--pin", "--format json", "--retry same"]
        {
            assert!(command.contains(part), "{command}");
        }
    }

    #[test]
    fn a_unit_by_requests_is_a_command_without_times() {
        let text = "title = \"a test\"\nworkload = \"ycsb\"\nschemes = [\"silo\"]\nrepeat = 1\n[settings]\n\
                    txns = 10\n";
        let sweep =
            Sweep::new(catalogue(), Recipe::parse(catalogue(), text).expect("legal"), "").expect("possible");
        let command = sweep.units[0].command().join(" ");
        assert!(command.contains("--txns 10") && !command.contains("--seconds"), "{command}");
    }

    #[test]
    fn points_that_a_scheme_cannot_run_are_left_out_and_said() {
        let text = "title = \"a test\"\nworkload = \"tpcc\"\nschemes = [\"silo\", \"uncontrolled\"]\nrepeat = 2\n\
                    [vary]\nworkers = [1, 2, 3]\n";
        let sweep =
            Sweep::new(catalogue(), Recipe::parse(catalogue(), text).expect("legal"), "").expect("possible");
        assert_eq!(sweep.units.len(), 2 * (3 + 1));
        let [left_out] = sweep.left_out.as_slice() else { panic!("{:?}", sweep.left_out) };
        assert_eq!((left_out.scheme, left_out.points.len()), ("uncontrolled", 2));
        let told = crate::sweep::plan(&sweep, 0);
        assert!(told.contains("left out: uncontrolled at 2 points, the first at workers = 2: "), "{told}");
        let all = |line: &str| text.replace("[1, 2, 3]", line);
        let wrong = Sweep::new(catalogue(), Recipe::parse(catalogue(), &all("[0]")).expect("legal"), "")
            .expect_err("no workers")
            .0;
        assert!(wrong.starts_with("at workers = 0: "), "what no scheme can run is refused: {wrong}");
    }

    #[test]
    fn runs_are_found_by_id_and_those_of_another_build_are_refused() {
        let sweep = sweep("");
        let ids = [sweep.units[5].id.clone(), sweep.units[2].id.clone()];
        let found: Vec<&str> = sweep.only(&ids).expect("there").iter().map(|unit| unit.id.as_str()).collect();
        assert_eq!(found, [&ids[1], &ids[0]], "in the order of the sweep");
        let other = Sweep::new(catalogue(), sweep.recipe.clone(), "another build").expect("possible");
        let says = other.only(&ids).expect_err("other ids").0;
        assert!(says.contains(&ids[0]) && says.contains("another build"), "{says}");
    }

    #[test]
    fn a_block_is_what_is_left_of_a_point_in_a_repetition() {
        let sweep = sweep("");
        let all: Vec<&Unit> = sweep.units.iter().collect();
        let whole = blocks(&all);
        assert_eq!(whole.iter().map(Vec::len).collect::<Vec<_>>(), [2; 12]);
        assert!(whole.iter().all(|block| block[0].point == block[1].point));
        let rest = blocks(&all[1..5]);
        assert_eq!(rest.iter().map(Vec::len).collect::<Vec<_>>(), [1, 2, 1]);
    }

    #[test]
    fn a_recipe_that_leaves_the_workers_to_the_host_is_for_one_host() {
        assert!(sweep("").portable().is_ok());
        let text = "title = \"a test\"\nworkload = \"ycsb\"\nschemes = [\"silo\"]\n";
        let sweep =
            Sweep::new(catalogue(), Recipe::parse(catalogue(), text).expect("legal"), "").expect("possible");
        assert!(sweep.portable().expect_err("cores").0.contains("workers = 2"));
        let simulated = format!("{text}[settings]\nmachine = \"epyc\"\n");
        let simulated = Recipe::parse(catalogue(), &simulated).expect("legal");
        assert!(Sweep::new(catalogue(), simulated, "").expect("possible").portable().is_ok());
    }

    #[test]
    fn what_cannot_be_run_is_refused_with_the_values_that_cannot() {
        let text = "title = \"a test\"\nworkload = \"tpcc\"\nschemes = [\"uncontrolled\"]\n[vary]\nworkers = [2, 3]\n";
        let says = Sweep::new(catalogue(), Recipe::parse(catalogue(), text).expect("legal"), "")
            .expect_err("one worker only")
            .0;
        assert!(says.starts_with("at workers = 2: "), "{says}");
        let many = "title = \"a test\"\nworkload = \"tpcc\"\nschemes = [\"silo\"]\nrepeat = 1000001\n";
        let says = Sweep::new(catalogue(), Recipe::parse(catalogue(), many).expect("legal"), "")
            .expect_err("too many")
            .0;
        assert!(says.contains("fewer"), "{says}");
    }

    #[test]
    fn words_that_a_shell_would_change_are_quoted() {
        assert_eq!(quoted("tpcc.mix=45,43,4"), "tpcc.mix=45,43,4");
        assert_eq!(quoted("epyc@memory.latency_ns*1.3"), "'epyc@memory.latency_ns*1.3'");
        assert_eq!(quoted("it's.toml"), r"'it'\''s.toml'");
    }
}
