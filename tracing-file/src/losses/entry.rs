//! An entry of the service's ledger as a line and as JSON: who lost something, why, and how much.

use protos::{LossLedgerEntry, LossLedgerReason as Reason, LossLedgerUnit};

use crate::json::Json;

/// One entry as a text. Names in it are those of programs, which may contain anything.
#[must_use]
pub fn entry_line(entry: &LossLedgerEntry) -> String {
    let who = who(entry);
    let source = match &entry.data_source_name {
        Some(name) => format!("{name} of {who}"),
        None => format!("data sources of {who}"),
    };
    let cut = |why: &str| {
        format!("what {who} wrote after the service had disconnected it, because it {why}")
    };
    let absent = |why: &str| {
        let more = entry.count.unwrap_or(0).saturating_sub(1);
        let more = if more == 0 { String::new() } else { format!(" and {more} more") };
        format!("{source}{more}: not recorded, because {why}")
    };
    match entry.reason.unwrap_or_default() {
        Reason::REASON_LEFT_UNFINISHED => {
            format!("{} that {who} had not handed over when it was gone", amount(entry, "packet"))
        }
        Reason::REASON_CUT_PROTOCOL => cut("broke the protocol"),
        Reason::REASON_CUT_NOT_READING => cut("did not read what the service sent"),
        Reason::REASON_CUT_DESCRIPTORS => cut("passed descriptors that cannot be taken or closed"),
        Reason::REASON_SESSION_FULL => {
            absent("the session has as many data sources as it may have")
        }
        Reason::REASON_USER_FULL => {
            absent("programs of its user, or of all users, have as many as they may have")
        }
        Reason::REASON_NO_MEMORY => absent("there was no shared memory for it"),
        Reason::REASON_NAME_NOT_MATCHED => absent("to match its name took too long"),
        Reason::REASON_INSTANCE_REFUSED => {
            absent("its program refused: it cannot record this, or records as often as it may")
        }
        Reason::REASON_PRODUCER_REFUSED => {
            format!("{who}: not recorded, because the service has as many programs as it can have")
        }
        Reason::REASON_CHUNKS_REFUSED => {
            format!("{} of {who} for a buffer that is not its own", amount(entry, "chunk"))
        }
        Reason::REASON_PATCHES_REFUSED => {
            format!(
                "{} of {who}, which broke the protocol, and the packets that lack them",
                amount(entry, "patch")
            )
        }
        Reason::REASON_PACKETS_INVALID => {
            format!("{} of {who} that are not valid", amount(entry, "packet"))
        }
        Reason::REASON_LOCKED_OUT => {
            absent("a session lets programs of the service's user record only (lockdown_mode)")
        }
        Reason::REASON_FILE_FULL => {
            "what came after the file was as long as it may be (max_file_size_bytes)".to_owned()
        }
        Reason::REASON_OTHERS => {
            format!("losses of other programs: {}", entry.count.unwrap_or(0))
        }
        // Of a newer service.
        reason => {
            format!("{who}, for reason {}: {}", reason.0, entry.count.unwrap_or(0))
        }
    }
}

fn who(entry: &LossLedgerEntry) -> String {
    let name = match entry.producer_name.as_deref() {
        None | Some("") => "a program",
        Some(name) => name,
    };
    match (entry.pid, entry.uid) {
        (Some(pid), _) => format!("{name} (pid {pid})"),
        (None, Some(uid)) => format!("{name} (user {uid})"),
        (None, None) => name.to_owned(),
    }
}

/// How much of something was lost.
fn amount(entry: &LossLedgerEntry, noun: &str) -> String {
    let count = |count: u64| match (count, noun) {
        (1, _) => format!("1 {noun}"),
        (count, "patch") => format!("{count} patches"),
        (count, _) => format!("{count} {noun}s"),
    };
    match (entry.count.unwrap_or(0), entry.at_least == Some(true)) {
        (0, _) => format!("perhaps {noun}s"),
        (known, true) => format!("at least {}", count(known)),
        (known, false) => count(known),
    }
}

/// The fields of one entry, with the names of the schema.
pub fn entry_json(json: &mut Json, entry: &LossLedgerEntry) {
    json.text("reason", entry.reason.and_then(Reason::name));
    json.text("producer_name", entry.producer_name.as_deref());
    json.number("producer_id", entry.producer_id);
    json.number("uid", entry.uid);
    json.number("pid", entry.pid);
    json.number("machine_id", entry.machine_id);
    json.text("data_source_name", entry.data_source_name.as_deref());
    json.number("first_timestamp", entry.first_timestamp);
    json.number("last_timestamp", entry.last_timestamp);
    json.number("count", entry.count);
    json.text("unit", entry.unit.and_then(LossLedgerUnit::name));
    json.number("at_least", entry.at_least);
}
