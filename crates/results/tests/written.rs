//! Results that were written by `contend` are read, written again, and described by the schema.

use results::{Line, Unread, parse, schema};
use serde_json::{Value, json};

/// Files of lines.
const LINES: [&str; 4] = [
    include_str!("written/run.jsonl"),
    include_str!("written/sweep.jsonl"),
    include_str!("written/compare.jsonl"),
    include_str!("written/recheck.jsonl"),
];

/// Files of one result each.
const SINGLE: [&str; 4] = [
    include_str!("written/stored.json"),
    include_str!("written/conditions.json"),
    include_str!("written/claim.json"),
    include_str!("written/reproduction.json"),
];

/// Returns all results that `contend` has written to the files.
fn written() -> impl Iterator<Item = &'static str> {
    LINES.iter().flat_map(|file| file.lines()).chain(SINGLE.map(str::trim_end))
}

fn read(text: &str) -> Line {
    parse(text).unwrap_or_else(|unread| panic!("{unread}: {text}")).expect("of a known kind")
}

#[test]
fn what_is_read_is_written_again_to_the_last_byte() {
    let mut kinds = Vec::new();
    for text in written() {
        let line = read(text);
        let again = match &line {
            Line::Claim(claim) => serde_json::to_string(claim).expect("names are text"),
            Line::Reproduction(of) => format!("{of:#}"),
            line => line.to_string(),
        };
        assert_eq!(again, text);
        kinds.push(json!(line)["kind"].as_str().expect("a kind").to_owned());
    }
    for (kind, _) in Line::KINDS {
        assert!(kinds.iter().any(|other| other == kind), "no file has a line of the kind {kind}");
    }
}

/// Returns the defects of a value by a schema: keys that are missing or not described, and values of other types.
fn defects(root: &Value, schema: &Value, value: &Value, at: &str) -> Vec<String> {
    let mut found = Vec::new();
    if let Some(name) = schema["$ref"].as_str().and_then(|name| name.strip_prefix("#/$defs/")) {
        found.extend(defects(root, &root["$defs"][name], value, at));
    }
    for key in ["anyOf", "oneOf"] {
        let all = schema[key].as_array().into_iter().flatten();
        let best = all.map(|of| defects(root, of, value, at)).min_by_key(Vec::len);
        found.extend(best.into_iter().flatten());
    }
    let is_of = |name: &Value| match name.as_str().unwrap_or_default() {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "boolean" => value.is_boolean(),
        "integer" => value.is_u64() || value.is_i64(),
        "number" => value.is_number(),
        "null" => value.is_null(),
        other => panic!("{at}: {other}"),
    };
    let is_typed = match &schema["type"] {
        Value::Null => true,
        Value::Array(names) => names.iter().any(is_of),
        name => is_of(name),
    };
    if !is_typed || !schema["const"].is_null() && schema["const"] != *value {
        found.push(format!("{at}: {value} is not of {schema}"));
    }
    for name in schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str) {
        found.extend(value.get(name).is_none().then(|| format!("{at}.{name} is missing")));
    }
    let others = &schema["additionalProperties"];
    for (name, value) in value.as_object().into_iter().flatten().filter(|_| value.is_object()) {
        let at = format!("{at}.{name}");
        match schema["properties"].get(name) {
            Some(schema) => found.extend(defects(root, schema, value, &at)),
            None if others.is_object() => found.extend(defects(root, others, value, &at)),
            None if schema["properties"].is_object() => found.push(format!("{at} is not described")),
            None => {}
        }
    }
    for (nth, value) in value.as_array().into_iter().flatten().enumerate() {
        let item = schema["prefixItems"].get(nth).unwrap_or(&schema["items"]);
        found.extend(defects(root, item, value, &format!("{at}[{nth}]")));
    }
    found
}

#[test]
fn the_schema_describes_what_is_written() {
    let schema = json!(schema());
    for text in written() {
        let value: Value = serde_json::from_str(text).expect("JSON");
        assert_eq!(defects(&schema, &schema, &value, ""), [""; 0], "{text}");
        let kind = value["kind"].to_string();
        let mut odd = value.clone();
        odd["schema"] = "one".into();
        assert_eq!(defects(&schema, &schema, &odd, "").len(), 1, "{kind}: a schema that accepts anything");
        odd = value;
        odd.as_object_mut().expect("an object").remove("schema");
        assert_eq!(defects(&schema, &schema, &odd, ""), [".schema is missing"], "{kind}");
    }
}

#[test]
fn every_name_is_described() {
    let schema = json!(schema());
    for (name, of) in schema["$defs"].as_object().expect("definitions") {
        for (key, property) in of["properties"].as_object().into_iter().flatten() {
            assert!(property["description"].is_string(), "{name}.{key} has no description");
        }
    }
}

#[test]
fn names_that_are_not_known_are_accepted_and_other_versions_are_not() {
    let run = |schema: u32| {
        parse(&format!("{{\"kind\": \"run\", \"schema\": {schema}, \"commits\": 7, \"colour\": \"red\"}}"))
    };
    let Ok(Some(Line::Run(read))) = run(1) else { panic!("a run") };
    assert_eq!(read.counts.commits, 7);
    let refused = run(2).expect_err("of another version");
    assert!(matches!(refused, Unread::Version(2)));
    let says =
        "has version 2 of the schema of results, and this program reads version 1: read it with the version";
    assert!(refused.to_string().starts_with(says), "{refused}");
    assert!(matches!(parse("{\"kind\": \"poem\"}"), Ok(None)));
    assert!(matches!(parse("{\"kind\": \"run\", \"com"), Err(Unread::NotJson(_))));
    assert!(matches!(parse("{\"kind\": \"run\", \"commits\": \"many\"}"), Err(Unread::NoResult(_))));
}

#[test]
fn choices_that_did_not_exist_yet_have_the_values_of_that_time() {
    let Line::Run(run) = read("{\"kind\": \"run\"}") else { panic!("a run") };
    let text = |name: &str| run.choices.get(name).map(|value| value.to_string());
    assert_eq!(
        ["mode", "arrivals", "batch"].map(text),
        ["procedure", "closed", "1"].map(|of| Some(of.to_owned()))
    );
    assert_eq!((text("rate_txn_s"), text("retry")), (None, None));
    assert_eq!((run.counts.retries, run.insight), (None, None), "nobody counted them");
}
