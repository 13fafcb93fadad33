//! Spaces: settings that vary, each between two numbers or among some words.

use engine::setting::{Range, Values};
use results::Named;
use stats::{Axis, Scale};
use stdx::Rng;

use crate::sweep::DRIVES;
use crate::{Catalogue, Refusal};
/// The range of a setting if none is given: the range that the literature uses, as far as a small machine can run it.
const EXPLORED: [(&str, &str); 25] = [
    ("workers", "1..4"),
    ("clients", "2..64"),
    ("retry", "same|drop|backoff"),
    ("mode", "procedure|interactive"),
    ("rtt_us", "0..1000"),
    ("tpcc.warehouses", "1..8"),
    ("tpcc.remote_item_pct", "0..20"),
    ("tpcc.remote_payment_pct", "0..100"),
    ("tpcc.mix", "full|narrow"),
    ("tpcc.audit_pct", "0..50"),
    ("tpcc.analytic_pct", "0..50"),
    ("tpcc.analytic_share_pct", "1..100"),
    ("tpce.analytic_pct", "0..50"),
    ("tpce.group_pct", "1..60"),
    ("tpce.market_feed", "whole|per_entry"),
    ("ycsb.records", "1000..1000000"),
    ("ycsb.ops_per_txn", "1..64"),
    ("ycsb.read_pct", "0..100"),
    ("ycsb.theta", "0..0.99"),
    ("smallbank.accounts", "1000..1000000"),
    ("smallbank.theta", "0..0.99"),
    ("stock.reads", "100..100000"),
    ("stock.write_pct", "0.01..10"),
    ("micro.objects", "1000..1000000"),
    ("micro.theta", "0..0.99"),
];

/// Whole numbers are spaced by ratio if the last is at least this many times the first.
const WIDE: f64 = 8.0;
/// Other numbers are spaced by ratio if the last is at least this many times the first.
const VERY_WIDE: f64 = 100.0;

/// A space: the settings that vary, each as an axis.
#[derive(Clone, Debug, PartialEq)]
pub struct Space(Vec<Axis>);

impl Space {
    /// Reads axes such as `tpcc.warehouses`, `ycsb.theta=0..0.99` or `retry=same|drop`.
    ///
    /// # Errors
    /// Unknown names, ranges that cannot be read or are illegal, names without a range that have no usual range, names
    /// that are given twice, and no axis at all. The text says what to do.
    pub fn parse(catalogue: Catalogue, items: &[String]) -> Result<Self, Refusal> {
        let axes = items.iter().map(|item| axis(catalogue, item)).collect::<Result<Vec<_>, _>>()?;
        if axes.is_empty() {
            return Err(Refusal(
                "`--vary`: name a setting or more, for example `--vary ycsb.theta=0..0.99`".to_owned(),
            ));
        }
        let twice = (1..axes.len()).find(|&at| axes[..at].iter().any(|axis| axis.name() == axes[at].name()));
        if let Some(twice) = twice {
            return Err(Refusal(format!("`--vary`: `{}` is given twice: leave one out", axes[twice].name())));
        }
        Ok(Self(axes))
    }

    /// Returns the axes.
    pub fn axes(&self) -> &[Axis] {
        &self.0
    }

    /// Returns the point at coordinates from 0 to 1. Its values are rounded to numbers that a person would write.
    ///
    /// # Panics
    /// If the number of coordinates differs from the number of axes.
    pub fn point(&self, units: &[f64]) -> Vec<f64> {
        let values = Axis::point(&self.0, units);
        self.0.iter().zip(values).map(|(axis, value)| axis.legible(value)).collect()
    }

    /// Returns a random point, uniform in coordinates.
    pub fn random(&self, rng: &mut Rng) -> Vec<f64> {
        let units: Vec<f64> = self.0.iter().map(|_| rng.unit()).collect();
        self.point(&units)
    }

    /// Returns all points of the space, if there are at most `most` points; else `None`.
    pub fn all(&self, most: usize) -> Option<Vec<Vec<f64>>> {
        let mut points = vec![Vec::new()];
        for axis in &self.0 {
            let values = axis.values(most)?;
            if points.len() * values.len() > most {
                return None;
            }
            let longer = |point: &Vec<f64>| {
                values.iter().map(|&value| [&point[..], &[value]].concat()).collect::<Vec<_>>()
            };
            points = points.iter().flat_map(longer).collect();
        }
        Some(points)
    }

    /// Returns the coordinates of a point, from 0 to 1.
    pub fn units(&self, point: &[f64]) -> Vec<f64> {
        self.0.iter().zip(point).map(|(axis, &value)| axis.unit_of(value)).collect()
    }

    /// Returns the values of a point as settings: pairs of name and value.
    pub fn named(&self, point: &[f64]) -> Vec<(String, String)> {
        self.0.iter().zip(point).map(|(axis, &value)| (axis.name().to_owned(), axis.text(value))).collect()
    }

