//! A simulated environment for the service: no threads, files, sockets or clocks.
//!
//! Two ways to use it:
//!
//! * [`shell`] drives one [`Service`](service::Service) as its contract says, at once and in order, and
//!   [`mock`] holds producers and consumers as values: for tests that say every step;
//! * [`simulate`] runs a service with random clients, all derived from one seed: honest producers with the real
//!   arbiter and trace writers, hostile ones that forge commits and shared memory, consumers with different
//!   habits, a network with delays and lost connections, disks that fail. The same seed gives the same run, so
//!   a seed that fails is a test.
//!
//! ```text
//!   clock ── net ── world ── service
//!             │       │
//!          workload  check      compares what was written with what was read
//!                     marks      records which events have happened in any run
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
pub use self::workload::TRIGGERS;
pub use self::world::{Report, random_config_of, simulate, simulate_with};

#[cfg(test)]
mod tests;
