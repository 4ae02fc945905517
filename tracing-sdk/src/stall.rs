//! What a thread does when shared memory is full: it drops its events, unless the program lets sessions decide.
//!
//! A config comes from another program, and must not be able to stop the threads of this one. The C++ SDK ignores the
//! policy of the config for track events. For other data sources it obeys the policy only if the program allows that.

use core::sync::atomic::{AtomicBool, Ordering};

use client::data_source::Instance;
use client::write::BufferExhaustedPolicy;

static IS_ALLOWED: AtomicBool = AtomicBool::new(false);

/// Whether configs can make threads wait for memory, from now on.
pub(crate) fn allow(is_allowed: bool) {
    IS_ALLOWED.store(is_allowed, Ordering::Relaxed);
}

/// The policy of writers of an instance.
pub(crate) fn policy(instance: &Instance) -> BufferExhaustedPolicy {
    match IS_ALLOWED.load(Ordering::Relaxed) {
        true => instance.policy_or(BufferExhaustedPolicy::Drop),
        false => BufferExhaustedPolicy::Drop,
    }
}
