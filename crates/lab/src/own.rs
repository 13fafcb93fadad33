//! Schemes that a program adds to the catalogue. A list that contradicts itself or the catalogue is refused before
//! anything runs: such a mistake would otherwise show in results, or not at all.

use std::collections::BTreeSet;

use engine::entry::Entry;
use engine::levers;
use engine::setting::{Setting, Values};
use runs::WORKLOADS;

use crate::registry::Listed;
use crate::{Catalogue, Refusal};

/// Words that begin settings, or stand for several schemes.
const TAKEN: [&str; 2] = ["run", "all"];

/// Refuses a scheme that cannot be added to a catalogue.
///
/// # Errors
/// The first contradiction between the scheme's types, its entries and the schemes that are listed already.
pub(crate) fn judge(catalogue: Catalogue, own: &Listed) -> Result<(), Refusal> {
    let entry = own.entry();
    judge_name(catalogue, entry.info.name)?;
    let judged = judge_types(own).and_then(|()| judge_settings(entry)).and_then(|()| judge_entry(own));
    judged.map_err(|says| Refusal(format!("scheme `{}`: {says}", entry.info.name)))
}

fn judge_name(catalogue: Catalogue, name: &str) -> Result<(), Refusal> {
    let refuse =
        |says: &str| Err(Refusal(format!("scheme `{name}`: {says}: give it another name in its `INFO`")));
    let is_plain = |letter: char| letter.is_ascii_lowercase() || letter.is_ascii_digit() || letter == '_';
    if !name.starts_with(|first: char| first.is_ascii_lowercase()) || !name.chars().all(is_plain) {
        return refuse("a name is of lower-case letters, digits and underscores, a letter first");
    }
    if catalogue.schemes().any(|entry| entry.info.name == name) {
        return refuse("another scheme of the catalogue has this name");
    }
    if TAKEN.contains(&name) || WORKLOADS.iter().any(|workload| workload.name == name) {
        return refuse("the name means something else on the command line");
    }
    Ok(())
}

/// Checks that the entries are those of the types.
fn judge_types(own: &Listed) -> Result<(), String> {
    let (entry, told) = (own.entry(), &own.run.told);
    let names = |settings: &[Setting]| settings.iter().map(|setting| setting.name).collect::<Vec<_>>();
    let differs = if entry.info != told.info {
        Some("`info`")
    } else if names(entry.settings) != names(told.settings) {
        Some("`settings`")
    } else {
        (entry.upgrades != told.upgrades).then_some("`upgrades`")
    };
    if let Some(differs) = differs {
        return Err(format!(
            "{differs} of its entry is not that of its type: end the entry with `..Entry::of::<TYPE>()`, and change \
             the type"
        ));
    }
    if !own.trial.is_of(entry) || own.simulated.name() != entry.info.name {
        let says = "its native and its stepped type, or their entries, are of different schemes: list the type and the \
                    entry of the same sources in both builds";
        return Err(says.to_owned());
    }
    Ok(())
}

fn judge_settings(entry: &Entry) -> Result<(), String> {
    let mut seen = BTreeSet::new();
    for Setting { name, default, .. } in entry.settings {
        let own = name.strip_prefix(entry.info.name).and_then(|rest| rest.strip_prefix('.'));
        if own.is_none_or(str::is_empty) {
            return Err(format!("its setting `{name}` must begin with `{}.`: rename it", entry.info.name));
        }
        if !seen.insert(name) {
            return Err(format!("its setting `{name}` is there twice: rename one"));
        }
        judge_given(entry, &[(name, default)]).map_err(|says| format!("its standard value {says}"))?;
    }
    Ok(())
}

/// Checks the variants, the toggles and the planted bugs of an entry.
fn judge_entry(own: &Listed) -> Result<(), String> {
    let entry = own.entry();
    for variant in entry.variants {
        judge_given(entry, variant.given)
            .map_err(|says| format!("its variant `{}`: {says}", variant.name))?;
    }
    for toggle in entry.toggles {
        judge_given(entry, &[(toggle.setting, toggle.value)])
            .map_err(|says| format!("its toggle `{}`: {says}", toggle.says))?;
    }
    for planted in entry.plants {
        let name = planted.plant.name;
        if own.trial.plant(name).is_none() {
            return Err(format!(
                "its planted bug `{name}` is not in its entry of the stepped build: build both from the same sources"
            ));
        }
        judge_given(entry, planted.under).map_err(|says| format!("its planted bug `{name}`: {says}"))?;
    }
    Ok(())
}

/// Checks that values of settings, of the scheme or of the engine, are legal.
fn judge_given(entry: &Entry, given: &[(&str, &str)]) -> Result<(), String> {
    let given: Vec<_> = given.iter().map(|&(name, value)| (name.to_owned(), value.to_owned())).collect();
    let values = Values::new(entry.settings.iter().chain(levers::SETTINGS), &given);
    values.map(drop).map_err(|error| error.0)
}

#[cfg(test)]
mod tests {
    use engine::entry::{Planted, Toggle, Variant};
    use engine::setting::Range;
    use engine::{Info, Isolation};
    use sync::plant::Plant;

