//! A packet as slices, and the check that it may be delivered.
//!
//! ```text
//!   chunk 7                    chunk 8                 chunk 9
//!   | .. | len | fragment 0 |  | len | fragment 1 |    | len | fragment 2 | .. |
//!                ^^^^^^^^^^            ^^^^^^^^^^              ^^^^^^^^^^
//!                one packet: three slices, borrowed where they lie, read as if joined
//! ```
//!
//! Layer 1. Nothing here copies a payload. What the slices hold was written by a producer and is
//! hostile until [`PacketStreamValidator`] has walked it.

mod slices;
mod validate;

pub use self::slices::Slices;
pub use self::validate::PacketStreamValidator;

#[cfg(test)]
mod props;
#[cfg(test)]
mod tests;
