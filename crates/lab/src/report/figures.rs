//! Figures: the plots of a study, each with the table of its numbers.

use plot::{
    Axis, Bar, Bars, Lines, Look, Panel, Point, Row, Rows, Scale, Series, Sheet, micros, percent, plain, si,
};

use super::details::{Details, LatencyMedians};
use super::grid::Grid;
use super::study::{PointMeasurements, Study, place_of};
use super::{Plot, SVG_MARK, insight, planes};
use crate::knees::knee;
use crate::sweep::{heads, row};
use crate::text::{count, duration, ratio_interval};

/// One plot or several plots of a kind, and the table of their numbers.
#[derive(Clone, Debug)]
pub(super) struct Figure {
    /// The name, unique among the figures of a report: letters, digits and `-`.
    pub(super) id: String,
    pub(super) title: String,
    /// The caption, which says how to read the figure.
    pub(super) caption: String,
    pub(super) legend: Vec<(String, Look)>,
    /// The keys by which a page finds the entries of the legend; empty if the page hides none of them.
    pub(super) legend_keys: Vec<String>,
    pub(super) panels: Vec<Panel>,
    /// The number of panels side by side in a file.
    pub(super) columns: usize,
    pub(super) grid: Grid,
}

impl Figure {
    /// Returns the figure as a file.
    pub(super) fn file(&self) -> Plot {
        let Self { title, legend, panels, columns, .. } = self;
        let svg = Sheet { title, legend, panels, columns: *columns }.file();
        Plot { name: format!("{}.svg", self.id), title: self.title.clone(), svg: SVG_MARK.to_owned() + &svg }
    }
}

/// The most panels of a figure: nobody reads a page with more.
pub(super) const PANELS_MAX: usize = 36;
/// Width and height of a panel of lines.
const SIZE: (f64, f64) = (380.0, 250.0);
/// The same for more than [`FEW`] schemes, whose names need the height.
const SIZE_OF_MANY: (f64, f64) = (900.0, 500.0);
/// So many schemes have room in a panel of the usual size.
const FEW: usize = 14;
/// Width of a panel of bars.
const WIDE: f64 = 470.0;

/// A study to draw, with its number among the studies of the report.
#[derive(Clone, Copy, Debug)]
pub(super) struct Drawn<'s> {
    pub(super) number: usize,
    pub(super) study: &'s Study,
}

/// Returns the figures of a study. `number` is the study's number among those of the report.
pub(super) fn of_study(number: usize, study: &Study) -> Vec<Figure> {
    let drawn = Drawn { number, study };
    let mut figures = Vec::new();
    if !study.is_scattered() {
        figures.push(drawn.throughput());
        figures.extend(drawn.ratio());
        figures.extend(planes::leaders(drawn));
        figures.extend(planes::crossovers(drawn));
        figures.extend(drawn.latency("latency", "Latency", |details| details.latency.as_ref()));
        figures.extend(drawn.latency("service", "Service time", |details| details.service.as_ref()));
        figures.extend(drawn.parts(&BREAKDOWN, |details| details.breakdown.clone()));
        figures.extend(insight::stages(drawn));
        figures.extend(drawn.parts(&REASONS, |details| details.reasons.clone()));
        figures.extend(insight::retries(drawn));
        figures.extend(drawn.types());
        figures.extend(insight::batches(drawn));
    }
    figures.retain(|figure| !figure.panels.is_empty());
    for figure in &mut figures {
        let is_scheme =
            |(name, its): &&(String, Look)| study.schemes.contains(name) && *its == look(study, name);
        let entries = figure.legend.iter().filter(is_scheme).map(|(name, _)| drawn.scheme_key(name));
        let keys: Vec<String> = entries.collect();
        if keys.len() == figure.legend.len() {
            figure.legend_keys = keys;
        }
    }
    figures
}

/// Returns the look of a scheme. A scheme of the catalogue has the same look in all reports.
pub(super) fn look(study: &Study, scheme: &str) -> Look {
    let known = place_of(study.catalogue, scheme);
    if known < usize::MAX {
        return Look(known);
    }
    let place = study.schemes.iter().position(|name| name == scheme).unwrap_or(0);
    Look(study.catalogue.schemes().len() + place)
}

