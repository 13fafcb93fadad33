//! Graphs for the tests of this crate.

use stdx::Rng;

use crate::graph::BatchGraph;

/// A graph with edges at random: `degree` outgoing ones of each transaction on average. In half of the graphs some
/// edges lead there and back, as transactions that read and write a key have them.
pub(crate) fn random_graph(seed: u64, len: usize, degree: f64) -> BatchGraph {
    let mut rng = Rng::from_path(&[seed, len as u64]);
    let percent = 100.0 * degree / (len as f64).max(1.0);
    let has_pairs = rng.percent(50.0);
    let mut edges = Vec::new();
    for from in 0..len as u32 {
        for to in 0..len as u32 {
            if rng.percent(percent) {
                edges.push((from, to));
                if has_pairs && rng.percent(50.0) {
                    edges.push((to, from));
                }
            }
        }
    }
    BatchGraph::from_edges(len, edges).expect("all edges are within the batch")
}
