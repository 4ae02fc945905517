//! A service's state as JSON.
//!
//! The names are those of `tracing_service_state.proto`. Fields that the service did not set are absent; lists are
//! always there. Numbers are JSON numbers, also those of 64 bits.

use protos::{
    DataSourceDescriptor, TracingServiceState, TracingServiceStateDataSource,
    TracingServiceStateProducer, TracingServiceStateTracingSession,
};

/// The state as one JSON object, indented.
#[must_use]
pub fn print(state: &TracingServiceState) -> String {
    let mut json = Json::default();
    json.object(|json| {
        json.text("tracing_service_version", state.tracing_service_version.as_deref());
        json.number("num_sessions", state.num_sessions);
        json.number("num_sessions_started", state.num_sessions_started);
        json.list("tracing_sessions", &state.tracing_sessions, session);
        json.list("producers", &state.producers, producer);
        json.list("data_sources", &state.data_sources, data_source);
    });
    json.out.push('\n');
    json.out
}

fn session(json: &mut Json, session: &TracingServiceStateTracingSession) {
    json.number("id", session.id);
    json.number("consumer_uid", session.consumer_uid);
    json.text("state", session.state.as_deref());
    json.text("unique_session_name", session.unique_session_name.as_deref());
    let sizes: Vec<_> = session.buffer_size_kb.iter().map(u32::to_string).collect();
    json.raw("buffer_size_kb", &format!("[{}]", sizes.join(", ")));
    json.number("duration_ms", session.duration_ms);
    json.number("num_data_sources", session.num_data_sources);
    json.number("start_realtime_ns", session.start_realtime_ns);
    json.number("bugreport_score", session.bugreport_score);
    json.text("bugreport_filename", session.bugreport_filename.as_deref());
    json.number("is_started", session.is_started);
}

fn producer(json: &mut Json, producer: &TracingServiceStateProducer) {
    json.number("id", producer.id);
    json.text("name", producer.name.as_deref());
    json.number("pid", producer.pid);
    json.number("uid", producer.uid);
    json.text("sdk_version", producer.sdk_version.as_deref());
    json.number("frozen", producer.frozen);
    json.number("machine_id", producer.machine_id);
    json.text("machine_name", producer.machine_name.as_deref());
}

fn data_source(json: &mut Json, source: &TracingServiceStateDataSource) {
    let none = DataSourceDescriptor::default();
    let descriptor = source.ds_descriptor.as_ref().unwrap_or(&none);
    json.text("name", descriptor.name.as_deref());
    json.number("id", descriptor.id);
    json.number("producer_id", source.producer_id);
}

/// The JSON text so far.
#[derive(Default)]
struct Json {
    out: String,
    depth: usize,
    /// The innermost object or list has an element already.
    follows: bool,
}

impl Json {
    fn line(&mut self) {
        self.out.push('\n');
        self.out.extend(std::iter::repeat_n("  ", self.depth));
    }

    /// Begins a line, after a comma if it is not the first one.
    fn element(&mut self) {
        if std::mem::replace(&mut self.follows, true) {
            self.out.push(',');
        }
        self.line();
    }

    fn enclosed(&mut self, brackets: [char; 2], fill: impl FnOnce(&mut Self)) {
        self.out.push(brackets[0]);
        self.depth += 1;
        self.follows = false;
        fill(self);
        self.depth -= 1;
        if self.follows {
            self.line();
        }
        self.out.push(brackets[1]);
        self.follows = true;
    }

    fn object(&mut self, fill: impl FnOnce(&mut Self)) {
        self.enclosed(['{', '}'], fill);
    }

    fn name(&mut self, name: &str) {
        self.element();
        self.quoted(name);
        self.out.push_str(": ");
    }

    fn raw(&mut self, name: &str, value: &str) {
        self.name(name);
        self.out.push_str(value);
    }

    /// A number or a truth value: Rust prints both as JSON does.
    fn number(&mut self, name: &str, value: Option<impl ToString>) {
        if let Some(value) = value {
            self.raw(name, &value.to_string());
        }
    }

    fn text(&mut self, name: &str, value: Option<&str>) {
        if let Some(value) = value {
            self.name(name);
            self.quoted(value);
        }
    }

    fn list<T>(&mut self, name: &str, values: &[T], fill: impl Fn(&mut Self, &T)) {
        self.name(name);
        self.enclosed(['[', ']'], |json| {
            for value in values {
                json.element();
                json.object(|json| fill(json, value));
            }
        });
    }

    /// Names come from any process: control characters are escaped, so that none reaches a terminal.
    fn quoted(&mut self, text: &str) {
        self.out.push('"');
        for c in text.chars() {
            match c {
                '"' | '\\' => self.out.extend(['\\', c]),
                '\n' => self.out.push_str("\\n"),
                '\t' => self.out.push_str("\\t"),
                c if c.is_control() => self.out.push_str(&format!("\\u{:04x}", u32::from(c))),
                c => self.out.push(c),
            }
        }
        self.out.push('"');
    }
}

#[cfg(test)]
mod tests;
