//! Keys whose width is known only at run time.

/// Goes on with a key as the core takes it: with its word if it has one, else with a key of any width. Under observers
/// that mark values every key is one of any width: what records a history need not be fast, and one form of the core
/// is enough for it.
macro_rules! with_core {
    ($observer:ident, $any:expr, |$key:ident| $body:expr) => {{
        let $key = $any;
        if $observer::MARKS {
            $body
        } else if let ::storage::AnyKey::One($key) = $key {
            $body
        } else {
            $body
        }
    }};
}
pub(crate) use with_core;
