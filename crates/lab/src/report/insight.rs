//! Figures of a transaction's way: its retries, its time in the stages of its scheme, and a batch that the scheme has
//! put in order.

use plot::{ArcEdge, ArcNode, Arcs, Axis, Look, Panel, Scale, micros, percent};
use results::{BatchPicture, Retries};

use super::figures::{BarFigure, Drawn, Figure};
use super::grid::Grid;
use super::study::PointMeasurements;
use crate::text::{duration, plural};

/// The numbers of retries that are told apart: the names of the parts of a bar, with the greatest number in each.
const TIMES: [(&str, u64); 6] =
    [("no retry", 0), ("1", 1), ("2", 2), ("3 to 7", 7), ("8 to 31", 31), ("32 or more", u64::MAX)];

/// The most batches that are drawn, and the most transactions of a batch: nobody could read more.
const BATCHES_MAX: usize = 4;
const SIZE_MAX: usize = 200;
/// Width of a drawing of a batch.
const WIDE: f64 = 1_000.0;
/// The looks of a transaction that stays in the batch, and of a victim.
const STAYS: Look = Look(0);
const VICTIM: Look = Look(1);

/// Returns the figure of retries; `None` if no committed transaction had any.
pub(super) fn retries(drawn: Drawn<'_>) -> Option<Figure> {
    let lines = &drawn.study.lines;
    let of = |line: &PointMeasurements| line.details.retries.clone();
    if !lines.iter().filter_map(of).any(|retries| retries.max > 0) {
        return None;
    }
    let looks: Vec<(String, Look)> =
        TIMES.iter().enumerate().map(|(at, (name, _))| ((*name).to_owned(), Look(at))).collect();
    let shares: Vec<[f64; TIMES.len()]> =
        lines.iter().map(|line| of(line).map_or([0.0; TIMES.len()], |of| shares(&of))).collect();
    let value = |line: usize, name: &str| {
        TIMES.iter().position(|(its, _)| *its == name).map_or(0.0, |at| shares[line][at])
    };
    let x = Axis::numbers("share of the transactions that committed", Scale::linear(0.0, 1.0), percent);
    let has = |line: usize| lines[line].details.retries.is_some();
    let show = crate::text::percent;
    let figure = BarFigure { drawn, x: &x, parts: &looks, value: &value, show, has: &has };
    let mut grid = table(drawn, "Retries of a transaction", &["no retry", "mean", "p50", "p99", "max"]);
    for (line, shares) in lines.iter().zip(&shares) {
        let Some(of) = of(line) else { continue };
        let mut cells = line.line.point.clone();
        cells.extend([line.line.scheme.clone(), show(shares[0]), format!("{:.2}", of.mean)]);
        cells.extend([of.p50, of.p99, of.max].map(|retries| retries.to_string()));
        grid.row(drawn.line_key(line), cells);
    }
    let caption = format!(
        "How often the scheme aborted a transaction before it committed, in all repetitions together. Transactions \
         that never committed are not counted.{}",
        drawn.left_out(&[])
    );
    Some(Figure {
        id: drawn.id("retries"),
        title: "Retries of a transaction".to_owned(),
        caption,
        panels: figure.panels(),
        legend: looks,
        legend_keys: Vec::new(),
        columns: 2,
        grid,
    })
}

/// Returns the shares of transactions by their numbers of retries.
fn shares(of: &Retries) -> [f64; TIMES.len()] {
    let mut counts = [0_u64; TIMES.len()];
    for (retries, count) in &of.buckets {
        let at = TIMES.iter().position(|(_, most)| retries <= most).expect("the last part has no end");
        counts[at] += count;
    }
    let all: u64 = counts.iter().sum();
    counts.map(|count| count as f64 / all.max(1) as f64)
}

/// Returns the figure of stages; `None` if no scheme tells its stages.
pub(super) fn stages(drawn: Drawn<'_>) -> Option<Figure> {
    let lines = &drawn.study.lines;
    let mut names: Vec<&String> = Vec::new();
    for (name, us) in lines.iter().flat_map(|line| &line.details.stages) {
        if *us > 0.0 && !names.contains(&name) {
            names.push(name);
        }
    }
    if names.is_empty() {
        return None;
    }
    let looks: Vec<(String, Look)> =
        names.iter().enumerate().map(|(at, name)| ((*name).clone(), Look(at))).collect();
    let tops = lines.iter().map(|line| line.details.stages.iter().map(|(_, us)| us).sum::<f64>());
    let x = Axis::numbers("mean time of a transaction", Scale::from_zero(tops), micros);
    let value = |line: usize, name: &str| {
        let stage = lines[line].details.stages.iter().find(|(its, _)| its == name);
        stage.map_or(0.0, |(_, us)| *us)
    };
    let has = |line: usize| !lines[line].details.stages.is_empty();
    let show = |us: f64| duration((us * 1e3) as u64);
    let figure = BarFigure { drawn, x: &x, parts: &looks, value: &value, show, has: &has };
    let title = "Where the time goes by stage";
    let caption = format!(
        "The mean time of a sampled transaction in each stage of its scheme, all its attempts and the pauses between \
         them included. Only schemes that tell their stages are shown; `run.sample_every` says how often a \
         transaction is sampled.{}",
        drawn.left_out(&[])
    );
    Some(Figure {
        id: drawn.id("stages"),
        title: title.to_owned(),
        caption,
        grid: figure.grid(title),
        panels: figure.panels(),
        legend: looks,
        legend_keys: Vec::new(),
        columns: 2,
    })
}

