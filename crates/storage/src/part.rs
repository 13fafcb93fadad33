//! Which part of the tables has an address: for people who look at the cache lines of a run.

/// Whether an address is in the memory of a thing.
pub(crate) fn is_in<T: ?Sized>(thing: &T, address: usize) -> bool {
    let start = core::ptr::from_ref(thing).addr();
    (start..start + size_of_val(thing)).contains(&address)
}
