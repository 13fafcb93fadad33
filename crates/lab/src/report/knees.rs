//! The knees of schemes by the number of workers, with what takes the time of the cores that help little.

use results::Run;

use super::figures::{Drawn, WORKERS};
use super::grid::Grid;
use crate::knees::{Knee, rate};

/// Returns the table of the knees: one row for each scheme that has one, at each point of the other axes. It is empty
/// if the number of workers is no axis of the study.
pub(super) fn grid(drawn: Drawn<'_>) -> Grid {
    let study = drawn.study;
    let Some(workers) = study.axes.iter().position(|axis| axis.name == WORKERS) else {
        return Grid::default();
    };
    let others: Vec<usize> = (0..study.axes.len()).filter(|at| *at != workers).collect();
    let mut grid = Grid { caption: Knee::DEFINITION.to_owned(), words: others.len() + 1, ..Grid::default() };
    grid.head = others.iter().map(|at| study.axes[*at].name.clone()).collect();
    grid.head.push("scheme".to_owned());
    grid.head.extend(Knee::HEADS.map(str::to_owned));
    for point in &drawn.points_without(&[workers]) {
        for scheme in &study.schemes {
            let Some(knee) = Knee::of(medians(drawn, scheme, point, workers)) else { continue };
            let mut cells: Vec<String> = others.iter().map(|at| point[*at].clone()).collect();
            cells.push(scheme.clone());
            cells.extend(knee.cells());
            let keys = [drawn.scheme_key(scheme), drawn.point_key(point, &[workers])];
            grid.row(keys.join(" ").trim_end(), cells);
        }
    }
    grid
}

/// Returns the runs of a scheme at a point: for each number of workers the repetition with the median throughput, of
/// two in the middle the slower one.
fn medians<'s>(drawn: Drawn<'s>, scheme: &str, point: &[String], workers: usize) -> Vec<&'s Run> {
    let study = drawn.study;
    let is_at = |run: &&Run| {
        let mut axes = study.axes.iter().zip(point).enumerate().filter(|(at, _)| *at != workers);
        run.choices.scheme == scheme
            && axes.all(|(_, (axis, value))| {
                axis.places(study.catalogue, run).iter().any(|place| axis.values[*place] == *value)
            })
    };
    let mut runs: Vec<(u64, f64, &Run)> = study
        .runs
        .iter()
        .filter(is_at)
        .filter_map(|run| Some((run.choices.workers, rate(run)?, run)))
        .collect();
    runs.sort_by(|(a, a_rate, _), (b, b_rate, _)| a.cmp(b).then(a_rate.total_cmp(b_rate)));
    let by_workers = runs.chunk_by(|(a, ..), (b, ..)| a == b);
    by_workers.map(|repetitions| repetitions[(repetitions.len() - 1) / 2].2).collect()
}
