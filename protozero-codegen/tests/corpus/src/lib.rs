//! Code for schemas of others: it compiles without a warning, and reads and writes what prost does.

#![deny(warnings)]
#![forbid(unsafe_code)]

include!(concat!(env!("OUT_DIR"), "/all.rs"));

/// The name of a schema, the full name of a message in it, and [`again`] of its struct.
pub type Row = (&'static str, &'static str, fn(&[u8]) -> Result<Vec<u8>, String>);

/// Decodes a message, and encodes it.
///
/// # Errors
/// What the library says of the bytes or of the struct.
pub fn again<M: protozero::Message>(bytes: &[u8]) -> Result<Vec<u8>, String> {
    let message = M::decode(bytes).map_err(|error| error.to_string())?;
    message.try_encode_to_vec().map_err(|error| error.to_string())
}

/// The code of the plugin, which leaves out what `etcd-client` imports and does not use.
pub mod by_plugin {
    include!(concat!(env!("OUT_DIR"), "/plugin/etcd-client/mod.rs"));
}
