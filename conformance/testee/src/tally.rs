//! Counts answered and skipped requests by category, because the runner only reports totals.

use crate::schema::conformance::ConformanceResponseResult as Answer;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Write as _};

/// Counts by syntax of the message and format of the request.
#[derive(Default)]
pub struct Tally {
    counts: BTreeMap<(&'static str, &'static str), Count>,
}

#[derive(Clone, Copy, Default)]
struct Count {
    answered: u32,
    skipped: u32,
}

impl Tally {
    /// Counts a request that is answered with a result.
    pub fn answer(&mut self, message: &str, format: &'static str) {
        self.counts.entry((syntax(message), format)).or_default().answered += 1;
    }

    /// Counts a request that is skipped, and returns the answer for it.
    pub fn skip(&mut self, message: &str, format: &'static str) -> Answer {
        self.counts.entry((syntax(message), format)).or_default().skipped += 1;
        Answer::Skipped(format!("{format} is not offered"))
    }

    /// Counts a request as skipped that was counted as answered before.
    pub fn forget(&mut self, message: &str, format: &'static str) -> Answer {
        self.counts.entry((syntax(message), format)).or_default().answered -= 1;
        self.skip(message, format)
    }

    /// Adds one line per category to the file: syntax, format, answered, skipped. The runner starts
    /// one process for each of its suites; they share the file.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn append_to(&self, path: &str) -> io::Result<()> {
        let mut text = String::new();
        for ((syntax, format), count) in &self.counts {
            text += &format!("{syntax}\t{format}\t{}\t{}\n", count.answered, count.skipped);
        }
        File::options().create(true).append(true).open(path)?.write_all(text.as_bytes())
    }
}

/// The column of the summary that a message belongs to.
fn syntax(message: &str) -> &'static str {
    match message.rsplit_once('.').map(|(package, _)| package) {
        Some("protobuf_test_messages.proto2") => "proto2",
        Some("protobuf_test_messages.proto3") => "proto3",
        Some("protobuf_test_messages.editions.proto2") => "editions-proto2",
        Some("protobuf_test_messages.editions.proto3") => "editions-proto3",
        Some("protobuf_test_messages.editions") => "edition-2023",
        _ => "other",
    }
}