/// A figure of bars, each divided into parts.
struct Parts {
    id: &'static str,
    title: &'static str,
    label: &'static str,
    caption: &'static str,
    /// Whether the parts of each bar add up to 100%.
    is_whole: bool,
}

const BREAKDOWN: Parts = Parts {
    id: "breakdown",
    title: "Where the time goes",
    label: "share of the time of sampled transactions",
    caption: "Means over the repetitions. Phases are sampled while transactions run; `run.sample_every` says how \
              often.",
    is_whole: true,
};
const REASONS: Parts = Parts {
    id: "aborts",
    title: "Why attempts were aborted",
    label: "share of the attempts",
    caption: "Of the attempts of all repetitions together; user aborts are not counted.",
    is_whole: false,
};

impl Drawn<'_> {
    pub(super) fn id(&self, name: &str) -> String {
        format!("{name}-{}", self.number + 1)
    }

    /// Returns the key by which the page finds everything that belongs to a scheme.
    pub(super) fn scheme_key(&self, scheme: &str) -> String {
        let place = self.study.schemes.iter().position(|name| name == scheme).unwrap_or(0);
        format!("{}s{place}", self.number)
    }

    /// Returns the key by which the page finds everything that belongs to a value of an axis.
    pub(super) fn value_key(&self, axis: usize, value: &str) -> String {
        format!("{}a{axis}v{}", self.number, self.study.number_of(axis, value))
    }

    /// Returns the key by which the page finds a point, without the coordinates in `except`.
    pub(super) fn point_key(&self, point: &[String], except: &[usize]) -> String {
        let own = point.iter().enumerate().filter(|(axis, _)| !except.contains(axis));
        own.map(|(axis, value)| self.value_key(axis, value)).collect::<Vec<_>>().join(" ")
    }

    pub(super) fn line_key(&self, line: &PointMeasurements) -> String {
        let key = self.scheme_key(&line.line.scheme) + " " + &self.point_key(&line.line.point, &[]);
        key.trim_end().to_owned()
    }

    pub(super) fn legend(&self) -> Vec<(String, Look)> {
        self.study.schemes.iter().map(|scheme| (scheme.clone(), look(self.study, scheme))).collect()
    }

    /// Returns the axis along which lines run: the longest axis of numbers or, if there is none, the longest axis. Axes
    /// with one value do not count.
    pub(super) fn across(&self) -> Option<usize> {
        let several = self.study.axes.iter().enumerate().filter(|(_, axis)| axis.values.len() > 1);
        let rank = |(at, axis): &(usize, &super::Varied)| {
            (axis.numbers().is_some(), axis.values.len(), core::cmp::Reverse(*at))
        };
        several.max_by_key(rank).map(|(at, _)| at)
    }

    pub(super) fn axis_across(&self, at: usize) -> Axis {
        let axis = &self.study.axes[at];
        match axis.numbers() {
            Some(numbers) => Axis::measured_at(axis.label(self.study.catalogue), &numbers, plain),
            None => Axis::words(axis.label(self.study.catalogue), &axis.values),
        }
    }

    /// Returns the distinct points without the coordinates of `axes`, which are left empty. Each such point has a
    /// panel.
    pub(super) fn panels_without(&self, axes: &[usize]) -> Vec<Vec<String>> {
        let mut heads = self.points_without(axes);
        heads.truncate(PANELS_MAX);
        heads
    }

    /// Returns the points, each once, without their values on `axes`, which are empty.
    pub(super) fn points_without(&self, axes: &[usize]) -> Vec<Vec<String>> {
        let mut heads: Vec<Vec<String>> = Vec::new();
        for point in self.study.points() {
            let mut head = point.to_vec();
            for at in axes {
                head[*at].clear();
            }
            if !heads.contains(&head) {
                heads.push(head);
            }
        }
        heads
    }

    /// Returns a sentence on the panels that are left out; empty if all of them are drawn.
    pub(super) fn left_out(&self, axes: &[usize]) -> String {
        let panels = self.points_without(axes).len();
        if panels > PANELS_MAX {
            format!(" The first {PANELS_MAX} of {panels} panels are drawn; the table has all.")
        } else {
            String::new()
        }
    }

    fn throughput(&self) -> Figure {
        let title = "Throughput".to_owned();
        let y = self.throughput_axis();
        let all: Vec<&String> = self.study.schemes.iter().collect();
        let with_knees = |across, series| self.with_knee(across, series);
        let panels = self.lines(&y, None, &all, (&throughput_of, &with_knees));
        let grid = self.throughput_grid();
        let caption = format!(
            "Medians of the repetitions with exact intervals; a line between two points is no measurement.{}{}",
            if self.is_by_workers() {
                " A hollow marker is a knee: the next number of workers adds less than half of what it would add if \
                 all kept their rate."
            } else {
                ""
            },
            self.left_out(&self.across().into_iter().collect::<Vec<_>>())
        );
        Figure {
            id: self.id("throughput"),
            title,
            caption,
            legend: self.legend(),
            legend_keys: Vec::new(),
            panels,
            columns: self.panel().1,
            grid,
        }
    }

    /// Returns the axis of throughputs, with room for all lines of the study. It is logarithmic if they are by the
    /// number of workers and far apart.
    pub(super) fn throughput_axis(&self) -> Axis {
        let medians: Vec<f64> = self.study.lines.iter().filter_map(|line| line.line.median()).collect();
        let ends = medians.iter().copied().reduce(f64::min).zip(medians.iter().copied().reduce(f64::max));
        let is_wide = ends.is_some_and(|(low, high)| low > 0.0 && high > FAR_APART * low);
        let scale = if is_wide && self.is_by_workers() {
            Scale::log_over(medians)
        } else {
            let tops = self.study.lines.iter().filter_map(|line| {
                Some(line.line.interval.map_or(line.line.median()?, |interval| interval.high))
            });
            Scale::from_zero(tops)
        };
        Axis::numbers("transactions a second", scale, si)
    }

    /// Returns the size of a panel of lines, and the number of panels side by side.
    fn panel(&self) -> ((f64, f64), usize) {
        if self.study.schemes.len() > FEW { (SIZE_OF_MANY, 1) } else { (SIZE, 3) }
    }

    /// Whether lines are drawn along the number of workers.
    fn is_by_workers(&self) -> bool {
        self.across().is_some_and(|across| self.study.axes[across].name == WORKERS)
    }

    /// Returns the table of throughputs, which is the same as that of a sweep.
    pub(super) fn throughput_grid(&self) -> Grid {
        let has_others = self.study.schemes.len() > 1;
        let head = heads(&self.names(), has_others.then_some(self.study.first.as_str()));
        let words = self.study.axes.len() + 1;
        let mut grid = Grid { caption: "Throughput".to_owned(), head, words, rows: Vec::new() };
        for line in &self.study.lines {
            grid.row(self.line_key(line), row(&line.line, has_others));
        }
        grid
    }

    fn ratio(&self) -> Option<Figure> {
        let first = &self.study.first;
        let others: Vec<&String> = self.study.schemes.iter().filter(|scheme| *scheme != first).collect();
        let compared = |line: &PointMeasurements| {
            let comparison = line.line.against_first?;
            let interval = (comparison.interval.low, comparison.interval.high);
            Some((comparison.ratio, Some(interval), format!("{:.2} of {first}", comparison.ratio)))
        };
        let ends = self.study.lines.iter().filter_map(compared);
        let ends: Vec<f64> = ends
            .flat_map(|(ratio, interval, _)| {
                [ratio, interval.map_or(ratio, |i| i.0), interval.map_or(ratio, |i| i.1)]
            })
            .collect();
        if ends.is_empty() {
            return None;
        }
        let y =
            Axis::numbers(format!("ratio to {first}"), Scale::log_over(ends.into_iter().chain([1.0])), plain);
        let panels = self.lines(&y, Some(1.0), &others, (&compared, &|_, series| series));
        let mut grid = Grid {
            caption: format!("Throughput against {first}"),
            words: self.study.axes.len() + 1,
            ..Grid::default()
        };
        grid.head = self.names();
        grid.head.extend(
            ["scheme", "ratio", "(interval)", "confidence", "p", "ahead in", "verdict"].map(str::to_owned),
        );
        for line in &self.study.lines {
            let Some(comparison) = line.line.against_first else { continue };
            let mut cells = line.line.point.clone();
            cells.extend([line.line.scheme.clone(), format!("{:.2}", comparison.ratio)]);
            cells.push(ratio_interval(comparison.interval.low, comparison.interval.high));
            cells.push(crate::text::percent(comparison.interval.confidence));
            cells
                .extend([format!("{:.3}", comparison.p_value), crate::text::percent(comparison.superiority)]);
            cells.push(line.line.verdict().map_or("", crate::sweep::verdict_name).to_owned());
            grid.row(self.line_key(line), cells);
        }
        let caption = format!(
            "Above 1: faster than {first}. Each ratio is made of the pairs of a repetition, which answered the same \
             requests \
             one soon after the other; a disturbance slowed both, so ratios are more reliable than throughputs."
        );
        let title = format!("Against {first}");
        let legend = self.legend().into_iter().filter(|(name, _)| name != first).collect();
        Some(Figure {
            id: self.id("ratio"),
            title,
            caption,
            legend,
            legend_keys: Vec::new(),
            panels,
            columns: self.panel().1,
            grid,
        })
    }

    /// Returns the names of the axes.
    pub(super) fn names(&self) -> Vec<String> {
        self.study.axes.iter().map(|axis| axis.name.clone()).collect()
    }

    /// Returns panels of lines along the axis of `across`, one panel for each combination of the other axes; a panel of
    /// rows if nothing varies.
    fn lines(
        &self,
        y: &Axis,
        reference: Option<f64>,
        schemes: &[&String],
        (value, finish): (&Value<'_>, &dyn Fn(usize, Series) -> Series),
    ) -> Vec<Panel> {
        let Some(across) = self.across() else { return self.rows(y, reference, value) };
        let x = self.axis_across(across);
        let panel = |head: &Vec<String>| {
            let series = |scheme: &&String| finish(across, self.series(head, across, scheme, value));
            let series = schemes.iter().map(series).collect();
            let title = self.study.point_in_words(head, &[across]);
            let name = format!("{} by {}: {title}", y.label, x.label);
            let key = self.point_key(head, &[across]);
            let (size, _) = self.panel();
            Lines { title: &title, name: &name, x: &x, y, reference, series, size, key: &key }.panel()
        };
        self.panels_without(&[across]).iter().map(panel).collect()
    }

    pub(super) fn series(&self, head: &[String], across: usize, scheme: &str, value: &Value<'_>) -> Series {
        let axis = &self.study.axes[across];
        let numbers = axis.numbers();
        let mut points = Vec::new();
        for (at, text) in axis.values.iter().enumerate() {
            let mut point = head.to_vec();
            point[across].clone_from(text);
            let measured = self.study.line(&point, scheme).and_then(|line| Some((line, value(line)?)));
            let Some((_, (y, interval, says))) = measured else { continue };
            let x = numbers.as_ref().map_or(at as f64, |numbers| numbers[at]);
            let says = format!("{scheme}, {} = {text}: {says}", axis.name);
            points.push(Point { x, y, interval, key: self.value_key(across, text), says, is_hollow: false });
        }
        points.sort_by(|a, b| a.x.total_cmp(&b.x));
        Series {
            name: scheme.to_owned(),
            look: look(self.study, scheme),
            key: self.scheme_key(scheme),
            points,
        }
    }

    /// Marks the knee of a curve of throughput by the number of workers, if it has one.
    fn with_knee(&self, across: usize, mut series: Series) -> Series {
        let rates: Vec<(f64, f64)> = series.points.iter().map(|point| (point.x, point.y)).collect();
        if let Some(at) = knee(&rates).filter(|_| self.study.axes[across].name == WORKERS) {
            series.points[at].is_hollow = true;
            series.points[at].says += KNEE;
        }
        series
    }

    fn rows(&self, x: &Axis, reference: Option<f64>, value: &Value<'_>) -> Vec<Panel> {
        let row = |line: &PointMeasurements| {
            let (value, interval, says) = value(line)?;
            let (label, key) = (line.line.scheme.clone(), self.line_key(line));
            Some(Row { look: look(self.study, &label), label, value, interval, says, key })
        };
        let rows = self.study.lines.iter().filter_map(row).collect();
        vec![Rows { title: "", name: &x.label, x, reference, rows, width: 640.0, key: "" }.panel()]
    }

    fn latency(
        &self,
        id: &str,
        title: &str,
        of: impl Fn(&Details) -> Option<&LatencyMedians>,
    ) -> Option<Figure> {
        let all = || self.study.lines.iter().filter_map(|line| of(&line.details));
        let highs = all().flat_map(|latency| latency.points().iter().map(|(_, us)| *us));
        let y = Axis::numbers(title.to_lowercase(), Scale::log_over(highs.filter(|us| *us > 0.0)), micros);
        let last = all()
            .flat_map(LatencyMedians::points)
            .map(|(share, _)| nines(*share))
            .fold(nines(0.99), f64::max);
        let labels = [
            (0.5, "50%"),
            (0.9, "90%"),
            (0.99, "99%"),
            (0.999, "99.9%"),
            (0.9999, "99.99%"),
            (0.99999, "99.999%"),
        ];
        let ticks = labels.iter().map(|(share, label)| (nines(*share), (*label).to_owned()));
        let ticks = ticks.filter(|(at, _)| *at <= last + 1e-9).collect();
        let x = Axis { label: "share of transactions".to_owned(), scale: Scale::linear(0.0, last), ticks };
        let panel = |point: &Vec<String>| {
            let series = |scheme: &String| {
                let latency = of(&self.study.line(point, scheme)?.details)?;
                let point = |(share, us): &(f64, f64)| Point {
                    x: nines(*share),
                    y: *us,
                    interval: None,
                    key: String::new(),
                    is_hollow: false,
                    says: if latency.curve.is_empty() {
                        format!("{scheme}: {} for {}", micros(*us), percent(*share))
                    } else {
                        String::new()
                    },
                };
                let points = latency.points().iter().filter(|(_, us)| *us > 0.0).map(point).collect();
                Some(Series {
                    name: scheme.clone(),
                    look: look(self.study, scheme),
                    key: self.scheme_key(scheme),
                    points,
                })
            };
            let series = self.study.schemes.iter().filter_map(series).collect();
            let words = self.study.point_in_words(point, &[]);
            let (name, key) =
                (format!("{title} by share of transactions: {words}"), self.point_key(point, &[]));
            Lines { title: &words, name: &name, x: &x, y: &y, reference: None, series, size: SIZE, key: &key }
                .panel()
        };
        all().next()?;
        let caption = format!(
            "The latency that a share of the transactions did not exceed: medians over the repetitions, or histograms \
             of all \
             repetitions together where they were kept.{}",
            self.left_out(&[])
        );
        let (panels, grid) =
            (self.panels_without(&[]).iter().map(panel).collect(), self.latencies(title, of));
        Some(Figure {
            id: self.id(id),
            title: title.to_owned(),
            caption,
            legend: self.legend(),
            legend_keys: Vec::new(),
            panels,
            columns: 3,
            grid,
        })
    }

    fn latencies(&self, title: &str, of: impl Fn(&Details) -> Option<&LatencyMedians>) -> Grid {
        let mut grid =
            Grid { caption: title.to_owned(), words: self.study.axes.len() + 1, ..Grid::default() };
        grid.head = self.names();
        grid.head.extend(["scheme", "mean", "p50", "p95", "p99", "p99.9", "max"].map(str::to_owned));
        for line in &self.study.lines {
            let Some(latency) = of(&line.details) else { continue };
            let mut cells = line.line.point.clone();
            cells.push(line.line.scheme.clone());
            let quantiles = [0.5, 0.95, 0.99, 0.999].map(|share| latency.quantile(share));
            let all = [latency.mean].into_iter().chain(quantiles).chain([latency.max]);
            cells.extend(all.map(told_us));
            grid.row(self.line_key(line), cells);
        }
        grid
    }

    fn parts(&self, parts: &Parts, of: impl Fn(&Details) -> Vec<(String, f64)>) -> Option<Figure> {
        let of_lines: Vec<Vec<(String, f64)>> =
            self.study.lines.iter().map(|line| of(&line.details)).collect();
        let names = names(&of_lines);
        if names.is_empty() {
            return None;
        }
        let looks: Vec<(String, Look)> =
            names.iter().enumerate().map(|(at, name)| (name.clone(), Look(at))).collect();
        let tops = of_lines.iter().map(|parts| parts.iter().map(|(_, share)| share).sum::<f64>());
        let scale = if parts.is_whole { Scale::linear(0.0, 1.0) } else { Scale::from_zero(tops) };
        let x = Axis::numbers(parts.label, scale, percent);
        let value = |line: usize, name: &str| {
            of_lines[line].iter().find(|(its, _)| its == name).map_or(0.0, |(_, share)| *share)
        };
        let (show, has) = (crate::text::percent, &|_| true);
        let figure = BarFigure { drawn: *self, x: &x, parts: &looks, value: &value, show, has };
        Some(Figure {
            id: self.id(parts.id),
            title: parts.title.to_owned(),
            caption: format!("{}{}", parts.caption, self.left_out(&[])),
            grid: figure.grid(parts.title),
            panels: figure.panels(),
            legend: looks,
            legend_keys: Vec::new(),
            columns: 2,
        })
    }

    fn types(&self) -> Option<Figure> {
        let rates = |line: &PointMeasurements| -> Vec<(String, f64)> {
            line.details.types.iter().map(|of| (of.name.clone(), of.throughput_txn_s)).collect()
        };
        let of_lines: Vec<Vec<(String, f64)>> = self.study.lines.iter().map(rates).collect();
        let names = names(&of_lines);
        if names.len() < 2 {
            return None;
        }
        let looks: Vec<(String, Look)> =
            names.iter().enumerate().map(|(at, name)| (name.clone(), Look(at))).collect();
        let tops = of_lines.iter().map(|parts| parts.iter().map(|(_, rate)| rate).sum::<f64>());
        let x = Axis::numbers("commits a second", Scale::from_zero(tops), si);
        let value = |line: usize, name: &str| {
            of_lines[line].iter().find(|(its, _)| its == name).map_or(0.0, |(_, rate)| *rate)
        };
        let has = &|_| true;
        let figure = BarFigure { drawn: *self, x: &x, parts: &looks, value: &value, show: count, has };
        let mut grid = Grid {
            caption: "Each type of transaction".to_owned(),
            words: self.study.axes.len() + 2,
            ..Grid::default()
        };
        grid.head = self.names();
        grid.head.extend(
            ["scheme", "type", "txn/s", "aborts", "rolled back", "p50", "p99", "max"].map(str::to_owned),
        );
        for line in &self.study.lines {
            for of in &line.details.types {
                let mut cells = line.line.point.clone();
                cells.extend([line.line.scheme.clone(), of.name.clone(), count(of.throughput_txn_s)]);
                cells.extend([of.abort_rate, of.rollback_rate].map(crate::text::percent));
                let latency = of.latency.as_ref();
                cells.extend(
                    [0.5, 0.99].map(|share| told_us(latency.and_then(|latency| latency.quantile(share)))),
                );
                cells.push(told_us(latency.and_then(|latency| latency.max)));
                grid.row(self.line_key(line), cells);
            }
        }
        Some(Figure {
            id: self.id("types"),
            title: "Types of transaction".to_owned(),
            caption: format!("Medians of the repetitions.{}", self.left_out(&[])),
            panels: figure.panels(),
            legend: looks,
            legend_keys: Vec::new(),
            columns: 2,
            grid,
        })
    }
}

