//! A value that borrows from an owner, tied to the owner: both can be kept and moved together, which the borrow
//! checker does not allow of the two by themselves.
//!
//! INVARIANTS
//! (1) The owner stays where it is, and is not changed, while the value lives: it is shared, and the value is dropped
//!     before the share in it.
//! (2) Nobody learns that the value's borrow is declared to last for ever: the code that makes or uses the value does
//!     so for any lifetime.

use std::sync::Arc;

/// A type with a lifetime: the type of a value that borrows from an `O`.
pub trait Borrowing<O: 'static>: 'static {
    /// The type for a borrow of lifetime `'o`.
    type Of<'o>;
}

/// A value, and a share in the owner that it borrows from.
pub struct Tied<O: 'static, B: Borrowing<O>> {
    /// Stands before the owner: fields are dropped in their order, invariant (1).
    value: B::Of<'static>,
    owner: Arc<O>,
}

impl<O: 'static, B: Borrowing<O>> Tied<O, B> {
    /// Makes a value that borrows from the owner.
    pub fn new(owner: Arc<O>, make: impl for<'o> FnOnce(&'o O) -> B::Of<'o>) -> Self {
        let at = Arc::as_ptr(&owner);
        // SAFETY: invariant (1) keeps what is there alive for as long as the value, and invariant (2) keeps everybody
        // from using the borrow any longer.
        let borrowed: &'static O = unsafe { &*at };
        Self { value: make(borrowed), owner }
    }

    /// Lends the value.
    pub fn with<T>(&mut self, borrow: impl for<'o> FnOnce(&mut B::Of<'o>) -> T) -> T {
        borrow(&mut self.value)
    }

    /// The owner.
    pub fn owner(&self) -> &Arc<O> {
        &self.owner
    }
}

impl<O: 'static, B: Borrowing<O>> core::fmt::Debug for Tied<O, B> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("Tied")
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::Latched;

    /// Takes a name off a list, and says on the list when it goes.
    struct Guest<'l> {
        list: &'l Latched<Vec<u32>>,
        name: u32,
    }

    impl Drop for Guest<'_> {
        fn drop(&mut self) {
            self.list.lock().push(self.name);
        }
    }

    enum Guests {}

    impl Borrowing<Latched<Vec<u32>>> for Guests {
        type Of<'l> = Guest<'l>;
    }

    #[test]
    fn a_value_goes_before_its_owner_wherever_both_were_moved() {
        let list = Arc::new(Latched::new(vec![3]));
        let mut tied = Tied::<_, Guests>::new(Arc::clone(&list), |list| Guest {
            list,
            name: list.lock().pop().expect("there is one"),
        });
        assert!(list.lock().is_empty());
        let moved = std::thread::spawn(move || {
            tied.with(|guest| guest.name += 1);
            tied
        });
        let tied = Box::new(moved.join().expect("no panic"));
        assert!(Arc::ptr_eq(tied.owner(), &list));
        let watched = Arc::downgrade(&list);
        drop(list);
        assert!(watched.upgrade().is_some_and(|list| list.lock().is_empty()), "the value keeps its owner");
        drop(tied);
        assert!(watched.upgrade().is_none());
    }
}
