//! Arcs: a directed graph with its nodes on a line. An edge that goes to the right is an arc above the line, an edge
//! that goes to the left an arc below it. So a reader sees at once whether an order respects all edges: if it does,
//! nothing is below the line.

use crate::frame::line;
use crate::svg::{Element, head, short, title, width};
use crate::{Look, Panel};

/// A plot of a graph.
#[derive(Clone, Debug)]
pub struct Arcs<'a> {
    /// The title above the plot.
    pub title: &'a str,
    /// A name of the plot for screen readers.
    pub name: &'a str,
    /// A description of the plot for screen readers, in sentences.
    pub says: &'a str,
    /// The nodes, from the left.
    pub nodes: Vec<ArcNode>,
    /// The edges. An edge of a node that does not exist, or from a node to itself, is not drawn.
    pub edges: Vec<ArcEdge>,
    /// Width in pixels.
    pub width: f64,
    /// The key by which a page finds the element.
    pub key: &'a str,
}

/// A node of a graph.
#[derive(Clone, Debug)]
pub struct ArcNode {
    /// The name of the node, which is short.
    pub label: String,
    /// The tooltip of the node.
    pub says: String,
    /// The look of its marker.
    pub look: Look,
}

/// An edge of a graph.
#[derive(Clone, Copy, Debug)]
pub struct ArcEdge {
    /// The place of the node at which the edge begins, from 0 at the left.
    pub from: usize,
    /// The place of the node at which the edge ends.
    pub to: usize,
    /// The look of the arc.
    pub look: Look,
}

/// Height of the longest arc, in pixels.
const HIGH: f64 = 170.0;
/// The least distance of nodes at which their names stand upright, and font size of these names.
const UPRIGHT: f64 = 13.5;
const SMALL: f64 = 8.5;
/// Height of the line with markers and names.
const BAND: f64 = 27.0;
/// Room at the left and at the right of the outermost nodes.
const SIDE: f64 = 14.0;

