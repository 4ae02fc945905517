//! A service's state as a table for people, with the columns of `perfetto_cmd.cc`.

use std::fmt;

use protos::{
    DataSourceDescriptor, TracingServiceState, TracingServiceStateTracingSession, UserAccount,
};
use tracing_core::daemon::system::timezone;
use tracing_file::escape::is_hidden;
use tracing_file::losses::entry_line;

use super::account::items;

/// Columns of a line that is not `--long`.
const COLUMNS: usize = 80;

/// The state as text; lines are cut unless `long`.
#[must_use]
pub fn table(state: &TracingServiceState, long: bool) -> String {
    let mut table = Table { text: String::new(), long, cut: false };
    table.text.push_str("Not meant for machine consumption: use --query --json for scripts.\n\n");
    let version = state.tracing_service_version.as_deref().unwrap_or("unknown");
    table.line(format_args!("Service: {version}"));
    let (sessions, started) = (state.num_sessions, state.num_sessions_started);
    let (sessions, started) = (sessions.unwrap_or(0), started.unwrap_or(0));
    table.line(format_args!("Sessions: {sessions} ({started} started)"));
    table.counters(state);
    table.sessions(state);
    table.losses(state);
    table.producers(state);
    table.data_sources(state);
    table.accounts(state);
    if table.cut {
        table.text.push_str("\nLines are cut to 80 columns: --long shows them whole.\n");
    }
    table.text
}

struct Table {
    text: String,
    long: bool,
    /// Some line was longer than it may be.
    cut: bool,
}

impl Table {
    fn line(&mut self, text: fmt::Arguments<'_>) {
        let text = text.to_string();
        let text = text.trim_end();
        let columns = if self.long { usize::MAX } else { COLUMNS };
        self.cut |= text.chars().nth(columns).is_some();
        // Names come from any process: nothing in them may control the terminal.
        let visible = |c: char| if is_hidden(c) { '\u{fffd}' } else { c };
        self.text.extend(text.chars().take(columns).map(visible));
        self.text.push('\n');
    }

    fn title(&mut self, text: &str) {
        self.line(format_args!(""));
        self.line(format_args!("{text}"));
    }

    fn sessions(&mut self, state: &TracingServiceState) {
        self.title("TRACING SESSIONS:");
        self.line(format_args!(
            "{:<6} {:<6} {:<18} {:<12} {:<9} {:<4} {:<9} NAME",
            "ID", "UID", "STATE", "BUF (#) KB", "DUR (s)", "#DS", "STARTED"
        ));
        for session in &state.tracing_sessions {
            let kb: u64 = session.buffer_size_kb.iter().map(|&kb| u64::from(kb)).sum();
            self.line(format_args!(
                "{:<6} {:<6} {:<18} {:<12} {:<9} {:<4} {:<9} {}",
                session.id.unwrap_or(0),
                session.consumer_uid.unwrap_or(-1),
                session.state.as_deref().unwrap_or(""),
                format!("({}) {kb}", session.buffer_size_kb.len()),
                f64::from(session.duration_ms.unwrap_or(0)) / 1000.0,
                session.num_data_sources.unwrap_or(0),
                session.start_realtime_ns.map(local_time).unwrap_or_default(),
                session.unique_session_name.as_deref().unwrap_or(""),
            ));
        }
        if state.supports_tracing_sessions != Some(true) && state.tracing_sessions.is_empty() {
            self.line(format_args!("(this service is too old to list its sessions)"));
            return;
        }
        // A service lists the sessions of other users for root only, but counts them.
        let all = usize::try_from(state.num_sessions.unwrap_or(0)).unwrap_or(0);
        match all.saturating_sub(state.tracing_sessions.len()) {
            0 => {}
            1 => self.line(format_args!("(1 session of another user is not shown)")),
            hidden => self.line(format_args!("({hidden} sessions of other users are not shown)")),
        }
    }

    fn counters(&mut self, state: &TracingServiceState) {
        let Some(of) = &state.counters else { return };
        let [now, ever, refused] =
            [of.connected, of.connections, of.refused].map(|count| count.unwrap_or(0));
        let cut = [of.cut_slow, of.cut_broken, of.cut_stuck];
        let cut = cut.into_iter().flatten().fold(0, u64::saturating_add);
        self.line(format_args!(
            "Connections: {now} ({ever} since the start, {refused} refused, {cut} closed by the service)"
        ));
        self.line(format_args!("Turns longer than 100 ms: {}", of.slow_turns.unwrap_or(0)));
    }

    /// What the ledgers of the sessions have.
    fn losses(&mut self, state: &TracingServiceState) {
        let ledger = |session: &TracingServiceStateTracingSession| {
            session.loss_ledger.clone().unwrap_or_default().entries
        };
        if state.tracing_sessions.iter().all(|session| ledger(session).is_empty()) {
            return;
        }
        self.title("LOST IN SESSIONS:");
        self.line(format_args!("{:<6} WHAT", "ID"));
        for session in &state.tracing_sessions {
            for entry in ledger(session) {
                self.line(format_args!("{:<6} {}", session.id.unwrap_or(0), entry_line(&entry)));
            }
        }
    }

