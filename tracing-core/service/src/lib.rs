//! The tracing service as a state machine: events in, effects out, time as a value.
//!
//! ```text
//!   producers ──┐ Input                                            Output ┌──> replies, commands
//!               ├──────> handle(now, input) ──> [ state ] ──> poll_output ├──> files
//!   consumers ──┘        handle_timeout(now) ──┘    │                     └──> log
//!                                                   └──> poll_timeout: the next deadline
//! ```
//!
//! Nothing in here reads a clock, a random device, a file or a socket, or starts a thread. The same inputs give the
//! same outputs, but for what a [`RegionFactory`] answers: memory, and how much of it is still used. So a simulator can
//! run it for years of virtual time, and replay a failing run.
//!
//! # The contract of the shell
//!
//! 1. For each event sample all clocks once into a [`Now`](abi::time::Now) and call
//!    [`Service::handle`]. A clock may repeat itself but not go back.
//! 2. Then call [`Service::poll_output`] until it returns none, and carry out the effects in that order.
//!    The queue is bounded by what one event can cause, so it must be drained after each.
//! 3. Sleep until [`Service::poll_timeout`] at the latest, then call [`Service::handle_timeout`]. Waking
//!    early or for nothing is harmless. The deadline changes with every call; ask again each time. It may be
//!    in the past, when there is work that is done in pieces: handle other events between the pieces.
//! 4. Pass on the beginning and the end of each connection once, and nothing about it after its end. When a producer
//!    left by itself, its end is [`Input::ProducerDisconnected`]. When the shell closed its connection, its end is
//!    [`Input::ProducerCut`] with the reason, and no `ProducerDisconnected`. The end of a consumer is always
//!    [`Input::ConsumerDisconnected`]. After [`Output::Disconnect`] the service gets no input about the connection. A
//!    producer that the shell does not accept is [`Input::ProducerRefused`] alone. Drop replies to a peer that left.
//!    The shell cuts a peer that does not read.
//! 5. [`Output::CreateFile`], [`Output::WriteFile`], [`Output::CopyFile`] and [`Output::SetPriority`] are each
//!    answered by exactly one input, those of one file in their order. The shell continues a short write. An
//!    error is final for the file: the shell closes it, and what follows fails. [`Output::AbandonFile`] ends a
//!    file at once and is not answered.
//! 6. When the shell has sent all replies to a client (its queue became empty), pass
//!    [`Input::Drained`]. A stream of `ReadBuffers` or `QueryServiceState` replies, and the commands of a producer,
//!    pause when 256 KiB of it are in flight and continue only
//!    then; this bounds memory, whatever the speed of the client. A pause never cuts a packet, so a window
//!    and one packet of [`limits::PACKET_BYTES_MAX`] may wait: replies with packets are `paced`,
//!    and no reason to disconnect a slow consumer. Passing the event without need does no harm; passing it
//!    while replies still wait doubles the bytes in flight.
//! 7. A peer that causes much work waits for its turn. Before the shell decodes a request, it asks
//!    [`Service::is_busy`] and [`Service::may_decode`]. If the peer is busy, or its request may not be decoded, the
//!    request stays in the transport, as bytes; otherwise the service has to keep it. The end of the peer may be passed
//!    on at once. What the shell decoded, and the calls that it refused by itself, it passes as
//!    [`Input::FramesDecoded`], so that the peer is charged for them.
//! 8. What the service cannot count, such as connections, answers to `QueryServiceState` have only if the shell passes
//!    [`Input::ShellCounted`] before the request.
//! 9. A file that comes with a request belongs to the service from then on, until a `WriteFile` with `close`
//!    or an `AbandonFile`; this follows also when the service does not need the file.
//! 10. Shared memory of a producer goes through the shell. From [`Output::CountMemory`] on, the shell counts it for the
//!     user of a producer that has left. With [`Output::ReleaseMemory`] the shell gets the memory. It should drop it on
//!     another thread, since unmapping may take as long as the producer likes.
//! 11. Memory of replies that were sent, and of pieces of files that were written, may be returned with
//!     [`Service::give_back`]. This is optional.
//! 12. At the end, call [`Service::end_sessions`] once. Then carry out the effects and pass on the answers about files
//!     until [`Service::is_idle`] is true, or until the shell does not want to wait longer.
//!
//! # Inside
//!
//! Each part owns some state, and knows neither the service nor the parts above it. `core` joins them: it hands inputs
//! and timers to the parts, with the other parts that they need. When an event concerns a further part, the first one
//! asks for a *step*, and `core` runs it.
//!
//! | file | concern |
//! |---|---|
//! | `input`, `output`, `port`, `config`, `error` | the boundary |
//! | `core`, `step`, `context` | dispatch; what follows from an event; what all parts use |
//! | `accounts`, `shares` | what each user makes the service keep; how much that may be |
//! | `timers`, `effect_queue`, `buffer_pool` | what is due when; effects; memory of replies, recycled |
//! | `log_limiter` | how many lines of the log one peer may cause |
//! | `producers`, `consumers`, `observe` | the connections of both sides |
//! | `commands`, `command_queue` | what producers are told, encoded; what waits until they took earlier commands |
//! | `data_sources`, `matching`, `expression`, `name_sketch` | what producers offer; expressions and sets of names |
//! | `buffers`, `commit` | trace buffers; takes chunks and patches, which are never trusted, into them |
//! | `retired` | memory of buffers that are gone, which is freed in pieces |
//! | `scrape` | copies what writers have not committed |
//! | `leftovers`, `ledger` | what producers leave behind; what each session lost, and why |
//! | `service_packet`, `packets`, `clocks`, `provenance`, `stats` | what the service itself writes into a trace |
//! | `triggers`, `trigger_history` | names that producers activate, and sessions that wait for them; how often |
//! | `work` | what one producer, consumer or session may cause at once, and what waits |
//! | `compression_queue` | which session compresses the next piece |
//! | `query`, `user_accounts`, `shell_accounts` | questions about the service; what each user has |
//! | `session/` | the life of a session, from its config to its end |
//! | `buffer/`, `filter/`, `compress/`, `packet/` | below the files here: each says what it is |
//! | `limits`, `sort`, `ids` | the bounds; sorts what is nearly sorted; ids |
//! | `test_hooks` | what simulations see of the service beside its effects |
//!
//! Trust: a producer is hostile; a consumer is trusted with data of its user, but not with the life of the service.
//! Nothing that comes from either may make the service panic, hang or grow; [`crate::limits`] has every bound.
#![forbid(unsafe_code)]
#![cfg_attr(not(test), deny(clippy::indexing_slicing, clippy::arithmetic_side_effects))]

