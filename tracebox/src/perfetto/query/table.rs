//! A service's state as a table.

use std::fmt;

use protos::TracingServiceState;

/// Columns of a terminal that nobody asked how wide it is.
const COLUMNS: usize = 80;

/// The state as text; lines are cut unless `long`.
#[must_use]
pub fn table(state: &TracingServiceState, long: bool) -> String {
    let mut table = Table { text: String::new(), long };
    table.text.push_str("Not meant for machine consumption: use --query --json for scripts.\n\n");
    let version = state.tracing_service_version.as_deref().unwrap_or("unknown");
    table.line(format_args!("Service: {version}"));
    let (sessions, started) = (state.num_sessions, state.num_sessions_started);
    let (sessions, started) = (sessions.unwrap_or(0), started.unwrap_or(0));
    table.line(format_args!("Sessions: {sessions} ({started} started)"));
    table.sessions(state);
    table.producers(state);
    table.data_sources(state);
    table.text
}

struct Table {
    text: String,
    long: bool,
}

impl Table {
    fn line(&mut self, text: fmt::Arguments<'_>) {
        let text = text.to_string();
        let columns = if self.long { usize::MAX } else { COLUMNS };
        // Names come from any process.
        let visible = |c: char| if c.is_control() { '\u{fffd}' } else { c };
        self.text.extend(text.trim_end().chars().take(columns).map(visible));
        self.text.push('\n');
    }

    fn title(&mut self, text: &str) {
        self.line(format_args!(""));
        self.line(format_args!("{text}"));
    }

    fn sessions(&mut self, state: &TracingServiceState) {
        self.title("TRACING SESSIONS:");
        self.line(format_args!(
            "{:<6} {:<6} {:<18} {:<20} {:<12} {:<8} #SOURCES",
            "ID", "UID", "STATE", "NAME", "BUF (#) KB", "DUR (s)"
        ));
        for session in &state.tracing_sessions {
            let kb: u64 = session.buffer_size_kb.iter().map(|&kb| u64::from(kb)).sum();
            self.line(format_args!(
                "{:<6} {:<6} {:<18} {:<20} {:<12} {:<8} {}",
                session.id.unwrap_or(0),
                session.consumer_uid.unwrap_or(-1),
                session.state.as_deref().unwrap_or(""),
                session.unique_session_name.as_deref().unwrap_or(""),
                format!("({}) {kb}", session.buffer_size_kb.len()),
                f64::from(session.duration_ms.unwrap_or(0)) / 1000.0,
                session.num_data_sources.unwrap_or(0),
            ));
        }
        if state.tracing_sessions.is_empty() && state.supports_tracing_sessions != Some(true) {
            self.line(format_args!("(this service does not tell)"));
        }
    }

    fn producers(&mut self, state: &TracingServiceState) {
        // Remote machines are rare: the column is there when one is.
        let remote = state.producers.iter().any(|producer| producer.machine_id.unwrap_or(0) != 0);
        let machine = |text: &str| if remote { format!("{text:<12} ") } else { String::new() };
        self.title("PRODUCERS:");
        self.line(format_args!(
            "{:<6} {}{:<8} {:<6} {:<32} SDK",
            "ID",
            machine("MACHINE"),
            "PID",
            "UID",
            "NAME"
        ));
        for producer in &state.producers {
            self.line(format_args!(
                "{:<6} {}{:<8} {:<6} {:<32} {}",
                producer.id.unwrap_or(0),
                machine(producer.machine_name.as_deref().unwrap_or("")),
                producer.pid.unwrap_or(0),
                producer.uid.unwrap_or(-1),
                producer.name.as_deref().unwrap_or(""),
                producer.sdk_version.as_deref().unwrap_or(""),
            ));
        }
    }

    fn data_sources(&mut self, state: &TracingServiceState) {
        self.title("DATA SOURCES:");
        self.line(format_args!("{:<40} {:<6} PRODUCER", "NAME", "ID"));
        for source in &state.data_sources {
            let id = source.producer_id.unwrap_or(0);
            let producer = state.producers.iter().find(|producer| producer.id == Some(id));
            let producer = producer.and_then(|producer| producer.name.as_deref()).unwrap_or("");
            let descriptor = source.ds_descriptor.as_ref();
            let name = descriptor.and_then(|descriptor| descriptor.name.as_deref()).unwrap_or("");
            self.line(format_args!("{name:<40} {id:<6} {producer}"));
        }
    }
}

#[cfg(test)]
mod tests {
    use protos::{
        DataSourceDescriptor, TracingServiceStateDataSource, TracingServiceStateProducer,
        TracingServiceStateTracingSession,
    };

    use super::*;

    #[test]
    fn whole_and_cut() {
        let state = TracingServiceState {
            tracing_service_version: Some("v1".into()),
            num_sessions: Some(1),
            num_sessions_started: Some(1),
            producers: vec![TracingServiceStateProducer {
                id: Some(3),
                pid: Some(42),
                uid: Some(0),
                name: Some(format!("evil\x1b[31m{}", "x".repeat(100))),
                ..Default::default()
            }],
            data_sources: vec![TracingServiceStateDataSource {
                producer_id: Some(3),
                ds_descriptor: Some(DataSourceDescriptor {
                    name: Some("linux.sys_stats".into()),
                    ..Default::default()
                }),
                ..Default::default()
            }],
            tracing_sessions: vec![TracingServiceStateTracingSession {
                id: Some(1),
                state: Some("STARTED".into()),
                buffer_size_kb: vec![64, 32],
                duration_ms: Some(1500),
                ..Default::default()
            }],
            ..Default::default()
        };
        let long = table(&state, true);
        assert!(long.contains(&"x".repeat(100)), "{long}");
        assert!(!long.contains('\x1b'), "{long}");
        assert!(long.contains("(2) 96       1.5"), "{long}");
        assert!(long.contains("linux.sys_stats"), "{long}");
        assert!(!long.contains("MACHINE"), "{long}");
        assert!(table(&state, false).lines().all(|line| line.chars().count() <= COLUMNS));
    }
}
