//! Keys whose width is known only at run time.

/// Goes on with the integer of a key whose width is known only now.
macro_rules! with_width {
    ($any:expr, |$key:ident| $body:expr) => {
        match $any {
            ::storage::AnyKey::One($key) => $body,
            ::storage::AnyKey::Two($key) => $body,
            ::storage::AnyKey::Six($key) => $body,
        }
    };
}
pub(crate) use with_width;
