//! Clients of etcd, from its schema.

#![deny(warnings)]

include!(concat!(env!("OUT_DIR"), "/mod.rs"));
