//! A world around the service that has no threads, files, sockets or clocks.
//!
//! Two ways to use it:
//!
//! * [`shell`] drives one [`Service`](service::Service) by the book, at once and in order, and
//!   [`mock`] holds producers and consumers as values: for tests that say every step;
//! * [`simulate`] invents a whole life of a service from one number: honest producers with the real
//!   arbiter and writers, hostile ones that forge commits and shared memory, consumers of all habits,
//!   a net with delays and cut connections, disks that fail. The same seed gives the same life, so a seed
//!   that fails is a test.
//!
//! ```text
//!   clock ── net ── world ── service
//!             │       │
//!          workload  check      the ledger of what was written, against what was read
//!                     marks      what lives have met, against all there is to meet
//! ```

pub mod buffer;
mod check;
mod clock;
mod fuzz;
mod marks;
pub mod mock;
mod net;
pub(crate) mod rng;
pub mod shell;
mod workload;
mod world;

pub use self::fuzz::{commit_data, conversation};
pub use self::marks::{Mark, Marks};
pub use self::world::{Report, simulate, simulate_with};

#[cfg(test)]
mod tests;
