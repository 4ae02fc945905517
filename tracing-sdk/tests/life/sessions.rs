//! Sessions with a service outside, as the program that starts them sees them.

use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use client::consumer::Consumer;
use futures_lite::future::block_on;
use tracing_sdk::instant;
use tracing_sdk::session::{Session, SessionError, Trigger, record_to_file};

use crate::{LIFE, Place, Service, address, config, end_if_it_hangs, is_child};

/// The file that a process shall write.
const FILE: &str = "LIFE_TEST_FILE";

/// A trigger that comes right after `start` must find the session.
pub(crate) fn a_session_that_a_trigger_starts_is_there_after_its_start() {
    let place = Place::new("armed");
    let _service = Service::start(&place.0);
    let socket = address(&place.0.join("consumer"));
    let config = config().trigger(Trigger::Start, "jank", Duration::from_secs(60));
    let session = Session::system_at(socket.clone(), &config).expect("a session");
    session.start().expect("a start");
    let mut other = Consumer::connect(&socket).expect("a service");
    let state = other.query_service_state(false).expect("an answer");
    assert_eq!(state.tracing_sessions.len(), 1);
}

const OF_PARENT: &str = "the session is that of the parent process: make another one";

pub(crate) fn a_child_has_no_session_of_its_parent() {
    let place = Place::new("of-parent");
    let file = place.0.join("trace");
    let mut command = place.command("forks beside a session");
    let status = command.env(FILE, &file).status().expect("a process");
    assert!(status.success(), "{status}");
    // The child leaves the file alone.
    let trace = std::fs::read(&file).expect("a file");
    assert_eq!(crate::trace::events(&trace), ["instant life before", "instant life after"]);
}

pub(crate) fn fork_beside_a_session() {
    let file = PathBuf::from(std::env::var_os(FILE).expect("a file"));
    let mut session = Session::in_process(&config()).expect("a session");
    session.start().expect("a start");
    // It has the lock of the session while it waits, and does not exist in the child.
    let ended = session.wait_async();
    if is_child() {
        end_if_it_hangs();
        check_errors(&mut session, &file);
        return;
    }
    session.stop().expect("an end");
    block_on(ended).expect("its end");
    let is_in_child = record_to_file(&file, &["life"], || {
        instant!(LIFE, "before");
        let is_in_child = is_child();
        if !is_in_child {
            instant!(LIFE, "after");
        }
        is_in_child
    });
    // As a program that ends in `work`, and whose parent goes on.
    is_in_child.expect("the result of the work");
}

fn check_errors(session: &mut Session, file: &Path) {
    fn check<T>(result: Result<T, SessionError>) {
        let text = result.err().map(|error| error.to_string());
        assert_eq!(text.as_deref(), Some(OF_PARENT));
    }
    check(session.start());
    check(session.flush());
    check(session.stop());
    check(session.wait(None));
    check(session.read_into(&mut Vec::new()));
    check(session.snapshot());
    check(session.save_snapshot(file));
    check(session.stats());
    check(session.query());
    check(session.change_config(&config()));
    let read = session.reader().read(&mut [0; 8]).map_err(|error| error.to_string());
    assert_eq!(read, Err(OF_PARENT.to_owned()));
    check(session.packets().next().expect("an error"));
    check(block_on(session.start_async()));
    check(block_on(session.flush_async()));
    check(block_on(session.stop_async()));
    check(block_on(session.wait_async()));
    check(block_on(session.read_async()));
    check(block_on(session.snapshot_async()));
    check(block_on(session.save_snapshot_async(file)));
    check(block_on(session.stats_async()));
    check(block_on(session.query_async()));
    check(block_on(session.change_config_async(&config())));
}