    /// Of each user what is more than nothing.
    fn accounts(&mut self, state: &TracingServiceState) {
        if state.accounts.is_empty() && state.all_users.is_none() {
            return;
        }
        self.title("ACCOUNTS:");
        self.line(format_args!(
            "{:<18} {:<24} {:>11} {:>11} {:>11}",
            "UID", "WHAT", "HELD", "MAX", "REFUSED"
        ));
        for account in &state.accounts {
            let who = match (account.uid, account.machine_id) {
                (None, _) => "(other machines)".into(),
                (Some(uid), None) => uid.cast_unsigned().to_string(),
                (Some(uid), Some(machine)) => format!("{} of {machine}", uid.cast_unsigned()),
            };
            self.account(&who, account);
        }
        if let Some(all) = &state.all_users {
            self.account("(all)", all);
        }
    }

    fn account(&mut self, who: &str, account: &UserAccount) {
        let text = |count: Option<u64>| count.map(|count| count.to_string()).unwrap_or_default();
        for (name, item) in items(account) {
            let Some(item) = item else { continue };
            if item.held.unwrap_or(0) == 0 && item.refused.unwrap_or(0) == 0 {
                continue;
            }
            let [held, max, refused] = [item.held, item.max, item.refused].map(text);
            self.line(format_args!("{who:<18} {name:<24} {held:>11} {max:>11} {refused:>11}"));
        }
        if let Some(holes @ 1..) = account.holes_named {
            let name = "holes_named";
            self.line(format_args!("{who:<18} {name:<24} {:>11} {:>11} {holes:>11}", "", ""));
        }
    }

    fn producers(&mut self, state: &TracingServiceState) {
        // Remote machines are rare: the column is there when one is.
        let remote = state.producers.iter().any(|producer| producer.machine_id.unwrap_or(0) != 0);
        let machine = |text: &str| if remote { format!("{text:<12} ") } else { String::new() };
        self.title("PRODUCERS:");
        self.line(format_args!(
            "{:<6} {}{:<8} {:<6} {:<5} {:<32} SDK",
            "ID",
            machine("MACHINE"),
            "PID",
            "UID",
            "FLAGS",
            "NAME"
        ));
        for producer in &state.producers {
            self.line(format_args!(
                "{:<6} {}{:<8} {:<6} {:<5} {:<32} {}",
                producer.id.unwrap_or(0),
                machine(producer.machine_name.as_deref().unwrap_or("")),
                producer.pid.unwrap_or(0),
                producer.uid.unwrap_or(-1),
                if producer.frozen == Some(true) { "F" } else { "" },
                producer.name.as_deref().unwrap_or(""),
                producer.sdk_version.as_deref().unwrap_or(""),
            ));
        }
    }

    fn data_sources(&mut self, state: &TracingServiceState) {
        self.title("DATA SOURCES:");
        self.line(format_args!("{:<40} {:<28} DETAILS", "NAME", "PRODUCER"));
        for source in &state.data_sources {
            let id = source.producer_id.unwrap_or(0);
            let producer = state.producers.iter().find(|producer| producer.id == Some(id));
            let producer = producer.and_then(|producer| producer.name.as_deref()).unwrap_or("");
            let descriptor = source.ds_descriptor.as_deref();
            let name = descriptor.and_then(|descriptor| descriptor.name.as_deref()).unwrap_or("");
            let details = descriptor.map(categories).unwrap_or_default();
            self.line(format_args!("{name:<40} {:<28} {details}", format!("{producer} ({id})")));
        }
    }
}

/// The categories that a data source offers: of track events, or of atrace.
fn categories(descriptor: &DataSourceDescriptor) -> String {
    let track_event = descriptor.track_event_descriptor.iter();
    let track_event = track_event.flat_map(|of| &of.available_categories).map(|of| &of.name);
    let atrace = descriptor.ftrace_descriptor.iter();
    let atrace = atrace.flat_map(|of| &of.atrace_categories).map(|of| &of.name);
    let names: Vec<_> = track_event.chain(atrace).filter_map(Option::as_deref).collect();
    names.join(",")
}

/// Hours, minutes and seconds of an instant, where this machine is.
fn local_time(realtime_ns: i64) -> String {
    const DAY_S: i64 = 24 * 60 * 60;
    let unix_s = realtime_ns.div_euclid(1_000_000_000);
    let local_s = unix_s.saturating_add(i64::from(timezone::offset_mins(unix_s)) * 60);
    let of_day = local_s.rem_euclid(DAY_S);
    format!("{:02}:{:02}:{:02}", of_day / 3600, of_day / 60 % 60, of_day % 60)
}

#[cfg(test)]
mod tests;
