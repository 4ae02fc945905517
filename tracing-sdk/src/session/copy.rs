//! Names of sessions, by which they are copied.

use core::sync::atomic::{AtomicU32, Ordering};

use protos::{CloneSessionRequest, CloneSessionRequestSelector};

use super::error::SessionError;
use crate::flow::copy_number;
use crate::track::process;

/// A name that no other session of the machine has.
pub(super) fn new_name() -> String {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    format!("tracing-sdk {:016x} {count}", copy_of_process())
}

/// A number of this process and this copy of the SDK: each copy counts for itself.
pub(super) fn copy_of_process() -> u64 {
    process::uuid() ^ copy_number()
}

pub(super) fn clone_request(name: &str) -> Result<CloneSessionRequest, SessionError> {
    if name.is_empty() {
        return Err(SessionError::Order("a snapshot cannot be copied again: copy its session"));
    }
    let selector = CloneSessionRequestSelector::UniqueSessionName(name.to_owned());
    Ok(CloneSessionRequest { selector: Some(selector), ..Default::default() })
}
