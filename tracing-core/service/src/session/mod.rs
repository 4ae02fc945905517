//! The life of a session.
//!
//! Its states are drawn in `life`, its beginning in `enable`, its end in `stop`.
//!
//! | file | concern |
//! |---|---|
//! | `admission`, `checking`, `config`, `trigger_config` | a request, the checks of its config |
//! | `shares`, `buffer_charge` | how many sessions and clones users may have, and how much memory for their buffers |
//! | `instance`, `events`, `file`, `flush_request`, `sequence` | what a session is made of |
//! | `life` | where a session is between its request and its end |
//! | `state` | the session, and all sessions |
//! | `enable`, `priority`, `set_up`, `start`, `changing` | from the request to data that flows |
//! | `flush`, `clear`, `rings` | asks producers for what they still hold, or to begin their sequences anew, and when |
//! | `quota` | how many instances a session has for the producers of each user |
//! | `read`, `invalid`, `encoder`, `sink`, `compressing`, `write` | packets into replies and files |
//! | `stop`, `end_report` | the end; what the consumer is told of it |
//! | `clone`, `clone_request`, `pending_clone`, `copying`, `file_copy` | copies of sessions, buffers and files |
//! | `detach` | sessions without a connection |
//! | `snapshot_hits` | triggers that a consumer is to be told of |

pub(crate) mod admission;
pub(crate) mod buffer_charge;
pub(crate) mod changing;
pub(crate) mod checking;
pub(crate) mod clear;
pub(crate) mod clone;
pub(crate) mod clone_request;
pub(crate) mod compressing;
pub(crate) mod config;
pub(crate) mod copying;
pub(crate) mod detach;
pub(crate) mod enable;
pub(crate) mod encoder;
pub(crate) mod end_report;
pub(crate) mod events;
pub(crate) mod file;
pub(crate) mod file_copy;
pub(crate) mod flush;
pub(crate) mod flush_request;
pub(crate) mod instance;
pub(crate) mod invalid;
pub(crate) mod life;
pub(crate) mod pending_clone;
pub(crate) mod priority;
pub(crate) mod quota;
pub(crate) mod read;
pub(crate) mod rings;
pub(crate) mod sequence;
pub(crate) mod set_up;
pub(crate) mod shares;
pub(crate) mod sink;
pub(crate) mod snapshot_hits;
pub(crate) mod start;
pub(crate) mod state;
pub(crate) mod stop;
pub(crate) mod trigger_config;
pub(crate) mod write;
