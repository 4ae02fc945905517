//! Perfetto's whole schema as data, for reading and printing text.
//!
//! Text must not depend on which areas of `protos` are compiled: a config may set fields of data sources that
//! this build has no code for.

use std::sync::LazyLock;

use protozero::dynamic::{MessageDescriptor, Pool};

static POOL: LazyLock<Pool> = LazyLock::new(|| {
    Pool::decode(protos::FILE_DESCRIPTOR_SET).expect("the generator wrote a valid descriptor set")
});

/// The message `perfetto.protos.NAME`.
///
/// # Panics
/// The schema has no such message.
#[must_use]
pub fn message(name: &str) -> MessageDescriptor {
    let message = POOL.message(&format!("perfetto.protos.{name}"));
    message.unwrap_or_else(|| panic!("the schema has no message {name}"))
}
