//! A request for a session while it is checked.

use protos::TraceConfig;

use super::config::Checked;
use crate::effect_queue::EffectQueue;
use crate::ids::TraceUuid;
use abi::ids::{ClientId, FileId};
use abi::sync::Arc;

/// A config whose own checks passed.
#[derive(Debug)]
pub(crate) struct Admission {
    pub(crate) client: ClientId,
    pub(crate) uid: u32,
    pub(crate) uuid: TraceUuid,
    pub(crate) config: Arc<TraceConfig>,
    pub(crate) checked: Checked,
    pub(crate) file: RequestFile,
}

/// A file that came with a request. The service owns it: a session takes it, or it is closed.
#[derive(Debug)]
pub(crate) struct RequestFile(Option<FileId>);

impl RequestFile {
    pub(crate) fn new(file: Option<FileId>) -> Self {
        Self(file)
    }

    pub(crate) fn is_some(&self) -> bool {
        self.0.is_some()
    }

    /// Makes it the caller's.
    pub(crate) fn take(&mut self) -> Option<FileId> {
        self.0.take()
    }

    /// Closes it, unless it was taken.
    pub(crate) fn close(mut self, out: &mut EffectQueue) {
        if let Some(file) = self.0.take() {
            out.close_file(file);
        }
    }
}

impl Drop for RequestFile {
    /// A file without an owner would stay open for ever.
    fn drop(&mut self) {
        debug_assert!(self.0.is_none(), "file {:?} was neither taken nor closed", self.0);
    }
}
