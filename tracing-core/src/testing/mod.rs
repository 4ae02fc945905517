//! A world around the service that has no threads, files, sockets or clocks.
//!
//! * [`shell`] drives one [`Service`](crate::service::Service) by the book, at once and in order;
//! * [`mock`] holds producers and consumers as values, for tests that say every step.

pub mod mock;
pub mod shell;
