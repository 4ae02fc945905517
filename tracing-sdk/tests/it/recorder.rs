use std::time::Duration;

use tracing_sdk::session::{Config, Fill, FlightRecorder};
use tracing_sdk::{categories, instant};

use crate::alone::alone;
use crate::session::TempPath;
use crate::trace::events;

categories! { R = "r"; }

fn recorder() -> FlightRecorder {
    let config = Config::new().buffer_kb(1024, Fill::Ring).track_events(&["r"]);
    FlightRecorder::start(config).expect("a recorder")
}

fn saved(path: &TempPath) -> Vec<String> {
    events(&std::fs::read(&path.0).expect("a trace that was saved"))
}

#[test]
fn it_saves_again_and_again() {
    let _alone = alone();
    let path = TempPath::new("dump");
    let recorder = recorder();
    instant!(R, "one");
    recorder.dump(&path.0).expect("a dump");
    assert_eq!(saved(&path), ["instant r one"]);
    instant!(R, "two");
    recorder.dump(&path.0).expect("a dump");
    assert_eq!(saved(&path), ["instant r one", "instant r two"]);
    let mut trace = Vec::new();
    recorder.dump_into(&mut trace).expect("a dump");
    assert_eq!(events(&trace), ["instant r one", "instant r two"]);
    let beside = std::env::temp_dir().join("no such directory").join("trace");
    assert!(recorder.dump(beside).is_err());
}

#[test]
fn it_saves_what_came_before_a_panic() {
    let _alone = alone();
    let path = TempPath::new("panic");
    let recorder = recorder();
    recorder.dump_on_panic(&path.0);
    let work = || {
        instant!(R, "the reason");
        panic!("on purpose");
    };
    assert!(std::panic::catch_unwind(work).is_err());
    assert_eq!(saved(&path), ["instant r the reason"]);
    drop(recorder);
    // Without the recorder the hook does what the one before it did.
    std::fs::remove_file(&path.0).expect("the file");
    assert!(std::panic::catch_unwind(work).is_err());
    assert!(!path.0.exists());
}

#[test]
fn it_saves_slow_work() {
    let _alone = alone();
    let (slow, fast) = (TempPath::new("slow"), TempPath::new("fast"));
    let recorder = recorder();
    let hour = Duration::from_secs(3600);
    assert_eq!(recorder.dump_if_slow(hour, &fast.0, || 1), 1);
    recorder.dump_if_slow(Duration::ZERO, &slow.0, || instant!(R, "slow"));
    // Waits for the thread that saves.
    drop(recorder);
    assert_eq!(saved(&slow), ["instant r slow"]);
    assert!(!fast.0.exists());
}
