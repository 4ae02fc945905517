//! What the interceptor `console` prints.

use std::collections::BTreeMap;
use std::fs::File;

use protos::{ConsoleConfig, DataSourceConfig, InterceptorConfig, TrackEventConfig};
use tracing_sdk::interceptor::{self, Console};
use tracing_sdk::session::{Config, Session};
use tracing_sdk::{Track, categories, counter, end, instant, slice, state};

use crate::alone::alone;
use crate::session::TempPath;

categories! {
    FOO = "foo";
    LONG_NAME = "longname";
}

const MS: u64 = 1_000_000;

fn config(name: &str, console: ConsoleConfig, track_event: TrackEventConfig) -> DataSourceConfig {
    DataSourceConfig {
        name: Some("track_event".to_owned()),
        interceptor_config: Some(InterceptorConfig {
            name: Some(name.to_owned()),
            console_config: Some(console),
            ..Default::default()
        }),
        track_event_config: Some(track_event),
        ..Default::default()
    }
}

fn categories() -> TrackEventConfig {
    TrackEventConfig {
        enabled_categories: vec!["foo".to_owned(), "longname".to_owned()],
        disabled_categories: vec!["*".to_owned()],
        ..Default::default()
    }
}

/// The lines that are printed while `work` runs.
fn printed(
    name: &'static str,
    console: ConsoleConfig,
    track_event: TrackEventConfig,
    work: impl FnOnce(),
) -> Vec<String> {
    let _alone = alone();
    let path = TempPath::new(name);
    let file = path.0.clone();
    interceptor::register(name, move |config| {
        Console::new(config).output(File::create(&file).expect("a file"))
    });
    let config = Config::new().data_source(config(name, console, track_event));
    let session = Session::in_process(&config).expect("a session");
    session.start().expect("a start");
    work();
    drop(session);
    let text = std::fs::read_to_string(&path.0).expect("a file");
    assert!(text.is_empty() || text.ends_with('\n'));
    text.lines().map(str::to_owned).collect()
}

fn plain(name: &'static str, work: impl FnOnce()) -> Vec<String> {
    printed(name, ConsoleConfig::default(), categories(), work)
}

/// A line without its time.
fn after_time(line: &str) -> &str {
    let (time, rest) = line.split_at_checked(10).expect("a time");
    assert!(time.starts_with('[') && time.ends_with("] "), "{line}");
    let seconds = time.trim_matches(|c: char| "[] ".contains(c));
    let (_, thousandths) = seconds.split_once('.').expect("a point");
    assert_eq!(thousandths.len(), 3);
    seconds.parse::<f64>().expect("a number");
    rest
}

/// Lines without times, tracks and durations: on a slow machine any slice may take the 10 ms from which one is printed.
fn without_tracks(lines: &[String]) -> Vec<&str> {
    let text = |line| {
        let text = after_time(line).get(18..).expect("a track");
        match text.rsplit_once(" +") {
            Some((text, duration)) if duration.ends_with("ms") => text,
            _ => text,
        }
    };
    lines.iter().map(|line| text(line.as_str())).collect()
}

/// The events and the lines of the test of the C++ SDK (`ConsoleInterceptorVerify`), other than their names.
#[test]
fn lines_are_those_of_the_cpp_sdk() {
    let lines = plain("console-cpp", || {
        instant!(FOO, "alone");
        let outer = slice!(FOO, "outer");
        let inner = slice!(FOO, "inner");
        instant!(FOO, "in both");
        instant!(FOO, "arguments", foo = 1, bar = "hello", often = @"text");
        drop(inner);
        let track = Track::named("async");
        let moved = slice!(LONG_NAME, "moved", track = track);
        std::thread::spawn(|| {
            let _slice = slice!(FOO, "on a thread");
            instant!(FOO, "in it");
            drop(moved);
        })
        .join()
        .expect("no panic");
        counter!(FOO, "not printed", 1);
        state!(FOO, "mode", "busy");
        let dict = BTreeMap::from([("key", 123)]);
        instant!(
            FOO,
            "nested",
            dict = dict,
            array = &["first", "second"][..],
            half = 0.5,
            yes = true
        );
        drop(outer);
    });
    assert_eq!(
        without_tracks(&lines),
        [
            "foo   alone",
            "foo   outer {",
            "foo   -  inner {",
            "foo   -  -  in both",
            "foo   -  -  arguments(foo:1, bar:hello, often:text)",
            "foo   -  } inner",
            "longn moved {",
            "foo   on a thread {",
            "foo   -  in it",
            "longn } moved",
            "foo   } on a thread",
            "foo   busy",
            "foo   -  nested(dict:{key:123}, array:[first, second], half:0.500000, yes:true)",
            "foo   } outer",
        ]
    );
}

#[test]
fn titles_and_durations() {
    let lines = plain("console-titles", || {
        let now = os::clock::boot_ns();
        let track = Track::named("a title of many letters");
        let slice = slice!(FOO, "long", track = track, ts = now - 25 * MS);
        end!(slice, ts = now - 5 * MS, n = 1);
        let short = slice!(FOO, "short", track = Track::named("s"), ts = now - 15 * MS);
        end!(short, ts = now - 6 * MS);
        instant!(FOO, "no descriptor", track = Track::from_uuid(77));
        std::thread::Builder::new()
            .name("worker".to_owned())
            .spawn(|| instant!(FOO, "x"))
            .expect("a thread")
            .join()
            .expect("no panic");
    });
    let lines: Vec<_> = lines.iter().map(|line| after_time(line)).collect();
    assert_eq!(
        lines,
        [
            "a title of many   foo   long {",
            "a title of many   foo   } long(n:1) +20ms",
            "s                 foo   short {",
            "s                 foo   } short",
            "77                foo   no descriptor",
            "worker            foo   x",
        ]
    );
}