pub mod buffer;
#[allow(
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    reason = "compresses bytes that the service itself put together"
)]
pub mod compress;
pub mod filter;
#[doc(hidden)]
pub mod limits;
pub mod packet;
#[doc(hidden)]
pub mod shares;

mod accounts;
mod buffer_pool;
mod buffers;
mod clocks;
mod command_queue;
mod commands;
mod commit;
mod compression_queue;
mod config;
mod consumers;
mod context;
mod core;
mod data_sources;
mod effect_queue;
mod error;
mod expression;
mod ids;
mod input;
mod ledger;
mod leftovers;
mod log_limiter;
mod matching;
mod name_sketch;
mod observe;
mod output;
mod packets;
mod port;
mod producers;
mod provenance;
mod query;
mod retired;
mod scrape;
mod service_packet;
mod session;
mod shell_accounts;
mod sort;
mod stats;
mod step;
#[doc(hidden)]
pub mod test_hooks;
mod timers;
mod trigger_history;
mod triggers;
mod user_accounts;
mod work;

#[doc(hidden)]
pub use self::compression_queue::BegunPass;
pub use self::config::{ExtensionSet, HostInfo, RegionFactory, ServiceConfig};
pub use self::core::Service;
#[doc(hidden)]
pub use self::ids::TraceUuid;
pub use self::input::{Cut, FileError, Input, Peer};
pub use self::output::{Boost, FileSync, LogLevel, Output, Rejected};
pub use self::port::{ConsumerRequest, ProducerRequest};
pub use self::shell_accounts::ShellAccounts;
#[doc(hidden)]
pub use self::test_hooks::{Footprint, SessionView};
