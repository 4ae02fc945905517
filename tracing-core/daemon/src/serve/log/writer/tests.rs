use super::*;
use std::sync::mpsc;

/// A writer whose reader takes a line when the test says so.
struct Reader {
    allow: mpsc::Sender<()>,
    lines: mpsc::Receiver<String>,
}

impl Reader {
    fn new() -> (Self, Writer) {
        let ((allow, allowed), (line, lines)) = (mpsc::channel(), mpsc::channel());
        let log = move |_, text: &str| {
            // Once the test has dropped its end, nothing waits.
            let _ = allowed.recv();
            let _ = line.send(text.to_owned());
        };
        (Self { allow, lines }, Writer::new(Box::new(log)))
    }

    fn next(&self) -> String {
        self.allow.send(()).unwrap();
        self.lines.recv().unwrap()
    }
}

#[test]
fn lines_come_in_their_order_and_all_of_them_before_the_end() {
    let (reader, mut writer) = Reader::new();
    for line in 0..10 {
        writer.lines().write(LogLevel::Info, &line.to_string());
    }
    assert_eq!(reader.next(), "0");
    let Reader { allow, lines } = reader;
    drop(allow);
    writer.finish();
    let rest: Vec<String> = lines.into_iter().collect();
    assert_eq!(rest, (1..10).map(|line| line.to_string()).collect::<Vec<_>>());
}

#[test]
fn a_reader_that_stands_still_costs_lines_and_no_time() {
    let (reader, writer) = Reader::new();
    writer.lines().write(LogLevel::Info, "first");
    assert_eq!(reader.next(), "first");
    // The thread has taken a line, or is about to.
    let count = 3 * LOG_LINES_WAITING_MAX as u64;
    for _ in 0..count {
        writer.lines().write(LogLevel::Info, "line");
    }
    let queue = LOG_LINES_WAITING_MAX as u64;
    for _ in 0..queue {
        assert_eq!(reader.next(), "line");
    }
    // What is left comes before the end. There is one line more if the thread had taken one.
    let Reader { allow, lines } = reader;
    drop(allow);
    drop(writer);
    let mut rest: Vec<String> = lines.into_iter().collect();
    let told = rest.pop().unwrap();
    assert!(rest.is_empty() || rest == ["line"], "{rest:?}");
    let missing = count - queue - rest.len() as u64;
    assert_eq!(told, format!("{missing} messages not shown: the log was not read in time"));
}

/// Lines are missing only while the queue is full.
#[test]
fn a_reader_that_goes_on_gets_all_lines_again() {
    let (reader, writer) = Reader::new();
    for _ in 0..3 * LOG_LINES_WAITING_MAX {
        writer.lines().write(LogLevel::Info, "line");
    }
    for _ in 0..LOG_LINES_WAITING_MAX {
        assert_eq!(reader.next(), "line");
    }
    writer.lines().write(LogLevel::Info, "last");
    let Reader { allow, lines } = reader;
    drop(allow);
    drop(writer);
    assert!(lines.into_iter().any(|line| line == "last"));
}

/// The end of the service does not wait for ever; the test hangs if it does.
#[test]
fn the_end_does_not_wait_for_a_reader_that_stands_still() {
    let (reader, mut writer) = Reader::new();
    for _ in 0..10 {
        writer.lines().write(LogLevel::Info, "line");
    }
    writer.finish();
    assert!(reader.lines.try_recv().is_err());
    drop(writer);
}

#[test]
fn a_line_has_a_bound() {
    let (reader, writer) = Reader::new();
    writer.lines().write(LogLevel::Info, &"ä".repeat(LOG_LINE_BYTES_MAX));
    assert_eq!(reader.next().len(), LOG_LINE_BYTES_MAX);
    writer.lines().write(LogLevel::Info, &format!("x{}", "ä".repeat(LOG_LINE_BYTES_MAX)));
    assert_eq!(reader.next().len(), LOG_LINE_BYTES_MAX - 1);
}

/// A function that panics ends the thread; the service goes on without a log.
#[test]
fn a_function_that_panics_stops_nothing() {
    let mut writer = Writer::new(Box::new(|_, _| panic!("by the test")));
    writer.lines().write(LogLevel::Info, "line");
    while lock(&writer.0.0.state).is_running {
        std::thread::yield_now();
    }
    for _ in 0..2 * LOG_LINES_WAITING_MAX {
        writer.lines().write(LogLevel::Info, "line");
    }
    writer.finish();
}
