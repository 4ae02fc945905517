//! An entry of the service's ledger as a line and as JSON: who lost something, why, and how much.

use protos::{LossLedgerEntry, LossLedgerReason as Reason, LossLedgerUnit};

use crate::json::Json;

/// One entry as a text. Names in it are those of programs, which may contain anything.
#[must_use]
pub fn entry_line(entry: &LossLedgerEntry) -> String {
    let who = who(entry);
    let cut = |why: &str| {
        format!("what {who} wrote after the service had disconnected it, because it {why}")
    };
    let reason = entry.reason.unwrap_or_default();
    if let Some(why) = why_not_recorded(reason) {
        return not_recorded(entry, &who, why);
    }
    if let Some(triggers) = of_triggers(reason, entry, &who) {
        return triggers;
    }
    match reason {
        Reason::REASON_LEFT_UNFINISHED => {
            format!("{} that {who} had not handed over when it was gone", amount(entry, PACKETS))
        }
        Reason::REASON_CUT_PROTOCOL => cut("broke the protocol"),
        Reason::REASON_CUT_NOT_READING => {
            cut("did not read, made the service wait, or made it keep too much")
        }
        Reason::REASON_CUT_DESCRIPTORS => cut("passed descriptors that cannot be taken or closed"),
        Reason::REASON_PRODUCER_REFUSED => {
            format!("{who}: not recorded, because the service has as many programs as it can have")
        }
        Reason::REASON_CHUNKS_REFUSED => refused_chunks(entry, &who),
        Reason::REASON_PATCHES_REFUSED => {
            let patches = amount(entry, ("patch", "patches"));
            format!("{patches} of {who}, which broke the protocol, and the packets that lack them")
        }
        Reason::REASON_DROPPED => {
            let packets = amount(entry, PACKETS);
            format!("{packets} that {who} dropped because its shared memory was full")
        }
        Reason::REASON_DROPPED_AT_END => {
            let packets = amount(entry, PACKETS);
            format!("{packets} that {who} dropped just before the session ended")
        }
        Reason::REASON_PACKETS_INVALID => {
            format!(
                "{} of {who} that are not valid, or too long for the service or its user",
                amount(entry, PACKETS)
            )
        }
        Reason::REASON_FILE_FULL => {
            "what came after the file was as long as it may be (max_file_size_bytes)".to_owned()
        }
        Reason::REASON_STOPPED_LATE => late(entry, &who),
        Reason::REASON_CLONE_FAILED => {
            let packets = amount(entry, PACKETS);
            format!(
                "{packets} of buffers that went to a clone that failed or was not read (transfer_on_clone)"
            )
        }
        Reason::REASON_EVENTS_DROPPED => {
            let events = amount(entry, ("event", "events"));
            format!(
                "{events} of the service (clocks, other sessions): the session had as many as it keeps until it is read"
            )
        }
        Reason::REASON_OTHERS => {
            format!("{} of other programs", amount(entry, ("loss", "losses")))
        }
        // Of a newer service.
        reason => {
            format!("{who}, for reason {}: {}", reason.0, entry.count.unwrap_or(0))
        }
    }
}

/// Why data sources were not recorded, if the reason is one for that.
fn why_not_recorded(reason: Reason) -> Option<&'static str> {
    let why = match reason {
        Reason::REASON_SESSION_FULL => "the session has as many data sources as it may have",
        Reason::REASON_USER_FULL => {
            "programs of its user, or of all users, have as many as they may have"
        }
        Reason::REASON_NO_MEMORY => "there was no shared memory for it",
        Reason::REASON_NAME_NOT_MATCHED => "matching its name took too long",
        Reason::REASON_INSTANCE_REFUSED => {
            "its program refused: it cannot record this, did not start in time, or records as often as it may"
        }
        Reason::REASON_LOCKED_OUT => {
            "a session lets programs of the service's user record only (lockdown_mode)"
        }
        _ => return None,
    };
    Some(why)
}

fn not_recorded(entry: &LossLedgerEntry, who: &str, why: &str) -> String {
    let source = match &entry.data_source_name {
        Some(name) => format!("{name} of {who}"),
        None => format!("data sources of {who}"),
    };
    let more = match entry.count.unwrap_or(0).saturating_sub(1) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let perhaps = match (entry.count, entry.at_least) {
        (None | Some(0), Some(true)) => "perhaps ",
        _ => "",
    };
    format!("{perhaps}{source}{more}: not recorded, because {why}")
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

fn refused_chunks(entry: &LossLedgerEntry, who: &str) -> String {
    let chunks = amount(entry, ("chunk", "chunks"));
    format!(
        "{chunks} of {who} for a buffer that is not its own, or in memory that its user may not have"
    )
}

fn late(entry: &LossLedgerEntry, who: &str) -> String {
    let source = entry.data_source_name.as_deref().unwrap_or("a data source");
    let packets = amount(entry, PACKETS);
    format!(
        "{packets} of {source} of {who}, which had not stopped in time (data_source_stop_timeout_ms)"
    )
}

/// A loss of triggers, if the reason is one for that.
fn of_triggers(reason: Reason, entry: &LossLedgerEntry, who: &str) -> Option<String> {
    let triggers = || amount(entry, ("trigger", "triggers"));
    let text = match reason {
        Reason::REASON_SNAPSHOT_NOT_TAKEN => {
            let snapshots = amount(entry, ("snapshot", "snapshots"));
            format!(
                "{snapshots} that triggers of {who} asked for: too many waited, or nobody took them"
            )
        }
        Reason::REASON_TRIGGERS_DROPPED => {
            format!("{} of {who}: the session had as many as it keeps until it is read", triggers())
        }
        Reason::REASON_TRIGGER_NOT_MATCHED => {
            format!(
                "{} of {who} had no effect, perhaps wrongly: matching its name took too long",
                triggers()
            )
        }
        _ => return None,
    };
    Some(text)
}

const PACKETS: (&str, &str) = ("packet", "packets");

/// How much was lost of what has this name: for one, and for several.
fn amount(entry: &LossLedgerEntry, (one, several): (&str, &str)) -> String {
    let count = |count: u64| match count {
        1 => format!("1 {one}"),
        _ => format!("{count} {several}"),
    };
    match (entry.count.unwrap_or(0), entry.at_least == Some(true)) {
        (0, _) => format!("perhaps {several}"),
        (known, true) => format!("at least {}", count(known)),
        (known, false) => count(known),
    }
}

/// The fields of one entry, with the names of the schema. A reason or a unit of a newer service is a number.
pub fn entry_json(json: &mut Json, entry: &LossLedgerEntry) {
    let name_or_number = |json: &mut Json, field, name: Option<&str>, number| match name {
        Some(name) => json.text(field, Some(name)),
        None => json.scalar(field, number),
    };
    let reason = entry.reason;
    name_or_number(json, "reason", reason.and_then(Reason::name), reason.map(|it| it.0));
    json.text("producer_name", entry.producer_name.as_deref());
    json.scalar("producer_id", entry.producer_id);
    json.scalar("uid", entry.uid);
    json.scalar("pid", entry.pid);
    json.scalar("machine_id", entry.machine_id);
    json.text("data_source_name", entry.data_source_name.as_deref());
    json.scalar("first_timestamp", entry.first_timestamp);
    json.scalar("last_timestamp", entry.last_timestamp);
    json.scalar("count", entry.count);
    let unit = entry.unit;
    name_or_number(json, "unit", unit.and_then(LossLedgerUnit::name), unit.map(|it| it.0));
    json.scalar("at_least", entry.at_least);
}
