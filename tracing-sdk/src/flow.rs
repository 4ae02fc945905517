//! Flows: arrows from slice to slice, also across threads and processes.

use core::sync::atomic::{AtomicU64, Ordering};

use crate::hash::fnv1a;
use crate::track::process;

/// A flow. All events with an equal one are joined by arrows, in order of time.
///
/// ```
/// use tracing_sdk::{Flow, categories, instant, slice};
///
/// categories! { POOL = "pool"; }
///
/// let flow = Flow::new();
/// instant!(POOL, "queued", flow = flow);
/// std::thread::spawn(move || {
///     let _slice = slice!(POOL, "handled", end_flow = flow);
/// })
/// .join()
/// .unwrap();
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Flow(u64);

impl Flow {
    /// A flow that is unlike all others of this process, and most likely unlike those of all others.
    #[allow(clippy::new_without_default, reason = "two defaults would not be equal")]
    #[must_use]
    pub fn new() -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        Self::of_copy("tracing-sdk", NEXT.fetch_add(1, Ordering::Relaxed))
    }

    /// [`scoped`](Self::scoped), apart from equal ids of other copies of the SDK in this process, and far from the
    /// small numbers that users choose themselves.
    pub(crate) fn of_copy(scope: &str, id: u64) -> Self {
        Self::scoped(scope, id ^ copy_number())
    }

    /// A flow that other libraries of this process can name, by `id`. The C++ SDK calls it `ProcessScoped`.
    #[must_use]
    pub fn process(id: u64) -> Self {
        Self(id ^ process::uuid())
    }

    /// A flow that other processes can name, too. `id` must be unique in the whole trace.
    #[must_use]
    pub const fn global(id: u64) -> Self {
        Self(id)
    }

    /// A flow of this process, apart from those of equal `id` and other `scope`.
    ///
    /// ```
    /// use tracing_sdk::Flow;
    ///
    /// assert_ne!(Flow::scoped("request", 7).id(), Flow::scoped("frame", 7).id());
    /// ```
    #[must_use]
    pub fn scoped(scope: &str, id: u64) -> Self {
        Self::process(id ^ fnv1a(scope.as_bytes()))
    }

    /// The number of the flow in the trace.
    #[must_use]
    pub const fn id(self) -> u64 {
        self.0
    }
}

/// A random number of this copy of the SDK. A library that is loaded at run time has another one than the program.
pub(crate) fn copy_number() -> u64 {
    static NUMBER: AtomicU64 = AtomicU64::new(0);
    let make = || {
        let made = process::random();
        let first = NUMBER.compare_exchange(0, made, Ordering::Relaxed, Ordering::Relaxed);
        first.map_or_else(|other| other, |_| made)
    };
    match NUMBER.load(Ordering::Relaxed) {
        0 => make(),
        number => number,
    }
}

/// One flow or several, for the keys `flow` and `end_flow` of the macros.
#[doc(hidden)]
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a flow",
    label = "not a flow",
    note = "make one: `Flow::new()`, or `Flow::process(number)` of a number that the program has"
)]
pub trait Flows {
    /// Calls `f` with each.
    fn each(&self, f: impl FnMut(Flow));
}

impl Flows for Flow {
    fn each(&self, mut f: impl FnMut(Flow)) {
        f(*self);
    }
}

impl Flows for Option<Flow> {
    fn each(&self, f: impl FnMut(Flow)) {
        self.iter().copied().for_each(f);
    }
}

impl Flows for [Flow] {
    fn each(&self, f: impl FnMut(Flow)) {
        self.iter().copied().for_each(f);
    }
}

impl<const N: usize> Flows for [Flow; N] {
    fn each(&self, f: impl FnMut(Flow)) {
        self.iter().copied().for_each(f);
    }
}

impl<T: Flows + ?Sized> Flows for &T {
    fn each(&self, f: impl FnMut(Flow)) {
        (**self).each(f);
    }
}
