//! Curves: the throughput of one scheme along an axis, beside a few others. In a figure of many schemes a single one is
//! hard to follow; curves are for texts about one scheme.

use plot::{Lines, Look, Series, Sheet};

use super::figures::{Drawn, throughput_of};
use super::study::Study;
use super::{Plot, SVG_MARK};

/// Width and height of the panel of a curve.
const SIZE: (f64, f64) = (520.0, 290.0);

/// Returns a curve for each scheme of a study; none if nothing varies. `number` is the study's number among those of
/// the report. All curves have the same scale.
pub(super) fn of_study(number: usize, study: &Study, beside: &[String]) -> Vec<Plot> {
    let drawn = Drawn { number, study };
    let Some(across) = drawn.across().filter(|_| !study.is_scattered()) else { return Vec::new() };
    study.schemes.iter().map(|scheme| curve(drawn, across, scheme, beside)).collect()
}

/// Returns the curve of a scheme. The scheme has the first look, and each of the others has its own look in all curves.
/// The looks of other figures differ only between neighbours of the catalogue, and a curve may show any two schemes.
fn curve(drawn: Drawn<'_>, across: usize, scheme: &str, beside: &[String]) -> Plot {
    let (x, y) = (drawn.axis_across(across), drawn.throughput_axis());
    let others = (1..).zip(beside).filter(|(_, other)| *other != scheme);
    let drawn_here: Vec<(usize, &str)> =
        [(0, scheme)].into_iter().chain(others.map(|(nth, other)| (nth, other.as_str()))).collect();
    let panel = |head: &Vec<String>| {
        let series =
            |(nth, name)| Series { look: Look(nth), ..drawn.series(head, across, name, &throughput_of) };
        let series = drawn_here.iter().copied().map(series).filter(|series| !series.points.is_empty());
        let title = drawn.study.point_in_words(head, &[across]);
        let name = format!("{} of {scheme} by {}: {title}", y.label, x.label);
        let key = drawn.point_key(head, &[across]);
        let series = series.collect();
        Lines { title: &title, name: &name, x: &x, y: &y, reference: None, series, size: SIZE, key: &key }
            .panel()
    };
    let panels: Vec<_> = drawn.panels_without(&[across]).iter().map(panel).collect();
    let title = format!("{scheme}: throughput");
    let svg = Sheet { title: &title, legend: &[], panels: &panels, columns: 2 }.file();
    Plot { name: file_name(scheme, drawn.number), title, svg: SVG_MARK.to_owned() + &svg }
}

/// Returns the name of the file: in the first study, that of the scheme alone. A result may contain any text as the
/// name of a scheme, and must not decide where a file is written.
fn file_name(scheme: &str, number: usize) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let safe: String = scheme.chars().map(|c| if is_plain(c) { c } else { '-' }).collect();
    if number == 0 { format!("{safe}.svg") } else { format!("{safe}-{}.svg", number + 1) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_have_the_names_of_schemes_and_stay_where_they_are_put() {
        assert_eq!(file_name("no_wait", 0), "no_wait.svg");
        assert_eq!(file_name("no_wait", 1), "no_wait-2.svg");
        assert_eq!(file_name("../a b", 0), "---a-b.svg");
    }
}