    use super::*;
    use crate::registry::tests::catalogue;

    /// Returns the refusal of a scheme of this entry, by a catalogue that has all schemes but `silo`. Its type and its
    /// stepped half are those of `silo`.
    fn refusal(change: impl FnOnce(Entry) -> Entry) -> String {
        let silo = *catalogue().listed("silo");
        let entry: &'static Entry = Box::leak(Box::new(change(*silo.entry())));
        let mut listed = silo;
        listed.run.entry = entry;
        let rest = catalogue().schemes().map(|entry| entry.info.name).filter(|name| *name != "silo");
        let rest = Catalogue::new(rest.map(|name| *catalogue().listed(name)));
        rest.with(&[listed]).expect_err("refused").0
    }

    fn setting(name: &'static str, default: &'static str) -> &'static [Setting] {
        let (range, unit, doc, stresses) = (Range::Int(1, 9), "", "a test", "a test");
        Box::leak(Box::new([Setting { name, default, range, unit, doc, stresses }]))
    }

    #[test]
    fn every_scheme_of_the_catalogue_could_be_added_to_one() {
        let all: Vec<Listed> = instances::all().map(Listed::from).collect();
        let added = Catalogue::WITHOUT_SCHEMES.with(&all).expect("each keeps the rules");
        let names =
            |catalogue: Catalogue| catalogue.schemes().map(|entry| entry.info.name).collect::<Vec<_>>();
        assert_eq!(names(added), names(catalogue()));
        assert!(added.is_extended() && !catalogue().with(&[]).expect("nothing is added").is_extended());
    }

    #[test]
    fn a_name_that_is_taken_is_refused() {
        let silo = *catalogue().listed("silo");
        let says = catalogue().with(&[silo]).expect_err("it is there").0;
        assert!(says.contains("`silo`: another scheme") && says.contains("give it another name"), "{says}");
        let says = Catalogue::WITHOUT_SCHEMES.with(&[silo, silo]).expect_err("twice").0;
        assert!(says.contains("`silo`: another scheme"), "{says}");
        for name in ["all", "run", "ycsb", "", "A_scheme", "a-scheme", "1st"] {
            let says = refusal(|entry| Entry { info: Info { name, ..entry.info }, ..entry });
            assert!(says.contains("give it another name"), "{says}");
        }
    }

    #[test]
    fn an_entry_that_says_more_than_its_type_is_refused() {
        let says =
            refusal(|entry| Entry { info: Info { isolation: Isolation::None, ..entry.info }, ..entry });
        assert!(says.contains("`info` of its entry") && says.contains("..Entry::of::<TYPE>()"), "{says}");
        let says = refusal(|entry| Entry { settings: setting("silo.other", "1"), ..entry });
        assert!(says.contains("`settings` of its entry"), "{says}");
        assert!(refusal(|entry| Entry { upgrades: true, ..entry }).contains("`upgrades` of its entry"));
    }

    #[test]
    fn halves_of_two_schemes_are_refused() {
        let [silo, mvto] = ["silo", "mvto"].map(|name| *catalogue().listed(name));
        let mixed = Listed { trial: mvto.trial, ..silo };
        let says = Catalogue::WITHOUT_SCHEMES.with(&[mixed]).expect_err("two schemes").0;
        assert!(says.contains("of different schemes"), "{says}");
    }

    #[test]
    fn settings_are_named_for_their_scheme_and_have_legal_standard_values() {
        let judge = |settings: &'static [Setting]| {
            let entry = Entry { settings, ..*catalogue().listed("silo").entry() };
            judge_settings(&entry).expect_err("refused")
        };
        for name in ["other.width", "silo", "silo.", "silos.width"] {
            assert!(judge(setting(name, "1")).contains("must begin with `silo.`"), "{name}");
        }
        assert!(judge(setting("silo.width", "10")).contains("from 1 to 9"));
        let twice: [Setting; 2] = [setting("silo.width", "1")[0]; 2];
        assert!(judge(Box::leak(Box::new(twice))).contains("twice"));
    }

    #[test]
    fn variants_toggles_and_bugs_of_nothing_are_refused() {
        static UNKNOWN: Plant = Plant { name: "unknown", says: "a bug that no build has" };
        const VARIANTS: &[Variant] = &[Variant { name: "odd", says: "", given: &[("silo.epoch_sm", "1")] }];
        const TOGGLES: &[Toggle] = &[Toggle { says: "odd", setting: "silo.epoch_ms", value: "none" }];
        const PLANTS: &[Planted] = &[Planted::new(&UNKNOWN)];
        let says = refusal(|entry| Entry { variants: VARIANTS, ..entry });
        assert!(says.contains("variant `odd`") && says.contains("did you mean `silo.epoch_ms`"), "{says}");
        let says = refusal(|entry| Entry { toggles: TOGGLES, ..entry });
        assert!(says.contains("toggle `odd`: `silo.epoch_ms=none`: must be"), "{says}");
        let says = refusal(|entry| Entry { plants: PLANTS, ..entry });
        assert!(says.contains("bug `unknown` is not in its entry of the stepped build"), "{says}");
    }
}
