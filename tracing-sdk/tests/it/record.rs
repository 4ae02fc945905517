//! `session::record`, as tests call it that run at the same time.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Barrier;

use tracing_sdk::session::{record, record_to_file};
use tracing_sdk::{categories, instant};

use crate::alone::alone;
use crate::session::TempPath;
use crate::trace::events;

categories! { C = "recorded"; }

/// More than the sessions that a service has for one user.
const THREADS: usize = 8;

#[test]
fn threads_that_record_at_the_same_time_have_traces_of_their_own() {
    let _alone = alone();
    let barrier = Barrier::new(THREADS);
    std::thread::scope(|scope| {
        for number in 0..THREADS {
            let barrier = &barrier;
            scope.spawn(move || {
                barrier.wait();
                let work = || (0..3).for_each(|_| instant!(C, "event", number = number));
                let trace = record(&["recorded"], work).expect("a trace");
                let expected = format!("instant recorded event number={number}");
                assert_eq!(events(&trace), vec![expected; 3]);
            });
        }
    });
}

#[test]
fn a_thread_that_records_may_do_so_again() {
    let _alone = alone();
    let trace = record(&["recorded"], || {
        let inner = record(&["recorded"], || instant!(C, "within")).expect("a trace");
        assert_eq!(events(&inner), ["instant recorded within"]);
        // The turn is still that of this thread.
        let again = record(&["recorded"], || instant!(C, "again")).expect("a trace");
        assert_eq!(events(&again), ["instant recorded again"]);
    });
    let expected = ["instant recorded within", "instant recorded again"];
    assert_eq!(events(&trace.expect("a trace")), expected);
    let panic = || record(&["recorded"], || panic!("on purpose"));
    assert!(catch_unwind(AssertUnwindSafe(panic)).is_err());
    // Another thread gets the turn of one that has panicked.
    let after = || record(&["recorded"], || instant!(C, "after")).expect("a trace");
    let trace = std::thread::spawn(after).join().expect("no panic");
    assert_eq!(events(&trace), ["instant recorded after"]);
}

#[test]
fn files_are_recorded_meanwhile() {
    let _alone = alone();
    let [around, within] = ["around", "within"].map(TempPath::new);
    let trace = record_to_file(&around.0, &["recorded"], || {
        record(&["recorded"], || {
            record_to_file(&within.0, &["recorded"], || instant!(C, "event")).expect("a file");
        })
    });
    let trace = trace.expect("a file").expect("a trace");
    let files = [&around, &within].map(|path| std::fs::read(&path.0).expect("a file"));
    for trace in [&trace, &files[0], &files[1]] {
        assert_eq!(events(trace), ["instant recorded event"]);
    }
}
