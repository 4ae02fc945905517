//! The items of a user's account.

use protos::{UserAccount, UserAccountItem};

/// What an account has, with the names of the schema.
pub(crate) fn items(account: &UserAccount) -> [(&'static str, Option<&UserAccountItem>); 14] {
    [
        ("connection_descriptors", account.connection_descriptors.as_ref()),
        ("producer_descriptors", account.producer_descriptors.as_ref()),
        ("connection_bytes", account.connection_bytes.as_ref()),
        ("large_sockets", account.large_sockets.as_ref()),
        ("waiting_request_bytes", account.waiting_request_bytes.as_ref()),
        ("closing_descriptors", account.closing_descriptors.as_ref()),
        ("files", account.files.as_ref()),
        ("registrations", account.registrations.as_ref()),
        ("registration_bytes", account.registration_bytes.as_ref()),
        ("instances", account.instances.as_ref()),
        ("shared_memory_bytes", account.shared_memory_bytes.as_ref()),
        ("sessions", account.sessions.as_ref()),
        ("clones", account.clones.as_ref()),
        ("compression_bytes", account.compression_bytes.as_ref()),
    ]
}
