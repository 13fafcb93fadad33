//! Settings: the texts that users write after `--set`, for every workload and scheme.
//!
//! An input is a byte for the workload, a byte for the scheme, and the texts, one on each line. Claims: nothing
//! panics; a refusal names the setting or the text; every accepted value is in the setting's range and can be
//! read as its kind.

use engine::setting::{Range, Setting, Values};
use lab::Catalogue;

use crate::bytes::Bytes;

/// Reads an input as settings of a workload and a scheme.
///
/// # Panics
/// When a claim fails.
pub fn settings(catalogue: Catalogue, input: &[u8]) {
    let mut input = Bytes(input);
    let workloads = catalogue.workloads();
    let workload = &workloads[usize::from(input.next()) % workloads.len()];
    let mut schemes = catalogue.schemes();
    let scheme = schemes.nth(usize::from(input.next()) % (schemes.len() + 1)).map(|entry| &entry.info);
    let text = String::from_utf8_lossy(input.0);
    let given: Vec<(String, String)> = text
        .lines()
        .map(|line| line.split_once('=').unwrap_or((line, "")))
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .collect();
    match catalogue.values(workload, scheme, &given) {
        Ok(values) => are_legal(catalogue, &values, &given),
        Err(refusal) => {
            let is_named = given.iter().any(|(name, _)| refusal.0.contains(&format!("`{name}")));
            assert!(is_named, "names no setting: {refusal}");
        }
    }
}

/// Asserts that every value is in range and can be read as its kind, and that a given value is the one in effect.
fn are_legal(catalogue: Catalogue, values: &Values, given: &[(String, String)]) {
    for (name, text) in values.iter() {
        let (_, setting) =
            catalogue.settings().find(|(_, setting)| setting.name == name).expect("it has a name");
        is_legal(values, setting, text);
        let expected = given.iter().find(|(of, _)| of == name).map_or(setting.default, |(_, value)| value);
        assert_eq!(text, expected);
    }
}

fn is_legal(values: &Values, setting: &Setting, text: &str) {
    let name = setting.name;
    match setting.range {
        Range::Int(min, max) => assert!((min..=max).contains(&values.int(name)), "{name}={text}"),
        Range::Real(min, max) => {
            let value = values.real(name);
            assert!(value >= min && value <= max, "{name}={text}");
        }
        Range::Switch => assert_eq!(values.switch(name).to_string(), text),
        Range::Choice(words) => assert!(words.contains(&text), "{name}={text}"),
        Range::Text(_, admits) => assert!(admits(text), "{name}={text}"),
    }
}
