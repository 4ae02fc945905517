//! Tests of protozero's public API.
#![allow(missing_docs)]

#[cfg(feature = "alloc")]
mod compact;
#[cfg(feature = "derive")]
mod derive;
#[cfg(all(feature = "derive", feature = "json"))]
mod described;
#[cfg(feature = "derive")]
mod encoding;
#[cfg(feature = "derive")]
mod kinds;
#[cfg(feature = "derive")]
mod large;
#[cfg(feature = "alloc")]
mod memory;
#[cfg(feature = "derive")]
mod props;
#[cfg(all(feature = "derive", feature = "bytes"))]
mod shared;
