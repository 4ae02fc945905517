//! Code of [`schema`](crate::schema) with compact messages.

include!(concat!(env!("OUT_DIR"), "/compact.rs"));
