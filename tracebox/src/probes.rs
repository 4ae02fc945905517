//! The data sources that are built in, in this process or for a running `traced`.

use std::ffi::OsString;

use tracing_core::client::connection::Connection;
use tracing_core::ipc::port::ProducerPort;

use crate::applet::Ending;
use crate::failure::Failure;

/// The built-in data sources, registered. They go with this value.
#[derive(Debug)]
pub struct Sources {}

impl Sources {
    /// Registers them over connections that `connect` makes.
    ///
    /// # Errors
    /// When the service does not take them.
    pub fn attach(
        connect: impl Fn() -> Box<dyn Connection<ProducerPort>>,
    ) -> Result<Self, Failure> {
        let _ = connect;
        Ok(Self {})
    }
}

/// `traced_probes`.
///
/// # Errors
/// One line.
pub fn main(name: &str, words: &[OsString]) -> Ending {
    let _ = (name, words);
    Err(Failure::new("not yet"))
}
