//! The tracing service as a state machine: events in, effects out, time as a value.
//!
//! ```text
//!   producers ──┐ Input                                            Output ┌──> replies, commands
//!               ├──────> handle(now, input) ──> [ state ] ──> poll_output ├──> files
//!   consumers ──┘        handle_timeout(now) ──┘    │                     └──> log
//!                                                   └──> poll_timeout: wake me then
//! ```
//!
//! Nothing in here reads a clock, a random device, a file or a socket, nor starts a thread. The same
//! inputs give the same outputs, so a simulator can run years of it, and a failing run replays.
//!
//! # The contract of the shell
//!
//! 1. For each event sample all clocks once into a [`Now`](abi::time::Now) and call
//!    [`Service::handle`]. A clock may repeat itself but not go back.
//! 2. Then call [`Service::poll_output`] until it gives nothing, and carry each effect out in that order.
//!    The queue is bounded by what one event can cause, so it must be drained after each.
//! 3. Sleep until [`Service::poll_timeout`] at the latest, then call [`Service::handle_timeout`]. Waking
//!    early or for nothing is harmless. The deadline changes with every call; ask again each time. It may be
//!    over already, when there is work that is done in pieces: take in what else there is between them.
//! 4. Replies to a peer that left are dropped silently; its `…Disconnected` follows once, and nothing
//!    from it comes after that. A peer that does not read is the shell's to cut off.
//! 5. [`Output::CreateFile`], [`Output::WriteFile`], [`Output::CopyFile`] and [`Output::SetPriority`] are each
//!    answered by exactly one input, those of one file in their order. A write that came out short is
//!    retried by the shell; an error is final for the file, which the shell then closes: what follows fails.
//!    [`Output::AbandonFile`] ends a file at once and is not answered.
//! 6. When the replies of a consumer have left the shell's queue (it became empty), say
//!    [`Input::ConsumerDrained`]. A stream of `ReadBuffers` or `QueryServiceState` replies pauses when
//!    [`limits::READ_WINDOW_BYTES`](crate::limits::READ_WINDOW_BYTES) of it are on the way and goes on
//!    only then; this bounds memory, whatever the speed of the reader. A packet is never cut by a pause, so
//!    what waits is a window and one packet at most, which is as long as its buffer lets it be: replies
//!    with packets are `paced`, and no reason to cut off their reader. Said without need it
//!    does no harm; said when it is not true it doubles what may be waiting.
//! 7. A file that comes with a request belongs to the service from then on; a `WriteFile` with `close`
//!    gives it back, also when it was not wanted.
//!
//! # Inside
//!
//! `core` is one `match` on the input; each concern is a leaf that extends [`Service`]:
//!
//! | file | concern |
//! |---|---|
//! | `input`, `output`, `port`, `config` | the seam |
//! | `core`, `timers`, `outbox` | dispatch, what is due when, effects on their way out |
//! | `producers`, `consumers` | who is connected, which request goes where |
//! | `data_sources` | who offers what; matching a config with it; set-up |
//! | `commit` | chunks and patches, from memory nobody trusts |
//! | `snapshot`, `packets`, `provenance`, `stats` | what the service itself writes into a trace |
//! | `matching` | expressions for names of producers, and their price |
//! | `triggers` | names that producers call out, and sessions that wait for them |
//! | `observe`, `query` | what consumers may ask |
//! | `spares` | memory of replies that have left, used again while somebody reads |
//! | `watch` | what simulations see of the service beside its effects |
//! | `session/` | the life of a session, from its config to its end; clone, detach, reconfigure |
//!
//! Trust: a producer is hostile, a consumer is trusted with data but not with our life. Nothing that
//! comes from either may panic, hang or grow the service; [`crate::limits`] has every bound.

pub mod buffer;
pub mod compress;
pub mod filter;
#[doc(hidden)]
pub mod limits;
pub mod packet;

mod commit;
mod config;
mod consumers;
mod core;
mod data_sources;
mod input;
mod matching;
mod observe;
mod outbox;
mod output;
mod packets;
mod port;
mod producers;
mod provenance;
mod query;
mod session;
mod snapshot;
mod spares;
mod stats;
mod timers;
mod triggers;
#[cfg(any(test, feature = "testing"))]
mod watch;

pub use self::config::{HostInfo, RegionFactory, ServiceConfig};
#[cfg(any(test, feature = "testing"))]
pub use self::core::Footprint;
pub use self::core::Service;
pub use self::input::{FileError, Input, Peer};
pub use self::output::{Boost, FileSync, LogLevel, Output, Rejected};
pub use self::port::{ConsumerRequest, ProducerRequest};
pub use self::provenance::ExtensionSet;
#[cfg(any(test, feature = "testing"))]
pub use self::watch::SessionView;