/// Returns the figure of batches that were put in order; `None` if there are none.
pub(super) fn batches(drawn: Drawn<'_>) -> Option<Figure> {
    let batch = |line: &PointMeasurements| {
        let batch = line.details.batch.as_ref()?;
        (batch.is_sound() && !batch.is_empty() && batch.len() <= SIZE_MAX).then(|| batch.clone())
    };
    let found = drawn.study.lines.iter().filter_map(|line| Some((line, batch(line)?)));
    let found: Vec<(&PointMeasurements, BatchPicture)> = found.collect();
    if found.is_empty() {
        return None;
    }
    let head = ["transaction", "retries", "must come after", "must come before", "place"];
    let mut grid = table(drawn, "The transactions of a batch", &head);
    let mut panels = Vec::new();
    for (line, batch) in found.iter().take(BATCHES_MAX) {
        let point = drawn.study.point_in_words(&line.line.point, &[]);
        let of = [line.line.scheme.as_str(), point.as_str()];
        let of = of.iter().filter(|text| !text.is_empty()).copied().collect::<Vec<_>>().join(", ");
        let key = drawn.line_key(line);
        panels.extend([before(batch, &of, &key), after(batch, &of, &key)]);
        for at in 0..batch.len() as u32 {
            let mut cells = line.line.point.clone();
            cells.push(line.line.scheme.clone());
            cells.extend(told(batch, at));
            grid.row(key.clone(), cells);
        }
    }
    let left_out = if found.len() > BATCHES_MAX {
        format!(" The first {BATCHES_MAX} of {} batches are drawn.", found.len())
    } else {
        String::new()
    };
    let caption = format!(
        "Of each scheme that puts batches in order, a batch before and after: the first of the largest that had \
         victims, among those with a sampled transaction. A mark is a transaction, with the number of its arrival. An \
         arc leads from a transaction to one that must commit later: above the line to the right, below the line to \
         the left. Victims abort, and are tried again. Without them the others have an order in which no arc is below \
         the line.{left_out}"
    );
    Some(Figure {
        id: drawn.id("batch"),
        title: "A batch before and after".to_owned(),
        caption,
        legend: vec![
            ("stays, with its arcs".to_owned(), STAYS),
            ("victim, with its arcs".to_owned(), VICTIM),
        ],
        legend_keys: Vec::new(),
        panels,
        columns: 1,
        grid,
    })
}

/// Returns the cells of a transaction: its number, its retries, its edges and its place.
fn told(batch: &BatchPicture, at: u32) -> [String; 5] {
    let edges =
        |is: &dyn Fn(&(u32, u32)) -> bool| batch.edges.iter().filter(|edge| is(edge)).count().to_string();
    let place = batch.order.iter().position(|its| *its == at);
    [
        number(at),
        batch.retries[at as usize].to_string(),
        edges(&|(_, to)| *to == at),
        edges(&|(from, _)| *from == at),
        place.map_or_else(|| "victim".to_owned(), |place| (place + 1).to_string()),
    ]
}

/// Returns the number of a transaction for readers, who count from 1.
fn number(at: u32) -> String {
    (at + 1).to_string()
}

/// Draws all transactions of a batch as they arrived.
fn before(batch: &BatchPicture, of: &str, key: &str) -> Panel {
    let all: Vec<u32> = (0..batch.len() as u32).collect();
    let how = match batch.stale {
        0 => "in the order of arrival".to_owned(),
        stale => format!("in the order of arrival, without {stale} that had seen an old state"),
    };
    draw(batch, &all, (of, "before", &how), key)
}

/// Draws the transactions that stay in a batch, in their order.
fn after(batch: &BatchPicture, of: &str, key: &str) -> Panel {
    draw(batch, &batch.order, (of, "after", "without victims, in the order of commit"), key)
}

