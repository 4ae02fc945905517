//! Interceptors: code of the program that gets the packets of a session in place of the service.
//!
//! A session asks for one by its name, for each data source: `interceptor_config { name: "errors" }` in the config of
//! the data source. Where the program knows the name, nothing of that instance reaches a buffer. Where it does not, the
//! instance is recorded as usual, and a line on standard error says so.
//!
//! ```text
//!                                    config without an interceptor
//!   event ──> trace writer ──> chunks ─────────────────────────────> shared memory ──> service
//!                                 └─── config with one ──> heap ──> packets ──> Interceptor::packet
//! ```
//!
//! [`Console`] prints track events. This one counts packets of each thread:
//!
//! ```
//! use core::sync::atomic::{AtomicU64, Ordering};
//! use tracing_sdk::interceptor::{self, Interceptor};
//!
//! static ALL: AtomicU64 = AtomicU64::new(0);
//!
//! /// One value for each data source of each session that asks for it.
//! struct Count;
//!
//! impl Interceptor for Count {
//!     /// The packets of one thread so far.
//!     type Sequence = u64;
//!
//!     fn packet(&self, sequence: &mut u64, packet: &[u8]) {
//!         *sequence += 1;
//!         ALL.fetch_add(1, Ordering::Relaxed);
//!         // `packet` is a `TracePacket`, encoded.
//!         assert!(!packet.is_empty());
//!     }
//! }
//!
//! // Early in `main`, before sessions start:
//! interceptor::register("count", |_config| Count);
//! ```
//!
//! | file | what |
//! |---|---|
//! | `registry` | the trait, and interceptors by their names |
//! | `packets` | chunks joined to packets |
//! | `writer` | the writer of one sequence, and the way of its packets to the interceptor |
//! | `console` | the interceptor that prints |

mod console;
mod packets;
mod registry;
mod writer;

pub use self::console::Console;
pub(crate) use self::registry::{ForThreads, Interception, List, lock_for_fork, start};
pub use self::registry::{Interceptor, register};
pub(crate) use self::writer::Intercepted;
