//! Statistics as a table for people and as JSON for programs.

use std::fmt::Write;

use super::{SliceStats, Stats, kind_name};
use crate::escape::is_hidden;
use crate::json::Json;

/// Characters of a name that a table shows.
const NAME_CHARS: usize = 48;

/// How buffers are made larger, however the trace was recorded.
const BUFFER_SETTING: &str = "size_kb in the config";

/// A text of the trace without what could control a terminal.
fn visible(text: &str) -> String {
    text.chars().map(|c| if is_hidden(c) { '?' } else { c }).collect()
}

impl Stats {
    /// A table with at most `rows` rows of each part.
    #[must_use]
    pub fn table(&self, rows: usize) -> String {
        let mut out = String::new();
        let mut line = |text: std::fmt::Arguments<'_>| {
            // A `String` takes everything.
            let _ = writeln!(out, "{text}");
        };
        line(format_args!("packets     {:>14}", self.packets));
        line(format_args!("bytes       {:>14}", self.bytes));
        if self.compressed.packets > 0 {
            line(format_args!("compressed  {:>14}  packets", self.compressed.packets));
        }
        line(format_args!("events      {:>14}", self.events));
        line(format_args!("duration_ns {:>14}", self.duration_ns()));
        line(format_args!("losses      {:>14}  gaps in sequences", self.losses));
        for (who, lost) in self.lost_lines() {
            line(format_args!("\nLOST, as the {who} says"));
            for text in lost {
                line(format_args!("{}", visible(&text)));
            }
        }
        line(format_args!("\n{:>12} {:>14}  KIND", "PACKETS", "BYTES"));
        let mut kinds: Vec<_> = self.kinds.iter().collect();
        kinds.sort_by_key(|(_, total)| std::cmp::Reverse(total.bytes));
        for (number, total) in kinds.iter().take(rows) {
            let name = if **number == 0 { "(no data)" } else { kind_name(**number) };
            line(format_args!("{:>12} {:>14}  {name}", total.packets, total.bytes));
        }
        line(format_args!(
            "\n{:>12} {:>14} {:>8} {:>8} {:>7}  SEQUENCE",
            "PACKETS", "BYTES", "PID", "UID", "LOSSES"
        ));
        let mut sequences: Vec<_> = self.sequences.iter().collect();
        sequences.sort_by_key(|(_, sequence)| std::cmp::Reverse(sequence.total.bytes));
        for (id, sequence) in sequences.iter().take(rows) {
            let number = |value: Option<i32>| value.map_or("-".into(), |value| value.to_string());
            line(format_args!(
                "{:>12} {:>14} {:>8} {:>8} {:>7}  {}",
                sequence.total.packets,
                sequence.total.bytes,
                number(sequence.pid),
                number(sequence.uid),
                sequence.losses,
                if id.machine == 0 {
                    id.id.to_string()
                } else {
                    format!("{} of machine {}", id.id, id.machine)
                },
            ));
        }
        line(format_args!("\n{:>12} {:>14} {:>14}  SLICE", "COUNT", "TOTAL_NS", "MAX_NS"));
        for (name, SliceStats { count, total_ns, max_ns }) in self.top_slices(rows) {
            let shown = name.chars().take(NAME_CHARS);
            let name = visible(&shown.collect::<String>());
            line(format_args!("{count:>12} {total_ns:>14} {max_ns:>14}  {name}"));
        }
        if !self.problems.is_empty() {
            line(format_args!("\n{:>12}  PROBLEM", "COUNT"));
        }
        for (problem, count) in &self.problems {
            line(format_args!("{count:>12}  {}: {}", problem.name(), problem.advice()));
        }
        if let Some(error) = &self.error {
            line(format_args!("\n{error}"));
        }
        out
    }

    /// Who says what was lost, and the lines.
    fn lost_lines(&self) -> Vec<(&'static str, Vec<String>)> {
        let or = |lines: Vec<String>, none: &str| {
            if lines.is_empty() { vec![none.to_owned()] } else { lines }
        };
        let service = self.lost.iter().map(|lost| {
            let lines = lost.lines(BUFFER_SETTING);
            ("service", or(lines, "nothing"))
        });
        let kernel = &self.kernel_lost;
        let none = if kernel.is_counted() {
            "nothing"
        } else {
            "not known: the trace has no counters of its rings"
        };
        let kernel = kernel.has_rings().then(|| ("kernel", or(kernel.lines(), none)));
        service.chain(kernel).collect()
    }

    /// One JSON object, with at most `slices` names of slices.
    #[must_use]
    pub fn json(&self, slices: usize) -> String {
        let mut json = Json::default();
        json.object(|json| {
            json.scalar("packets", Some(self.packets));
            json.scalar("bytes", Some(self.bytes));
            json.scalar("compressed_packets", Some(self.compressed.packets));
            json.scalar("events", Some(self.events));
            json.scalar("first_ns", self.span_ns.map(|span| span.0));
            json.scalar("last_ns", self.span_ns.map(|span| span.1));
            json.scalar("losses", Some(self.losses));
            let kinds: Vec<_> = self.kinds.iter().collect();
            json.list("kinds", &kinds, |json, (number, total)| {
                json.scalar("field", Some(**number));
                json.text("name", Some(kind_name(**number)).filter(|name| !name.is_empty()));
                json.scalar("packets", Some(total.packets));
                json.scalar("bytes", Some(total.bytes));
            });
            let sequences: Vec<_> = self.sequences.iter().collect();
            json.list("sequences", &sequences, |json, (id, sequence)| {
                json.scalar("id", Some(id.id));
                json.scalar("machine", Some(id.machine).filter(|machine| *machine != 0));
                json.scalar("pid", sequence.pid);
                json.scalar("uid", sequence.uid);
                json.scalar("packets", Some(sequence.total.packets));
                json.scalar("bytes", Some(sequence.total.bytes));
                json.scalar("losses", Some(sequence.losses));
            });
            json.list("slices", &self.top_slices(slices), |json, (name, slices)| {
                json.text("name", Some(name));
                json.scalar("count", Some(slices.count));
                json.scalar("total_ns", Some(slices.total_ns));
                json.scalar("max_ns", Some(slices.max_ns));
            });
            let problems: Vec<_> = self.problems.iter().collect();
            json.list("problems", &problems, |json, (problem, count)| {
                json.text("name", Some(problem.name()));
                json.scalar("count", Some(**count));
            });
            if let Some(lost) = &self.lost {
                json.named_object("lost", |json| lost.json(json));
            }
            if self.kernel_lost.has_rings() {
                json.named_object("kernel_lost", |json| self.kernel_lost.json(json));
            }
            json.scalar("left_out", Some(self.left_out));
            let error = self.error.as_ref().map(ToString::to_string);
            json.text("error", error.as_deref());
        });
        json.finish()
    }
}