/// Draws these transactions of a batch from the left to the right, and the edges between them.
fn draw(batch: &BatchPicture, shown: &[u32], (of, when, how): (&str, &str, &str), key: &str) -> Panel {
    let mut places = vec![None; batch.len()];
    shown.iter().enumerate().for_each(|(place, at)| places[*at as usize] = Some(place));
    let is_victim = |at: u32| batch.victims.contains(&at);
    let edge = |&(from, to): &(u32, u32)| {
        let look = if is_victim(from) || is_victim(to) { VICTIM } else { STAYS };
        Some(ArcEdge { from: places[from as usize]?, to: places[to as usize]?, look })
    };
    let edges: Vec<ArcEdge> = batch.edges.iter().filter_map(edge).collect();
    let node = |&at: &u32| {
        let [name, retries, after, before, place] = told(batch, at);
        let place = if is_victim(at) { place } else { format!("place {place}") };
        let says = format!(
            "transaction {name}: {place}, {retries} retries so far, must come after {after} and before {before} of \
             the batch"
        );
        ArcNode { label: name, says, look: if is_victim(at) { VICTIM } else { STAYS } }
    };
    let backward = edges.iter().filter(|edge| edge.to < edge.from).count();
    let counts = format!(
        "{}, {}, {backward} of them to the left",
        plural(shown.len(), "transaction"),
        plural(edges.len(), "arc")
    );
    let victims = shown.iter().filter(|at| is_victim(**at)).count();
    let says = format!("{of}, {when}: {counts}; {}.", plural(victims, "victim"));
    let (title, name) = (format!("{of}, {when}: {how}"), format!("The graph of a batch, {how}: {of}"));
    let nodes = shown.iter().map(node).collect();
    Arcs { title: &title, name: &name, says: &says, nodes, edges, width: WIDE, key }.panel()
}

/// Returns an empty table with these columns beside the point and the scheme.
fn table(drawn: Drawn<'_>, caption: &str, columns: &[&str]) -> Grid {
    let mut grid = Grid { caption: caption.to_owned(), words: drawn.study.axes.len() + 1, ..Grid::default() };
    grid.head = drawn.names();
    grid.head.push("scheme".to_owned());
    grid.head.extend(columns.iter().map(|&name| name.to_owned()));
    grid
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two transactions in each other's way, and one that reads what the first writes.
    fn batch() -> BatchPicture {
        BatchPicture {
            stale: 7,
            retries: vec![0, 3, 1],
            edges: vec![(0, 1), (1, 0), (2, 0)],
            victims: vec![1],
            order: vec![2, 0],
        }
    }

    fn arcs(panel: &Panel, class: &str) -> usize {
        panel.body.matches(&format!("class=\"arc {class}")).count()
    }

    #[test]
    fn a_cycle_has_an_arc_to_the_left_and_an_order_has_none() {
        let [before, after] = [before(&batch(), "x", ""), after(&batch(), "x", "")];
        assert_eq!((arcs(&before, "fore"), arcs(&before, "back")), (1, 2));
        assert_eq!((arcs(&after, "fore"), arcs(&after, "back")), (1, 0));
        assert!(
            before.body.contains("3 transactions, 3 arcs, 2 of them to the left; 1 victim."),
            "{}",
            before.body
        );
        assert!(
            after.body.contains("2 transactions, 1 arc, 0 of them to the left; 0 victims."),
            "{}",
            after.body
        );
        let wrong = BatchPicture { order: vec![0, 2], ..batch() };
        assert_eq!(arcs(&super::after(&wrong, "x", ""), "back"), 1, "an order that is wrong is seen");
    }

    #[test]
    fn victims_and_their_arcs_are_marked_and_gone_in_the_end() {
        let [before, after] = [before(&batch(), "x", ""), after(&batch(), "x", "")];
        let marked = |panel: &Panel, class: &str| panel.body.matches(class).count();
        assert_eq!((marked(&before, "\"mk s1\""), marked(&after, "\"mk s1\"")), (1, 0));
        assert_eq!((marked(&before, " s1\" d=\"M"), marked(&after, " s1\" d=\"M")), (2 + 1, 0));
        assert!(
            before.body.contains("transaction 2: victim, 3 retries so far, must come after 1 and before 1")
        );
        assert_eq!(told(&batch(), 2), ["3", "1", "0", "1", "1"].map(str::to_owned));
    }

    #[test]
    fn shares_of_retries_add_up() {
        let buckets = vec![(0, 50), (1, 20), (3, 10), (7, 10), (8, 5), (40, 5)];
        let shares = shares(&Retries { buckets, ..Retries::default() });
        let percent = shares.map(|share| (share * 100.0).round() as u64);
        assert_eq!(percent, [50, 20, 0, 20, 5, 5]);
    }
}
