//! Code for schemas of others. It is right if it compiles without a warning.

#![deny(warnings)]
#![forbid(unsafe_code)]

include!(concat!(env!("OUT_DIR"), "/all.rs"));
