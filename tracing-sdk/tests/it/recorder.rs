use std::future::{Future as _, pending};
use std::pin::pin;
use std::sync::mpsc::channel;
use std::task::{Context, Poll, Waker};
use std::time::{Duration, SystemTime};

use tracing_sdk::session::{Config, Fill, FlightRecorder, Trigger};
use tracing_sdk::{categories, instant, slice};

use crate::alone::alone;
use crate::session::{TempPath, block_on};
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

/// The service makes no copies of the first two, and the third one has recorded nothing. The others would have saved
/// old traces.
#[test]
fn a_config_of_which_no_trace_could_be_saved_is_refused() {
    let _alone = alone();
    let path = TempPath::new("no-recorder");
    let refused = |config: Config| {
        let error = FlightRecorder::start(config.track_events(&["r"])).expect_err("a recorder");
        error.to_string()
    };
    let file = refused(Config::new().write_into_file(&path.0));
    assert!(file.contains("leave `write_into_file`"), "{file}");
    assert!(!path.0.exists());
    let path = path.0.to_str().expect("a path");
    assert_eq!(refused(Config::new().service_writes_file(path)), file);
    let trigger = refused(Config::new().trigger(Trigger::Start, "go", Duration::ZERO));
    assert!(trigger.contains("leave `Trigger::Start`"), "{trigger}");
    let duration = refused(Config::new().duration(Duration::from_secs(3600)));
    assert!(duration.contains("leave `duration`"), "{duration}");
    let discard = Config::new().buffer_kb(64, Fill::Discard).buffer_kb(64, Fill::Discard);
    let beginning = refused(discard.clone());
    assert!(beginning.contains("`Fill::Ring`"), "{beginning}");
    let ring = discard.buffer_kb(64, Fill::Ring).track_events(&["r"]);
    assert!(FlightRecorder::start(ring).is_ok());
}

/// The service would copy the session again and again, and the traces would not have what happened last.
#[test]
fn a_recorder_whose_session_has_ended_saves_nothing() {
    let _alone = alone();
    let path = TempPath::new("ended");
    let config = Config::new().trigger(Trigger::Stop, "stop", Duration::ZERO);
    let recorder = FlightRecorder::start(config.track_events(&["r"])).expect("a recorder");
    instant!(R, "one");
    std::thread::scope(|scope| {
        let waits = scope.spawn(|| recorder.session().wait(None).expect("the end"));
        // The other thread waits meanwhile, and gives way.
        recorder.dump(&path.0).expect("a dump");
        std::fs::remove_file(&path.0).expect("the file");
        tracing_sdk::trigger(&["stop"]);
        assert!(waits.join().expect("no panic"));
    });
    let error = recorder.dump(&path.0).expect_err("the end").to_string();
    assert!(error.contains("has ended"), "{error}");
    assert!(recorder.dump_into(&mut Vec::new()).is_err());
    assert!(!path.0.exists());
    let mut trace = Vec::new();
    recorder.session().read_into(&mut trace).expect("what it has");
    assert_eq!(events(&trace), ["instant r one"]);
}

#[test]
fn other_threads_save_by_a_handle() {
    let _alone = alone();
    let path = TempPath::new("handle.pftrace");
    let names = [TempPath(path.0.clone()), numbered(&path, 2).remove(1)];
    let recorder = recorder();
    let handle = recorder.handle();
    instant!(R, "one");
    std::thread::scope(|scope| {
        let handle = handle.clone();
        scope.spawn(move || {
            handle.dump(&names[0].0).expect("a dump");
            assert_eq!(handle.dump_numbered(&names[0].0).expect("a dump"), names[1].0);
            assert_eq!(names.each_ref().map(saved), [["instant r one"]; 2]);
            let mut trace = Vec::new();
            handle.dump_into(&mut trace).expect("a dump");
            assert_eq!(events(&trace), ["instant r one"]);
        });
        recorder.dump_if_slow(Duration::from_secs(3600), &path.0, || ());
    });
    drop(recorder);
    let error = handle.dump(&path.0).expect_err("a dump").to_string();
    assert!(error.contains("was dropped"), "{error}");
    assert!(handle.dump_numbered(&path.0).is_err());
    assert!(handle.dump_into(&mut Vec::new()).is_err());
}

