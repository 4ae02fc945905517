//! A running instance of the data source.

use std::sync::atomic::AtomicU32;

use client::data_source::Instance;

use super::settings::Settings;
use crate::interceptor::ForThreads;

/// A running instance of the data source.
#[derive(Debug)]
pub(crate) struct Running {
    /// Counts instances; a later one has a larger number.
    pub(crate) serial: u32,
    pub(crate) instance: Instance,
    pub(crate) settings: Settings,
    /// Its packets go to it, and not to the service.
    pub(crate) interceptor: Option<ForThreads>,
    /// How many times the service asked to clear incremental state.
    pub(crate) clears: AtomicU32,
}
