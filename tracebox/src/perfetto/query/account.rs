//! The items of a user's account.

use protos::{UserAccount, UserAccountItem};

/// What an account has, with the names of the schema. Taken apart without `..`, so that none is left out.
pub(crate) fn items(account: &UserAccount) -> [(&'static str, Option<&UserAccountItem>); 17] {
    let UserAccount {
        uid: _,
        machine_id: _,
        is_limited: _,
        connection_descriptors,
        producer_descriptors,
        connection_bytes,
        large_sockets,
        waiting_request_bytes,
        closing_descriptors,
        files,
        file_memory_bytes,
        registrations,
        registration_bytes,
        instances,
        shared_memory_bytes,
        sessions,
        clones,
        flush_answers,
        compression_bytes,
        buffer_bytes,
        holes_named: _,
        unknown_fields: _,
    } = account;
    [
        ("connection_descriptors", connection_descriptors.as_ref()),
        ("producer_descriptors", producer_descriptors.as_ref()),
        ("connection_bytes", connection_bytes.as_ref()),
        ("large_sockets", large_sockets.as_ref()),
        ("waiting_request_bytes", waiting_request_bytes.as_ref()),
        ("closing_descriptors", closing_descriptors.as_ref()),
        ("files", files.as_ref()),
        ("file_memory_bytes", file_memory_bytes.as_ref()),
        ("registrations", registrations.as_ref()),
        ("registration_bytes", registration_bytes.as_ref()),
        ("instances", instances.as_ref()),
        ("shared_memory_bytes", shared_memory_bytes.as_ref()),
        ("sessions", sessions.as_ref()),
        ("clones", clones.as_ref()),
        ("flush_answers", flush_answers.as_ref()),
        ("compression_bytes", compression_bytes.as_ref()),
        ("buffer_bytes", buffer_bytes.as_ref()),
    ]
}
