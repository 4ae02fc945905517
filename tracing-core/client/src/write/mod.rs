//! The writing half of shared memory: an arbiter and its trace writers, without I/O.
//!
//! A [`TraceWriter`] turns packets into chunks; the [`Arbiter`] finds it free chunks, collects
//! the full ones, and makes the requests for the service. It knows no socket: a transport (see
//! [`producer`](crate::producer)) is woken through [`Waker`], takes requests with
//! [`Arbiter::poll_request`] and sends them.
//!
//! A packet over three chunks, its outer messages still open when each chunk is left:
//!
//! ```text
//! chunk N    [id N  |w|count k, flags 2|4] ..packets.. [len4 | first bytes, empty length slots]
//! chunk N+1  [id N+1|w|count 1, flags 1|2|4] [len4 | middle bytes, empty slots]
//! chunk N+2  [id N+2|w|count 1.., flags 1] [len4 | last bytes] next packets.. [00]
//! then       patches: (chunk N, offset, length) ...
//! ```
//!
//! flags: 1 continues from the previous chunk, 2 on the next, 4 needs patching.
//!
//! Reading order: [`policy`], [`patches`], `commit`, [`writers`], [`reservations`], `state`, [`arbiter`], `sink`,
//! [`short`], [`writer`].

pub mod arbiter;
mod commit;
pub mod patches;
pub mod policy;
pub mod reservations;
pub mod short;
mod sink;
mod state;
pub mod writer;
pub mod writers;

#[cfg(test)]
mod props;
#[cfg(test)]
mod tests;

pub use self::arbiter::Arbiter;
pub use self::commit::FlushCallback;
pub use self::policy::{BufferExhaustedPolicy, NoWaker, Park, StallSchedule, Waker};
pub use self::state::{ArbiterOptions, Outgoing, ServiceSupport};
pub use self::writer::TraceWriter;
pub use self::writers::Target;