    /// Returns the axes as results.
    pub fn result(&self) -> Vec<results::Axis> {
        let axis = |axis: &Axis| {
            let (kind, choices) = match axis.scale() {
                Scale::Linear { .. } => ("linear", None),
                Scale::Log { .. } => ("log", None),
                Scale::Integer { .. } => ("integer", None),
                Scale::LogInteger { .. } => ("log_integer", None),
                Scale::Choice(words) => ("choice", Some(words.clone())),
            };
            let ends = choices.is_none().then(|| axis.ends());
            let (low, high) = ends.unzip();
            results::Axis { choices, high, kind: kind.to_owned(), low, name: axis.name().to_owned() }
        };
        self.0.iter().map(axis).collect()
    }

    /// Returns the texts from which [`parse`](Self::parse) makes this space.
    pub fn items(&self) -> Vec<String> {
        let item = |axis: &Axis| match axis.choices() {
            Some(words) => format!("{}={}", axis.name(), words.join("|")),
            None => format!("{}={}..{}", axis.name(), axis.ends().0, axis.ends().1),
        };
        self.0.iter().map(item).collect()
    }

    /// Returns the space of axes that [`result`](Self::result) made.
    ///
    /// # Errors
    /// Axes that [`result`](Self::result) does not make, or whose names or ranges are illegal in this version.
    pub fn of_axes(catalogue: Catalogue, axes: &[results::Axis]) -> Result<Self, Refusal> {
        let item = |results::Axis { choices, high, low, name, .. }: &results::Axis| match choices {
            Some(words) => Some(format!("{name}={}", words.join("|"))),
            None => Some(format!("{name}={}..{}", (*low)?, (*high)?)),
        };
        let items = axes.iter().map(item).collect::<Option<Vec<String>>>();
        let items = items.ok_or_else(|| Refusal("`space`: has an axis without a name or ends".to_owned()))?;
        Self::parse(catalogue, &items)
    }

    /// Returns the values of a point by the names of the axes.
    pub fn named_values(&self, point: &[f64]) -> Named {
        let of = |(axis, &value): (&Axis, &f64)| {
            let told = match axis.scale() {
                Scale::Choice(_) => axis.text(value).as_str().into(),
                Scale::Integer { .. } | Scale::LogInteger { .. } => (value as i64).into(),
                Scale::Linear { .. } | Scale::Log { .. } => value.into(),
            };
            (axis.name().to_owned(), told)
        };
        self.0.iter().zip(point).map(of).collect()
    }
}

fn axis(catalogue: Catalogue, item: &str) -> Result<Axis, Refusal> {
    let (name, range) = match item.split_once('=') {
        Some((name, range)) => (name.trim(), range.trim()),
        None => (item.trim(), ""),
    };
    let setting = if DRIVES.contains(&name) { None } else { Some(catalogue.setting(name)?) };
    let range = if range.is_empty() { explored(name)? } else { range };
    let scale = match range.split_once("..") {
        Some((low, high)) => numbers(name, low, high, setting.map(|setting| setting.range))?,
        None => words(name, range)?,
    };
    let axis = Axis::new(name, scale).map_err(|error| Refusal(format!("`--vary`: {error}")))?;
    if let Some(setting) = setting {
        let (low, high) = axis.ends();
        let texts = axis.choices().map_or_else(|| vec![axis.text(low), axis.text(high)], <[String]>::to_vec);
        for text in texts {
            Values::new([setting], &[(name.to_owned(), text)])?;
        }
    }
    Ok(axis)
}

/// Returns the usual range of a setting, for the case that none is given.
fn explored(name: &str) -> Result<&'static str, Refusal> {
    if let Some((_, range)) = EXPLORED.iter().find(|(other, _)| *other == name) {
        return Ok(range);
    }
    Err(Refusal(format!(
        "`--vary {name}`: say between which values, for example `{name}=1..10` or `{name}=a|b`; legal values are in \
         `contend list settings`"
    )))
}

fn words(name: &str, range: &str) -> Result<Scale, Refusal> {
    let words: Vec<String> = range.split('|').map(|word| word.trim().to_owned()).collect();
    let is_odd = |at: usize| words[at].is_empty() || words[..at].contains(&words[at]);
    if words.len() < 2 || (0..words.len()).any(is_odd) {
        return Err(Refusal(format!(
            "`--vary {name}={range}`: give two ends, `LOW..HIGH`, or different words, `A|B`"
        )));
    }
    Ok(Scale::Choice(words))
}

