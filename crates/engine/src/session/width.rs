//! Keys whose width is known only at run time.

/// Goes on with a key as the core takes it: with its word if it has one, else with a key of any width. The observer
/// may ask for [keys of any width](crate::Observer::ANY_WIDTH) only.
macro_rules! with_core {
    ($observer:ident, $any:expr, |$key:ident| $body:expr) => {{
        let $key = $any;
        if $observer::ANY_WIDTH {
            $body
        } else if let ::storage::AnyKey::One($key) = $key {
            $body
        } else {
            $body
        }
    }};
}
pub(crate) use with_core;
