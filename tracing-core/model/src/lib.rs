//! Models of what the service promises, explored in every order of events:
//!
//! - [`session`]: a session's packets while its file is written, it is cloned and flushed, and its peers leave, detach
//!   and attach;
//! - [`loss`]: the packets of a writer that drops some, or whose producer is killed or cut at any step;
//! - [`snapshot`]: triggers that ask for a clone of a session, while its consumers come and go.
//!
//! `cargo xtask model` runs them. They are no part of the program: each action names the file that it stands for, and
//! a change of the rules of that file belongs here as well. What types and atomics do is checked on the real code,
//! by `tracing-core/loom`.
//!
//! A model can be explored *without* one of its rules. Then some property must fail: a rule without which nothing
//! fails would be no reason for the code that keeps it. `cargo test -- --nocapture` shows how.

pub mod loss;
pub mod session;
mod set;
pub mod snapshot;

#[cfg(test)]
mod tests;
