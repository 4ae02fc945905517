use super::*;
use crate::queue::queue;

#[test]
fn a_thread_is_waited_for_and_knows_itself() {
    let (own, ids) = queue();
    let (go, wait) = queue();
    let run = move || {
        own.send(id());
        wait.recv();
    };
    let thread = spawn("worker", Box::new(run)).expect("a thread");
    assert!(!thread.is_current() && !thread.has_ended());
    let its_id = ids.recv().expect("an id");
    let running = thread.running();
    assert_eq!(running.id(), Some(its_id));
    #[cfg(not(miri))]
    {
        assert_ne!(its_id, id());
        let name = std::fs::read_to_string(format!("/proc/self/task/{its_id}/comm"));
        assert_eq!(name.expect("a thread"), "worker\n");
    }
    go.send(());
    thread.join();
    assert_eq!(running.id(), None);
    assert!(ids.recv().is_none(), "what the thread had lives on");
}

#[test]
fn a_thread_that_has_not_begun_has_no_id() {
    let word = Arc::new(AtomicU32::new(0));
    let running = Running(Arc::downgrade(&word));
    assert_eq!(running.id(), None);
    word.store(7, Ordering::Relaxed);
    assert_eq!(running.id(), Some(7));
}

#[test]
fn a_thread_finds_itself_in_its_handle() {
    let (handles, inbox) = queue::<Thread>();
    let (answers, outbox) = queue();
    let run = move || {
        let itself = inbox.recv().expect("a handle");
        answers.send(itself.is_current());
    };
    handles.send(spawn("worker", Box::new(run)).expect("a thread"));
    assert_eq!(outbox.recv(), Some(true));
}

#[test]
fn a_panic_ends_its_thread_alone() {
    let (kept, inbox) = queue::<()>();
    let run = move || {
        let _kept = kept;
        panic!("a test");
    };
    let thread = spawn("worker", Box::new(run)).expect("a thread");
    assert!(inbox.recv().is_none(), "what the thread had lives on");
    while !thread.has_ended() {
        std::thread::yield_now();
    }
    thread.join();
}
