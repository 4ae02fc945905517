//! Programs that are traced by a service inside them.
#![cfg(feature = "in-process")]

mod events;
mod futures;
mod trace;