/// A value to plot, its interval, and its text.
type Told = (f64, Option<(f64, f64)>, String);

/// The axis on which curves of throughput have knees.
pub(super) const WORKERS: &str = "workers";

/// The ratio of throughputs beyond which a linear axis shows too little of the low ones.
const FAR_APART: f64 = 30.0;

/// Says of a point that it is a knee.
const KNEE: &str = "; a knee: the next number of workers adds little";

/// A function that returns the value to plot for a line; `None` if the line has none.
pub(super) type Value<'v> = dyn Fn(&PointMeasurements) -> Option<Told> + 'v;

/// Returns the median throughput of a line, with its interval and its text.
pub(super) fn throughput_of(line: &PointMeasurements) -> Option<Told> {
    let median = line.line.median()?;
    let interval = line.line.interval.map(|interval| (interval.low, interval.high));
    Some((median, interval, format!("{} txn/s", count(median))))
}

/// Returns the position of a share on an axis on which 0.9, 0.99, 0.999 and so on have equal distances.
fn nines(share: f64) -> f64 {
    -(1.0 - share).max(1e-9).log10()
}

/// Returns microseconds as text.
fn told_us(us: Option<f64>) -> String {
    us.map_or_else(|| "-".to_owned(), |us| duration((us * 1e3) as u64))
}

