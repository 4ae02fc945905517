//! A packet as slices, and the check whether it may be delivered.
//!
//! ```text
//!   chunk 7                    chunk 8                 chunk 9
//!   | .. | len | fragment 0 |  | len | fragment 1 |    | len | fragment 2 | .. |
//!                ^^^^^^^^^^            ^^^^^^^^^^              ^^^^^^^^^^
//!                one packet: three borrowed slices, read as if they were joined
//! ```
//!
//! No payload is copied here. The bytes come from a producer and are hostile until [`PacketStreamValidator`] has
//! checked them.

mod slices;
mod validate;

pub use self::slices::Slices;
pub use self::validate::PacketStreamValidator;

#[cfg(test)]
mod props;
#[cfg(test)]
mod tests;
