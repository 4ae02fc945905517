//! Programs that are traced by a service inside them.
#![cfg(all(feature = "in-process", not(feature = "off")))]

mod alone;
mod clocks;
mod console;
mod data_source;
#[cfg(feature = "derive")]
mod derive;
mod dynamic;
mod errors;
mod events;
mod futures;
mod interceptor;
#[cfg(feature = "tracing")]
mod layer;
#[cfg(feature = "log")]
mod log;
mod loss;
mod programs;
mod record;
mod recorder;
mod ring;
mod session;
mod short;
#[cfg(feature = "tracing")]
mod subscriber;
mod thread_time;
mod timeline;
mod trace;
#[cfg(feature = "derive")]
mod traced;
