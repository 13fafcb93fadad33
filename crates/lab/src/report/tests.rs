//! Tests of reports as a whole.
