//! Programs that are traced by a service inside them.
#![cfg(feature = "in-process")]

#[cfg(feature = "derive")]
mod derive;
mod events;
mod futures;
mod trace;
