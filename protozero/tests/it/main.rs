//! The public face of protozero, as its users see it.
#![allow(missing_docs)]

#[cfg(feature = "derive")]
mod derive;
