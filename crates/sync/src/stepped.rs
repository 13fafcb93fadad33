//! The stepped back end: every access to a shared word first asks the scheduler who runs next.
//!
//! All workers share one thread, so the orderings are not at work here: every interleaving of the
//! steps is sequentially consistent. Missing orderings are the business of the loom models.

use crate::hook::{self, Access};

/// The atomics of the native back end, each access a step.
pub mod atomic {
    use core::sync::atomic as real;
    pub use core::sync::atomic::Ordering;

    use crate::hook::{self, Access, step};

    /// A fence, as a step.
    #[inline]
    pub fn fence(order: Ordering) {
        hook::pass(Access::Fence);
        // SeqCst: pairs with nothing here; on the machine it costs time.
        if order == Ordering::SeqCst {
            hook::drain();
        }
        real::fence(order);
    }

    macro_rules! methods {
        ($value:ty: $($(#[$doc:meta])* $name:ident)*) => {$(
            $(#[$doc])*
            #[inline]
            pub fn $name(&self, value: $value, order: Ordering) -> $value {
                step(Access::Update, self.address());
                self.0.$name(value, order)
            }
        )*};
    }

    macro_rules! wrapper {
        ([$($generics:tt)*] $name:ident of $value:ty, $($method:tt)*) => {
            /// As in `core`, each access a step of the schedule.
            #[repr(transparent)]
            pub struct $name $($generics)* (real::$name $($generics)*);

            impl $($generics)* $name $($generics)* {
                /// As in `core`.
                #[inline]
                pub const fn new(value: $value) -> Self {
                    Self(real::$name::new(value))
                }

                /// As in `core`; no step, for nobody else can look.
                #[inline]
                pub fn get_mut(&mut self) -> &mut $value {
                    self.0.get_mut()
                }

                /// As in `core`; no step, for nobody else can look.
                #[inline]
                pub fn into_inner(self) -> $value {
                    self.0.into_inner()
                }

                /// As in `core`.
                #[inline]
                pub fn load(&self, order: Ordering) -> $value {
                    step(Access::Load, self.address());
                    self.0.load(order)
                }

                /// As in `core`.
                #[inline]
                pub fn store(&self, value: $value, order: Ordering) {
                    step(Access::Store, self.address());
                    // SeqCst: pairs with nothing here; on the machine it costs time.
                    if order == Ordering::SeqCst {
                        hook::drain();
                    }
                    self.0.store(value, order);
                }

                /// The word's address, as a number.
                #[inline]
                fn address(&self) -> usize {
                    core::ptr::from_ref(self).addr()
                }

                /// As in `core`.
                #[inline]
                pub fn compare_exchange(
                    &self,
                    current: $value,
                    new: $value,
                    success: Ordering,
                    failure: Ordering,
                ) -> Result<$value, $value> {
                    step(Access::Update, self.address());
                    self.0.compare_exchange(current, new, success, failure)
                }

                /// As in `core`, but never fails without a cause.
                #[inline]
                pub fn compare_exchange_weak(
                    &self,
                    current: $value,
                    new: $value,
                    success: Ordering,
                    failure: Ordering,
                ) -> Result<$value, $value> {
                    self.compare_exchange(current, new, success, failure)
                }

                /// As in `core`: a load and an exchange, between which other workers may come.
                #[inline]
                pub fn fetch_update(
                    &self,
                    set_order: Ordering,
                    fetch_order: Ordering,
                    mut f: impl FnMut($value) -> Option<$value>,
                ) -> Result<$value, $value> {
                    let mut seen = self.load(fetch_order);
                    while let Some(new) = f(seen) {
                        match self.compare_exchange(seen, new, set_order, fetch_order) {
                            Ok(old) => return Ok(old),
                            Err(old) => seen = old,
                        }
                    }
                    Err(seen)
                }

                methods! { $value: /** As in `core`. */ swap $($method)* }
            }

            impl $($generics)* Default for $name $($generics)* {
                fn default() -> Self {
                    Self(real::$name::default())
                }
            }

            impl $($generics)* core::fmt::Debug for $name $($generics)* {
                fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                    self.0.fmt(f)
                }
            }
        };
    }

    macro_rules! integers {
        ($($name:ident of $value:ty,)*) => {$(
            wrapper! { [] $name of $value,
                /** As in `core`. */ fetch_add
                /** As in `core`. */ fetch_sub
                /** As in `core`. */ fetch_and
                /** As in `core`. */ fetch_or
                /** As in `core`. */ fetch_xor
                /** As in `core`. */ fetch_max
                /** As in `core`. */ fetch_min
            }
        )*};
    }

    integers! {
        AtomicU8 of u8,
        AtomicU16 of u16,
        AtomicU32 of u32,
        AtomicU64 of u64,
        AtomicUsize of usize,
    }

    impl AtomicU64 {
        /// Loads the word without a step.
        #[inline]
        pub(crate) fn peek(&self) -> u64 {
            // Relaxed: all workers share one thread.
            self.0.load(Ordering::Relaxed)
        }

        /// Stores the word without a step.
        #[inline]
        pub(crate) fn poke(&self, value: u64) {
            // Relaxed: as in `peek`.
            self.0.store(value, Ordering::Relaxed);
        }
    }

    wrapper! { [] AtomicBool of bool,
        /** As in `core`. */ fetch_and
        /** As in `core`. */ fetch_or
        /** As in `core`. */ fetch_xor
    }
    wrapper! { [<T>] AtomicPtr of *mut T, }
}

/// Loads words as one step, if the scheduler wishes so: returns whether it did.
#[inline]
pub(crate) fn load_words(from: &[atomic::AtomicU64], to: &mut [u64]) -> bool {
    let is_whole = hook::copy(Access::Load, from.as_ptr().addr(), size_of_val(from));
    if is_whole {
        to.iter_mut().zip(from).for_each(|(to, from)| *to = from.peek());
    }
    is_whole
}

/// Stores words as one step, if the scheduler wishes so: returns whether it did.
#[inline]
pub(crate) fn store_words(to: &[atomic::AtomicU64], from: &[u64]) -> bool {
    let is_whole = hook::copy(Access::Store, to.as_ptr().addr(), size_of_val(to));
    if is_whole {
        to.iter().zip(from).for_each(|(to, from)| to.poke(*from));
    }
    is_whole
}

/// Loads words as one step and stores them as another, if the scheduler wishes so: returns whether it did.
#[inline]
pub(crate) fn copy_words(to: &[atomic::AtomicU64], from: &[atomic::AtomicU64]) -> bool {
    let is_whole = hook::copy(Access::Load, from.as_ptr().addr(), size_of_val(from))
        && hook::copy(Access::Store, to.as_ptr().addr(), size_of_val(to));
    if is_whole {
        to.iter().zip(from).for_each(|(to, from)| to.poke(from.peek()));
    }
    is_whole
}

/// Hints to the processor.
pub mod hint {
    use crate::hook::{self, Access};

