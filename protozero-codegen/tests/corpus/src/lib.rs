//! Code for schemas of others: it compiles without a warning, and reads and writes what prost does.

#![deny(warnings)]
#![forbid(unsafe_code)]

include!(concat!(env!("OUT_DIR"), "/all.rs"));

/// The code of the plugin, which leaves out what `etcd-client` imports and does not use.
pub mod by_plugin {
    include!(concat!(env!("OUT_DIR"), "/plugin/etcd-client/mod.rs"));
}
