//! Code of [`schema`](crate::schema) with messages that borrow from the encoded bytes.

include!(concat!(env!("OUT_DIR"), "/views.rs"));