    /// A step that lets the other workers run.
    #[inline]
    pub fn spin_loop() {
        hook::pass(Access::Pause);
    }

    /// Tells the scheduler. A prefetch changes no outcome, but it takes and saves time.
    #[inline]
    pub fn prefetch<T>(address: *const T) {
        hook::prefetch(address.addr(), false);
    }

    /// As [`prefetch`].
    #[inline]
    pub fn prefetch_for_write<T>(address: *const T) {
        hook::prefetch(address.addr(), true);
    }

    /// Tells the scheduler that the caller, who has the latch or the loan of this plain memory, reads it: where time
    /// passes, that is an access.
    #[inline]
    pub fn reads<T: ?Sized>(memory: &T) {
        hook::guarded(Access::Load, core::ptr::from_ref(memory).addr(), size_of_val(memory));
    }

    /// As [`reads`], of memory that the caller writes.
    #[inline]
    pub fn writes<T: ?Sized>(memory: &T) {
        hook::guarded(Access::Store, core::ptr::from_ref(memory).addr(), size_of_val(memory));
    }

    /// As [`writes`], of the last element of a list.
    #[inline]
    pub fn pushes<T>(list: &[T]) {
        list.last().into_iter().for_each(writes);
    }
}

/// Tells the scheduler that a rare change of the calling worker begins, or ends.
#[inline]
pub(crate) fn changes_rarely(begins: bool) {
    hook::changes_rarely(begins);
}

/// Whether this bug is planted in what runs on the calling thread.
#[inline]
pub fn is_planted(plant: &'static crate::plant::Plant) -> bool {
    hook::planted().is_some_and(|planted| core::ptr::eq(planted, plant))
}

/// One spin is enough: each spin already lets the other workers run.
pub(crate) const BACKOFF_SPINS: u32 = 1;

/// A step that lets the other workers run: see the native back end.
pub(crate) fn yield_now(looks: u32) {
    hook::pass(Access::Yield { looks });
}

/// Passes virtual time: see the native back end.
pub(crate) fn idle(_round: u32, until_ns: Option<u64>, _looking: bool) {
    hook::wait(until_ns);
}

/// Passes virtual time, of this thread alone, until a moment.
pub(crate) fn work(until_ns: u64) {
    hook::wait(Some(until_ns));
}

/// Returns 0: nobody sleeps in this build.
pub(crate) fn slept_ns() -> u64 {
    0
}