/// Returns the sorted names of the parts that are greater than 0 in some line.
fn names(of_lines: &[Vec<(String, f64)>]) -> Vec<String> {
    let mut names: Vec<String> =
        of_lines.iter().flatten().filter(|(_, value)| *value > 0.0).map(|(name, _)| name.clone()).collect();
    names.sort_unstable();
    names.dedup();
    names
}

/// A figure with a panel for each point and a bar for each scheme.
pub(super) struct BarFigure<'a> {
    pub(super) drawn: Drawn<'a>,
    pub(super) x: &'a Axis,
    pub(super) parts: &'a [(String, Look)],
    /// Returns the value of a part of the line with this index.
    pub(super) value: &'a dyn Fn(usize, &str) -> f64,
    pub(super) show: fn(f64) -> String,
    /// Whether the line with this index has a bar.
    pub(super) has: &'a dyn Fn(usize) -> bool,
}

impl BarFigure<'_> {
    /// Returns the panels of all points that have a bar.
    pub(super) fn panels(&self) -> Vec<Panel> {
        let study = self.drawn.study;
        let panel = |point: &Vec<String>| {
            let lines = study.lines.iter().enumerate().filter(|(_, line)| line.line.point == *point);
            let lines = lines.filter(|(at, _)| (self.has)(*at));
            let bars: Vec<Bar> = lines.map(|(at, line)| self.bar(at, line)).collect();
            if bars.is_empty() {
                return None;
            }
            let title = study.point_in_words(point, &[]);
            let (name, key) = (format!("{}: {title}", self.x.label), self.drawn.point_key(point, &[]));
            let parts = self.parts;
            Some(Bars { title: &title, name: &name, x: self.x, parts, bars, width: WIDE, key: &key }.panel())
        };
        self.drawn.panels_without(&[]).iter().filter_map(panel).collect()
    }

    fn bar(&self, at: usize, line: &PointMeasurements) -> Bar {
        let scheme = &line.line.scheme;
        let values: Vec<f64> = self.parts.iter().map(|(name, _)| (self.value)(at, name)).collect();
        let says = self.parts.iter().zip(&values);
        let says =
            says.map(|((name, _), value)| format!("{scheme}, {name}: {}", (self.show)(*value))).collect();
        Bar { label: scheme.clone(), says, values, key: self.drawn.scheme_key(scheme) }
    }

    /// Returns the table of the bars.
    pub(super) fn grid(&self, caption: &str) -> Grid {
        let study = self.drawn.study;
        let mut grid = Grid { caption: caption.to_owned(), words: study.axes.len() + 1, ..Grid::default() };
        grid.head = self.drawn.names();
        grid.head.push("scheme".to_owned());
        grid.head.extend(self.parts.iter().map(|(name, _)| name.clone()));
        for (at, line) in study.lines.iter().enumerate().filter(|(at, _)| (self.has)(*at)) {
            let mut cells = line.line.point.clone();
            cells.push(line.line.scheme.clone());
            cells.extend(self.parts.iter().map(|(name, _)| (self.show)((self.value)(at, name))));
            grid.row(self.drawn.line_key(line), cells);
        }
        grid
    }
}
