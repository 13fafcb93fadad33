//! Planted bugs: defects that the stepped build can be told to have, one at a time, to prove that the search for
//! defects finds them. In the native build the switches are constant, and the code that depends on them is not
//! compiled.
//!
//! A suite that has never failed proves nothing. Each plant is a slip that an author of its scheme might make: a check
//! left out, a step too early, a stamp too low.

use core::fmt;

pub use crate::backend::is_planted;

/// A planted bug.
#[derive(Debug)]
pub struct Plant {
    /// Its name on the command line.
    pub name: &'static str,
    /// A description of the defect.
    pub says: &'static str,
}

impl fmt::Display for Plant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.name, self.says)
    }
}

/// Declares planted bugs.
#[macro_export]
macro_rules! plants {
    ($($id:ident: $name:literal, $says:literal;)+) => {
        $(
            #[doc = $says]
            pub static $id: $crate::plant::Plant = $crate::plant::Plant { name: $name, says: $says };
        )+
    };
}
