//! Code of [`schema`](crate::schema) with compact messages: unknown fields and rare fields are in one block of the heap.

include!(concat!(env!("OUT_DIR"), "/compact.rs"));
