//! What a user sees of a recording in the terminal.

use std::io::Cursor;
use std::thread;

use tracing_file::timeline::{self, Options};
use tracing_sdk::{Flow, Track, Unit, categories, counter, end, instant, slice, state};

use crate::events::recorded;

categories! {
    /// What the test records.
    T = "timeline";
}

static JOBS: Track<'_> = Track::named("Jobs");

/// The line without its time, ids of processes and threads, and durations.
fn masked(line: &str) -> String {
    let own = format!(" {}", std::process::id());
    let words = line.split_whitespace().skip(1).collect::<Vec<_>>().join(" ");
    let (place, rest) = words.split_once(&own).expect("the process");
    assert!(!place.is_empty(), "{line}");
    let mut out: Vec<&str> = Vec::new();
    for word in rest.split(' ') {
        match (word, out.last()) {
            ("ns" | "us" | "ms" | "s", Some(number)) if number.parse::<f64>().is_ok() => {
                *out.last_mut().expect("a number") = "TIME";
            }
            _ => out.push(word),
        }
    }
    out.join(" ").trim_start().to_owned()
}

#[test]
fn a_line_for_each_event() {
    let trace = recorded("timeline", || {
        thread::Builder::new()
            .name("worker".into())
            .spawn(|| {
                let flow = Flow::global(7);
                let outer = slice!(T, "outer", path = "a b", flow = flow);
                instant!(T, "inner", n = 1, list = [1, 2], end_flow = flow);
                counter!(T, "queue", 3, unit = Unit::Count);
                state!(T, "power", "busy");
                let job = slice!(T, "job", track = JOBS.child("part").id(1));
                end!(job);
                end!(outer, ok = true);
            })
            .expect("a thread")
            .join()
            .expect("no panic");
    });
    let mut lines = Vec::new();
    timeline::write(&mut Cursor::new(trace), &mut lines, &Options::default()).expect("lines");
    let lines = String::from_utf8(lines).expect("text");
    let tid = |line: &str| {
        let (before, rest) = line.split_once("/ worker ").unwrap_or((line, ""));
        match rest.split_once(' ') {
            Some((_, rest)) => format!("{before}/ worker {rest}"),
            None => before.to_owned(),
        }
    };
    let shown: Vec<String> = lines.lines().map(|line| tid(&masked(line))).collect();
    assert_eq!(
        shown,
        [
            "/ worker begin outer [timeline] TIME path=\"a b\" ->7",
            "/ worker instant inner [timeline] n=1 list=[1, 2] ->|7",
            "counter queue = 3 count",
            "/ power state busy [timeline]",
            "/ Jobs / part begin job [timeline] TIME",
            "/ Jobs / part end job TIME",
            "/ worker end outer TIME ok=true",
        ],
        "{lines}"
    );
}
