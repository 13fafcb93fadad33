//! Scans: ranges of keys, and iterators over the rows in them.

use core::fmt;
use core::ops::{Bound, ControlFlow};
use std::collections::VecDeque;

use engine::{AnyKey, Direction, Which};

use crate::error::{Error, Misuse};
use crate::table::{Handle, Table};
use crate::txn::Reader;
use crate::value::{self, Value};

/// Rows of the first page, and of the largest pages. The first page is small for callers that read a few rows; later
/// pages are large for callers that read many.
pub(crate) const PAGE_ROWS: (usize, usize) = (16, 1_024);

/// A range of keys of an index.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Range {
    pub(crate) which: Which,
    pub(crate) keys: (Bound<AnyKey>, Bound<AnyKey>),
    pub(crate) direction: Direction,
}

impl Range {
    /// Whether the range is certainly empty.
    pub(crate) fn is_empty(&self) -> bool {
        match self.keys {
            (Bound::Unbounded, _) | (_, Bound::Unbounded) => false,
            (Bound::Included(from), Bound::Included(to)) => from > to,
            (Bound::Included(from) | Bound::Excluded(from), Bound::Included(to) | Bound::Excluded(to)) => {
                from >= to
            }
        }
    }

    /// Removes the keys up to and including `last` from the range, in its direction.
    pub(crate) fn cut(&mut self, last: AnyKey) {
        let end = match self.direction {
            Direction::Forward => &mut self.keys.0,
            Direction::Backward => &mut self.keys.1,
        };
        *end = Bound::Excluded(last);
    }

    /// Makes a range of keys from the values of their columns.
    pub(crate) fn of_values(
        bound: &value::Bound,
        index: Option<&str>,
        (from, to): (Bound<&[Value]>, Bound<&[Value]>),
        direction: Direction,
    ) -> Result<Self, Misuse> {
        let index = index.map(|name| bound.index(name)).transpose()?;
        // A secondary key is followed by a primary key: the least one for a bound before all its rows, the greatest one
        // for a bound after them.
        let key = |values: &[Value], rest: u8| match index {
            None => bound.key(values),
            Some(index) => {
                let mut bytes = bound.index_key(index, values)?;
                bytes.resize(bytes.len() + bound.arranged.key_bytes, rest);
                Ok(AnyKey::from_bytes(&bytes))
            }
        };
        let end = |end: Bound<&[Value]>, included: u8, excluded: u8| {
            Ok(match end {
                Bound::Included(values) => Bound::Included(key(values, included)?),
                Bound::Excluded(values) => Bound::Excluded(key(values, excluded)?),
                Bound::Unbounded => Bound::Unbounded,
            })
        };
        let keys = (end(from, 0, u8::MAX)?, end(to, u8::MAX, 0)?);
        let secondary = |position: usize| Which::Secondary { group: 0, position: position as u16 };
        Ok(Self { which: index.map_or(Which::Primary, secondary), keys, direction })
    }
}

/// An iterator over the rows of a range: see [`Reader::scan`]. After an error, which is passed on with `?`, it ends.
#[must_use = "rows are read when they are asked for"]
pub struct Scan<'r, 't, T> {
    reader: &'r mut Reader<'t>,
    table: Handle<T>,
    range: Range,
    page: VecDeque<T>,
    page_rows: usize,
    is_over: bool,
}

impl<'r, 't, T: Table> Scan<'r, 't, T> {
    pub(crate) fn new(reader: &'r mut Reader<'t>, table: Handle<T>, range: Range) -> Self {
        Self { reader, table, range, page: VecDeque::new(), page_rows: PAGE_ROWS.0, is_over: false }
    }

    /// Reverses the scan: rows come from the last to the first. It must be called before the first row is read.
    pub fn backward(mut self) -> Self {
        self.range.direction = Direction::Backward;
        self
    }

    /// Reads the next page.
    fn turn(&mut self) -> Result<(), Error> {
        let (page, page_rows) = (&mut self.page, self.page_rows);
        let mut last = None;
        self.reader.walk(self.table, self.range, &mut |key, row| {
            page.push_back(row);
            last = Some(key);
            if page.len() < page_rows { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        })?;
        self.is_over = self.page.len() < page_rows;
        if let Some(last) = last {
            self.range.cut(last);
        }
        self.page_rows = (2 * page_rows).min(PAGE_ROWS.1);
        Ok(())
    }
}

impl<T: Table> Iterator for Scan<'_, '_, T> {
    type Item = Result<T, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.page.is_empty()
            && !self.is_over
            && let Err(error) = self.turn()
        {
            self.is_over = true;
            self.page.clear();
            return Some(Err(error));
        }
        self.page.pop_front().map(Ok)
    }
}

impl<T: Table> core::iter::FusedIterator for Scan<'_, '_, T> {}

impl<T> fmt::Debug for Scan<'_, '_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Scan({:?})", self.table)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_whose_first_key_comes_after_its_last_is_empty() {
        let (low, high) = (AnyKey::One(3), AnyKey::One(4));
        let is_empty = |keys| Range { which: Which::Primary, keys, direction: Direction::Forward }.is_empty();
        assert!(!is_empty((Bound::Included(low), Bound::Included(low))));
        assert!(is_empty((Bound::Included(low), Bound::Excluded(low))));
        assert!(is_empty((Bound::Excluded(low), Bound::Included(low))));
        assert!(is_empty((Bound::Included(high), Bound::Included(low))));
        assert!(!is_empty((Bound::Excluded(low), Bound::Excluded(high))));
        assert!(!is_empty((Bound::Included(high), Bound::Unbounded)));
    }

    #[test]
    fn what_is_left_after_a_key_lies_behind_it() {
        let mut range = Range {
            which: Which::Primary,
            keys: (Bound::Unbounded, Bound::Unbounded),
            direction: Direction::Forward,
        };
        range.cut(AnyKey::One(3));
        range.direction = Direction::Backward;
        range.cut(AnyKey::One(9));
        assert_eq!(range.keys, (Bound::Excluded(AnyKey::One(3)), Bound::Excluded(AnyKey::One(9))));
    }
}