#[test]
fn futures_save() {
    let _alone = alone();
    let path = TempPath::new("by-a-future.pftrace");
    let names = numbered(&path, 3);
    let recorder = recorder();
    let handle = recorder.handle();
    instant!(R, "one");
    block_on(recorder.dump_async(&path.0)).expect("a dump");
    instant!(R, "two");
    let second = block_on(recorder.dump_numbered_async(&path.0)).expect("a dump");
    assert_eq!(second, names[1].0);
    instant!(R, "three");
    let third = block_on(handle.dump_numbered_async(&path.0)).expect("a dump");
    assert_eq!(third, names[2].0);
    let lens: Vec<_> = names.iter().map(|name| saved(name).len()).collect();
    assert_eq!(lens, [1, 2, 3]);
    block_on(handle.dump_async(&path.0)).expect("a dump");
    assert_eq!(saved(&path).len(), 3);
    drop(recorder);
    assert!(block_on(handle.dump_async(&path.0)).is_err());
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
fn a_trace_of_a_panic_stays() {
    let _alone = alone();
    let path = TempPath::new("panics");
    let names = numbered(&path, 4);
    let recorder = recorder();
    recorder.set_files_max(3);
    // Of an earlier run of the program.
    for (name, seconds) in names.iter().zip([2, 1, 3]) {
        let file = std::fs::File::create(&name.0).expect("a file");
        let written = SystemTime::UNIX_EPOCH + Duration::from_secs(seconds);
        file.set_modified(written).expect("a time");
    }
    std::fs::remove_file(&names[2].0).expect("the file");
    recorder.dump_on_panic(&path.0);
    for number in 0..5 {
        let work = || {
            instant!(R, "a panic", number = number);
            panic!("on purpose");
        };
        assert!(std::panic::catch_unwind(work).is_err());
    }
    // The name that was free, then those of the older files, the oldest first, and no more.
    let last = |path| saved(path).last().cloned().unwrap_or_default();
    assert_eq!(last(&names[2]), "instant r a panic number=0");
    assert_eq!(last(&names[1]), "instant r a panic number=1");
    assert_eq!(last(&names[0]), "instant r a panic number=2");
    assert!(!names[3].0.exists());
}

/// The names of the first `count` traces.
fn numbered(path: &TempPath, count: usize) -> Vec<TempPath> {
    let name = path.0.file_name().and_then(|name| name.to_str()).expect("a name");
    let (stem, extension) = name.rsplit_once('.').unwrap_or((name, ""));
    let name = |number| match (number, extension) {
        (1, _) => name.to_owned(),
        (_, "") => format!("{stem}-{number}"),
        (_, extension) => format!("{stem}-{number}.{extension}"),
    };
    (1..=count).map(|number| TempPath(path.0.with_file_name(name(number)))).collect()
}

#[test]
fn traces_have_numbers() {
    let _alone = alone();
    let path = TempPath::new("numbers.pftrace");
    let names = numbered(&path, 3);
    let recorder = recorder();
    recorder.set_files_max(2);
    let mut expected = Vec::new();
    for (number, name) in [(1, 0), (2, 1)] {
        instant!(R, "event", number = number);
        expected.push(format!("instant r event number={number}"));
        assert_eq!(recorder.dump_numbered(&path.0).expect("a dump"), names[name].0);
        assert_eq!(saved(&names[name]), expected);
    }
    // Both names are taken, so the older one is written again.
    let file = std::fs::File::options().write(true).open(&names[1].0).expect("the file");
    file.set_modified(SystemTime::UNIX_EPOCH).expect("a time");
    assert_eq!(recorder.dump_numbered(&path.0).expect("a dump"), names[1].0);
    assert_eq!(saved(&names[0]).len(), 1);
    assert!(!names[2].0.exists());
    // Without a number: nothing is kept.
    recorder.dump(&path.0).expect("a dump");
    assert_eq!(saved(&path).len(), 2);
    // A device has no numbers.
    assert_eq!(recorder.dump_numbered("/dev/null").expect("a dump").to_str(), Some("/dev/null"));
}

#[test]
fn it_saves_slow_futures() {
    let _alone = alone();
    let names = ["future-ready", "future-dropped", "future-fast"].map(TempPath::new);
    let [ready, dropped, fast] = &names;
    let hour = Duration::from_secs(3600);
    let mut context = Context::from_waker(Waker::noop());
    // What is slow is saved on a thread, which the drop of the recorder waits for.
    {
        let recorder = recorder();
        let work = async {
            instant!(R, "slow");
            1
        };
        let mut work = pin!(recorder.dump_if_slow_async(Duration::ZERO, &ready.0, work));
        assert_eq!(work.as_mut().poll(&mut context), Poll::Ready(1));
        let work = recorder.dump_if_slow_async(hour, &fast.0, std::future::ready(2));
        assert_eq!(pin!(work).poll(&mut context), Poll::Ready(2));
    }
    assert_eq!(saved(ready), ["instant r slow"]);
    {
        let recorder = recorder();
        let forever = recorder.dump_if_slow_async(Duration::ZERO, &dropped.0, pending::<()>());
        let mut forever = Box::pin(forever);
        assert!(forever.as_mut().poll(&mut context).is_pending());
        assert!(!dropped.0.exists());
        drop(forever);
        // Never polled: it has not begun.
        drop(recorder.dump_if_slow_async(Duration::ZERO, &fast.0, pending::<()>()));
    }
    assert!(dropped.0.exists());
    assert!(!fast.0.exists());
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

#[test]
fn it_saves_work_that_hangs() {
    let _alone = alone();
    let path = TempPath::new("hangs.pftrace");
    let names = numbered(&path, 2);
    let fast = TempPath::new("does-not-hang");
    let recorder = recorder();
    let hour = Duration::from_secs(3600);
    drop(recorder.watchdog(hour, &fast.0));
    let in_time = recorder.watchdog(hour, &fast.0);
    let (began, begun) = channel();
    let (go, goes_on) = channel::<()>();
    std::thread::scope(|scope| {
        scope.spawn(move || {
            let _slice = slice!(R, "hangs");
            instant!(R, "before");
            began.send(()).expect("a test");
            goes_on.recv().expect("a test");
        });
        begun.recv().expect("a thread");
        // The thread hands nothing over while it hangs.
        let watchdog = recorder.watchdog(Duration::ZERO, &path.0);
        while !path.0.exists() {
            std::thread::yield_now();
        }
        assert_eq!(saved(&path), ["begin r hangs", "instant r before"]);
        drop(watchdog);
        go.send(()).expect("a thread");
    });
    drop(recorder);
    drop(in_time);
    assert!(!fast.0.exists());
    assert!(!names[1].0.exists(), "once");
}