impl Arcs<'_> {
    /// Draws the plot.
    pub fn panel(&self) -> Panel {
        let (titled, high) = head(self.title, self.width - 8.0);
        let mut body =
            if self.says.is_empty() { String::new() } else { Element::new("desc").saying(self.says) };
        body += &titled;
        let drawn = self.edges.iter().filter(|edge| edge.from.max(edge.to) < self.nodes.len());
        let (forward, backward): (Vec<&ArcEdge>, Vec<&ArcEdge>) =
            drawn.filter(|edge| edge.from != edge.to).partition(|edge| edge.from < edge.to);
        let highest = |edges: &[&ArcEdge]| edges.iter().map(|edge| self.height(edge)).fold(0.0, f64::max);
        let above = high + 8.0 + highest(&forward);
        let below = above + BAND;
        body += &line("axis", (2.0, above + 5.0), (self.width - 2.0, above + 5.0));
        for edge in &forward {
            body += &self.arc(edge, above, "arc fore");
        }
        for edge in &backward {
            body += &self.arc(edge, below, "arc back");
        }
        for (at, node) in self.nodes.iter().enumerate() {
            body += &self.node(at, node, above);
        }
        let (name, key) = (self.name.to_owned(), self.key.to_owned());
        Panel { name, width: self.width, height: below + highest(&backward) + 6.0, key, body }
    }

    /// The distance of two nodes beside each other.
    fn pitch(&self) -> f64 {
        (self.width - 2.0 * SIDE) / self.nodes.len().saturating_sub(1).max(1) as f64
    }

    fn x(&self, at: usize) -> f64 {
        if self.nodes.len() == 1 { self.width / 2.0 } else { SIDE + self.pitch() * at as f64 }
    }

    /// The height of an arc. It grows more slowly than the length, so that short arcs are visible beside long ones.
    fn height(&self, edge: &ArcEdge) -> f64 {
        let longest = self.nodes.len().saturating_sub(1).max(1) as f64;
        HIGH * (edge.from.abs_diff(edge.to) as f64 / longest).sqrt()
    }

    /// Draws an arc from the height `y`. Clockwise, an arc to the right is above, and an arc to the left below.
    fn arc(&self, edge: &ArcEdge, y: f64, class: &str) -> String {
        let (from, to) = (self.x(edge.from), self.x(edge.to));
        let radii = [(to - from).abs() / 2.0, self.height(edge)].map(short).join(" ");
        let path = format!("M{0} {2}A{radii} 0 0 1 {1} {2}", short(from), short(to), short(y));
        let arc = Element::new("path").set("class", format!("{class} {}", edge.look.class())).set("d", path);
        let dash = edge.look.dash();
        if dash.is_empty() { arc.empty() } else { arc.set("stroke-dasharray", dash).empty() }
    }

    /// Draws the marker and the name of a node below the height `y`.
    fn node(&self, at: usize, node: &ArcNode, y: f64) -> String {
        let x = self.x(at);
        let marker = node.look.marker(x, y + 5.0, (self.pitch() * 0.4).min(4.6));
        let text = Element::new("text").set("class", "tiny num");
        let room = width(&node.label, SMALL) + 2.0;
        let text = if self.pitch() >= room.max(UPRIGHT) {
            text.at("x", x).at("y", y + 20.0).set("text-anchor", "middle")
        } else {
            let place = [x + 3.0, y + 12.0].map(short);
            text.set("transform", format!("translate({}) rotate(-90)", place.join(" ")))
                .set("text-anchor", "end")
        };
        marker.holding(&title(&node.says)) + &text.saying(&node.label)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arcs<'a>(len: usize, edges: &[(usize, usize)]) -> Arcs<'a> {
        let node =
            |at: usize| ArcNode { label: (at + 1).to_string(), says: format!("node <{at}>"), look: Look(0) };
        let edges = edges.iter().map(|&(from, to)| ArcEdge { from, to, look: Look(1) }).collect();
        Arcs {
            title: "t",
            name: "n",
            says: "",
            nodes: (0..len).map(node).collect(),
            edges,
            width: 900.0,
            key: "",
        }
    }

    fn count(panel: &Panel, class: &str) -> usize {
        panel.body.matches(&format!("class=\"arc {class}")).count()
    }

    #[test]
    fn edges_to_the_left_are_below_and_need_room_there() {
        let both = arcs(3, &[(0, 1), (0, 2), (2, 0)]).panel();
        assert_eq!((count(&both, "fore"), count(&both, "back")), (2, 1));
        let forward = arcs(3, &[(0, 1), (0, 2)]).panel();
        assert_eq!((count(&forward, "fore"), count(&forward, "back")), (2, 0));
        assert!((both.height - forward.height - HIGH).abs() < 1e-9, "the longest arc is below, too");
    }

    #[test]
    fn an_arc_begins_and_ends_at_its_nodes() {
        let panel = arcs(2, &[(1, 0)]).panel();
        assert!(panel.body.contains("d=\"M886 "), "{}", panel.body);
        assert!(panel.body.contains(" 0 0 1 14 "), "{}", panel.body);
    }

    #[test]
    fn edges_that_lead_nowhere_are_left_out() {
        let panel = arcs(2, &[(0, 2), (7, 0), (1, 1)]).panel();
        assert_eq!((count(&panel, "fore"), count(&panel, "back")), (0, 0));
        assert!(
            arcs(0, &[(0, 1)]).panel().height > 0.0 && arcs(1, &[]).panel().body.contains("node &lt;0&gt;")
        );
    }

    #[test]
    fn names_stand_upright_until_they_are_too_close() {
        let turned = |len| arcs(len, &[]).panel().body.matches("rotate(-90)").count();
        assert_eq!((turned(40), turned(100)), (0, 100));
    }

    #[test]
    fn a_description_comes_first() {
        let panel = Arcs { says: "3 nodes & no edge.", ..arcs(3, &[]) }.panel();
        assert!(panel.body.starts_with("<desc>3 nodes &amp; no edge.</desc>"), "{}", panel.body);
    }
}
