//! Tables of the numbers in a plot, also for readers who cannot see the plot.

use maud::{Markup, html};

use super::html::keyed;
use crate::text::Table;

/// A table whose rows have keys, by which a page finds them.
#[derive(Clone, Debug, Default)]
pub(super) struct Grid {
    /// The caption.
    pub(super) caption: String,
    pub(super) head: Vec<String>,
    /// The number of columns, from the left, that hold words; the other columns hold numbers.
    pub(super) words: usize,
    /// The rows: key and cells of each.
    pub(super) rows: Vec<(String, Vec<String>)>,
}

impl Grid {
    pub(super) fn new(caption: impl Into<String>, words: usize, head: &[&str]) -> Self {
        let head = head.iter().map(|&text| text.to_owned()).collect();
        Self { caption: caption.into(), head, words, rows: Vec::new() }
    }

    pub(super) fn row(&mut self, key: impl Into<String>, cells: Vec<String>) {
        self.rows.push((key.into(), cells));
    }

    /// Returns the table as text for a terminal.
    pub(super) fn text(&self) -> String {
        let mut table = Table::default();
        table.row(self.head.clone());
        self.rows.iter().for_each(|(_, cells)| table.row(cells.clone()));
        table.render()
    }

    /// Returns the table as HTML for a page. Rows that do not fit scroll sideways.
    pub(super) fn html(&self) -> Markup {
        let class = |at: usize| (at >= self.words).then_some("n");
        html! {
            div.scroll tabindex="0" role="region" aria-label=(self.caption) {
                table {
                    caption { (self.caption) }
                    thead {
                        tr {
                            @for (at, text) in self.head.iter().enumerate() {
                                th scope="col" class=[class(at)] { (text) }
                            }
                        }
                    }
                    tbody {
                        @for (key, cells) in &self.rows {
                            "\n"
                            tr data-k=[keyed(key)] {
                                @for (at, text) in cells.iter().enumerate() { td class=[class(at)] { (text) } }
                            }
                        }
                    }
                }
            }
            "\n"
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_table_is_told_in_two_ways_with_the_same_texts() {
        let mut grid = Grid::new("a <caption>", 1, &["scheme", "txn/s"]);
        grid.row("0s1", vec!["a&b".to_owned(), "1,000".to_owned()]);
        assert_eq!(grid.text(), "scheme  txn/s\na&b     1,000\n");
        let html = grid.html().into_string();
        assert!(
            html.contains("<tr data-k=\"0s1\"><td>a&amp;b</td><td class=\"n\">1,000</td></tr>"),
            "{html}"
        );
        assert!(html.contains("<caption>a &lt;caption&gt;</caption>"));
    }
}