/// Returns the scale between two numbers. It follows from the kind of the setting, and is by ratio if the numbers are
/// far apart.
fn numbers(name: &str, low: &str, high: &str, range: Option<Range>) -> Result<Scale, Refusal> {
    let refusal = || {
        Refusal(format!(
            "`--vary {name}={low}..{high}`: both ends must be numbers, the first the smaller one"
        ))
    };
    // The drives of a run, such as workers, have no range of their own: they are counts.
    if range.is_none_or(|range| matches!(range, Range::Int(..))) {
        let end =
            |text: &str| text.trim().parse::<f64>().ok().filter(|end| end.fract() == 0.0 && end.abs() < 1e15);
        let low = end(low).ok_or_else(refusal)? as i64;
        let high = end(high).ok_or_else(refusal)? as i64;
        let is_wide = low > 0 && high as f64 >= WIDE * low as f64;
        return Ok(if is_wide { Scale::LogInteger { low, high } } else { Scale::Integer { low, high } });
    }
    let end = |text: &str| text.trim().parse::<f64>().ok().filter(|end| end.is_finite());
    let (low, high) = (end(low).ok_or_else(refusal)?, end(high).ok_or_else(refusal)?);
    let is_wide = low > 0.0 && high >= VERY_WIDE * low;
    Ok(if is_wide { Scale::Log { low, high } } else { Scale::Linear { low, high } })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::registry::tests::catalogue;

    fn space(items: &[&str]) -> Result<Space, Refusal> {
        Space::parse(catalogue(), &items.iter().map(|&item| item.to_owned()).collect::<Vec<_>>())
    }

    fn refusal(items: &[&str]) -> String {
        space(items).expect_err("refused").0
    }

    #[test]
    fn ranges_become_the_scale_of_their_setting() {
        let space = space(&[
            "tpcc.warehouses=1..8",
            "workers = 1..4",
            "ycsb.theta=0..0.99",
            "retry=same|drop",
            "tpcc.audit_pct=0.1..100",
        ])
        .expect("legal");
        let scales: Vec<&Scale> = space.axes().iter().map(Axis::scale).collect();
        assert_eq!(scales[0], &Scale::LogInteger { low: 1, high: 8 });
        assert_eq!(scales[1], &Scale::Integer { low: 1, high: 4 });
        assert_eq!(scales[2], &Scale::Linear { low: 0.0, high: 0.99 });
        assert_eq!(scales[3], &Scale::Choice(vec!["same".to_owned(), "drop".to_owned()]));
        assert_eq!(scales[4], &Scale::Log { low: 0.1, high: 100.0 });
        assert_eq!(Space::of_axes(catalogue(), &space.result()).expect("legal"), space);
        assert_eq!(Space::parse(catalogue(), &space.items()).expect("legal"), space);
    }

    #[test]
    fn usual_ranges_are_legal() {
        for (name, _) in EXPLORED {
            space(&[name]).unwrap_or_else(|refusal| panic!("{refusal}"));
        }
    }

    #[test]
    fn values_are_such_as_a_person_writes_and_come_back() {
        let space =
            space(&["ycsb.theta=0..0.99", "ycsb.records=1000..1000000", "retry=same|drop"]).expect("legal");
        let mut rng = Rng::new(1);
        for _ in 0..1_000 {
            let point = space.random(&mut rng);
            for (name, value) in space.named(&point) {
                assert!(value.len() <= 7, "{name}={value}");
            }
        }
        assert_eq!(
            space.named(&space.point(&[0.0, 1.0, 0.9])),
            [
                ("ycsb.theta".to_owned(), "0".to_owned()),
                ("ycsb.records".to_owned(), "1000000".to_owned()),
                ("retry".to_owned(), "drop".to_owned()),
            ]
        );
    }

    #[test]
    fn a_space_of_few_points_has_them_all() {
        let few = space(&["workers=1..2", "retry=same|drop"]).expect("legal");
        assert_eq!(few.all(4).expect("few"), [[1.0, 0.0], [1.0, 1.0], [2.0, 0.0], [2.0, 1.0]]);
        assert_eq!(few.all(3), None);
        assert_eq!(space(&["ycsb.theta=0..0.9", "workers=1..2"]).expect("legal").all(200), None);
    }

    #[test]
    fn what_is_no_range_is_refused_with_the_way_out() {
        assert!(refusal(&[]).contains("--vary ycsb.theta=0..0.99"));
        assert!(refusal(&["ycsb.tehta=0..1"]).contains("did you mean `ycsb.theta`"));
        assert!(refusal(&["ycsb.value_bytes"]).contains("ycsb.value_bytes=1..10"));
        assert!(refusal(&["ycsb.theta=0..2"]).contains("from 0 to 0.999"));
        assert!(refusal(&["ycsb.theta=0.9..0.1"]).contains("low end"));
        assert!(refusal(&["ycsb.theta=a..b"]).contains("both ends"));
        assert!(refusal(&["workers=1.5..3"]).contains("both ends"));
        assert!(refusal(&["retry=same"]).contains("`A|B`"));
        assert!(refusal(&["retry=same|same"]).contains("different"));
        assert!(refusal(&["ycsb.write=rmw|blnd"]).contains("one of rmw, blind"));
        assert!(refusal(&["workers", "workers=1..2"]).contains("twice"));
    }
}
