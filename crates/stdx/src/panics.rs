//! Messages of panics.

use std::any::Any;

/// The message of a panic; `None` if the panic has no text.
pub fn message(panic: &(dyn Any + Send)) -> Option<String> {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned())
}

#[cfg(test)]
mod tests {
    use std::panic::{catch_unwind, panic_any};

    use super::*;

    #[test]
    fn texts_of_both_kinds_are_told_and_other_panics_have_none() {
        let told = |body: fn()| message(&*catch_unwind(body).expect_err("it panics"));
        assert_eq!(told(|| panic!("planted")).as_deref(), Some("planted"));
        assert_eq!(told(|| panic!("planted {}", 7)).as_deref(), Some("planted 7"));
        assert_eq!(told(|| panic_any(7_u64)), None);
    }
}