/// The C++ SDK prints other times for these.
#[test]
fn times_are_right_for_all_clocks() {
    for (name, multiplier, is_absolute) in [
        ("console-ns", 1, false),
        ("console-us", 1000, false),
        ("console-absolute", 1, true),
        ("console-absolute-us", 1000, true),
    ] {
        let track_event = TrackEventConfig {
            timestamp_unit_multiplier: Some(multiplier),
            disable_incremental_timestamps: Some(is_absolute),
            ..categories()
        };
        let before = os::clock::boot_ns();
        let lines = printed(name, ConsoleConfig::default(), track_event, || {
            instant!(FOO, "first");
            // Its descriptor takes part of the time.
            let slice = slice!(FOO, "slice", track = Track::named("console clocks"));
            instant!(FOO, "ten seconds ago", ts = os::clock::boot_ns() - 10_000 * MS);
            drop(slice);
            let begin = os::clock::boot_ns() - 30 * MS;
            let slice = slice!(FOO, "slice", ts = begin);
            drop(slice);
        });
        #[allow(clippy::cast_precision_loss)]
        let took = (os::clock::boot_ns() - before) as f64 / 1e9;
        let seconds: Vec<f64> =
            lines.iter().map(|line| line[1..8].trim().parse().expect("seconds")).collect();
        assert_eq!(seconds.len(), 6, "{lines:?}");
        assert!((-10.001..=took).contains(&seconds[2]) && seconds[2] < -9.0 + took, "{lines:?}");
        for at in [0, 1, 3, 5] {
            assert!((-0.001..=took + 0.001).contains(&seconds[at]), "{lines:?}");
        }
        assert!(lines[5].contains("} slice +"), "{lines:?}");
    }
}

#[test]
fn an_event_is_one_line_whatever_its_text() {
    let lines = plain("console-text", || {
        instant!(FOO, name = "two\nlines", key = "\x1b[2J\0", ü = "ü\u{9b}");
    });
    assert_eq!(without_tracks(&lines), [r"foo   two\nlines(key:\u{1b}[2J\u{0}, ü:ü\u{9b})"]);
}

#[test]
fn colours_are_as_the_config_says() {
    let work = || {
        let slice = slice!(FOO, "slice", n = 1);
        drop(slice);
    };
    let with = |enable_colors| ConsoleConfig { enable_colors, ..Default::default() };
    // A file is no terminal.
    for (name, colors) in [("console-no", None), ("console-off", Some(false))] {
        let lines = printed(name, with(colors), categories(), work);
        assert!(!lines.concat().contains('\x1b'), "{lines:?}");
    }
    let lines = printed("console-on", with(Some(true)), categories(), work);
    assert!(lines.iter().all(|line| line.starts_with("\x1b[90m[") && line.ends_with("\x1b[0m")));
    assert!(lines.iter().all(|line| line.contains("\x1b[48;2;") && line.contains("\x1b[38;2;")));
    // Without the colours, the same columns.
    let plain: Vec<String> = lines
        .iter()
        .map(|line| {
            let mut parts = line.split('\x1b');
            let first = parts.next().unwrap_or_default().to_owned();
            first
                + &parts
                    .filter_map(|part| part.split_once('m'))
                    .map(|(_, text)| text)
                    .collect::<String>()
        })
        .collect();
    assert_eq!(without_tracks(&plain), ["foo   slice {(n:1)", "foo   } slice"]);
}

#[cfg(feature = "text")]
#[test]
fn a_config_of_the_cpp_sdk_is_understood() {
    let text = |name: &str| {
        format!(
            r#"buffers {{ size_kb: 1024 }} data_sources {{ config {{ name: "track_event"
            track_event_config {{ enabled_categories: "foo" disabled_categories: "*" }}
            interceptor_config {{ name: "{name}" console_config {{
            output: OUTPUT_STDERR enable_colors: false }} }} }} }}"#
        )
    };
    let _alone = alone();
    let config = Config::from_text(&text("console")).expect("a config");
    let sources = config.to_message().data_sources;
    let interceptor =
        sources[0].config.as_ref().and_then(|config| config.interceptor_config.clone());
    let console = ConsoleConfig {
        output: Some(protos::ConsoleConfigOutput::OUTPUT_STDERR),
        enable_colors: Some(false),
        ..Default::default()
    };
    let expected = InterceptorConfig {
        name: Some("console".to_owned()),
        console_config: Some(console),
        ..Default::default()
    };
    assert_eq!(interceptor, Some(expected.clone()));
    // And it reaches the program.
    let (send, receive) = std::sync::mpsc::channel();
    interceptor::register("console of a text", move |config| {
        send.send(config.interceptor_config.clone()).expect("a test");
        Console::new(config)
    });
    let config = Config::from_text(&text("console of a text")).expect("a config");
    let session = Session::in_process(&config).expect("a session");
    session.start().expect("a start");
    let name = Some("console of a text".to_owned());
    assert_eq!(receive.recv().expect("a config"), Some(InterceptorConfig { name, ..expected }));
}
