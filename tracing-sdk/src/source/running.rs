//! The running instances of the data source.

use std::sync::Arc;
use std::sync::atomic::AtomicU32;

use client::data_source::Instance;

use super::settings::Settings;

/// How many sessions can record at the same time (as in the C++ client).
pub(crate) const SLOTS: usize = 8;

/// A running instance of the data source.
#[derive(Debug)]
pub(crate) struct Running {
    /// Counts instances; a later one has a larger number.
    pub(crate) serial: u32,
    pub(crate) instance: Instance,
    pub(crate) settings: Settings,
    /// How many times the service asked to clear incremental state.
    pub(crate) clears: AtomicU32,
}

pub(crate) type Slots = [Option<Arc<Running>>; SLOTS];
