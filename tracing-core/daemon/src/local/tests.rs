use super::*;
use abi::sync::AtomicUsize;
use protos::SyncRequest;
use protos::producer_port::Request;

/// A service that answers the calls of its one client when it runs for the `at`th time, and then goes away.
struct Answers {
    mailbox: Mutex<Option<Arc<Mailbox>>>,
    call: CallId,
    runs: AtomicUsize,
    at: usize,
}

impl RunService for Answers {
    fn drive(&self) -> Option<Duration> {
        let run = self.runs.fetch_add(1, Ordering::SeqCst) + 1;
        if let Some(mailbox) = lock(&self.mailbox).as_ref() {
            let result = Ok(Bytes::new());
            let reply = LocalReply { call: self.call, result, has_more: false, region: None };
            match run {
                run if run == self.at => mailbox.deliver(reply),
                run if run > self.at => mailbox.close(),
                _ => {}
            }
        }
        None
    }
}

type Local = LocalConnection<ProducerPort>;

fn inbox() -> Arc<Inbox> {
    Arc::new(Inbox::new(Wake::new().unwrap(), 0))
}

fn sync() -> Request {
    Request::Sync(SyncRequest::default())
}

/// A client with a call that waits, of a service that answers it when it runs for the `at`th time from now on.
fn calling(at: usize) -> (Local, CallId, Arc<Answers>) {
    let answers = Arc::new(Answers {
        mailbox: Mutex::default(),
        call: CallId::new(1),
        runs: AtomicUsize::new(0),
        at,
    });
    let driver: Arc<dyn RunService> = answers.clone();
    let inbox = inbox();
    let mut local = Local::connect_driven(&inbox, Some(Arc::downgrade(&driver)));
    let call = local.send(sync(), true, Attachment::None).unwrap();
    *lock(&answers.mailbox) = Some(Arc::clone(&local.mailbox));
    answers.runs.store(0, Ordering::SeqCst);
    (local, call, answers)
}

fn answer(call: CallId) -> Received {
    Received::Reply { call, result: Ok(Vec::new()), has_more: false }
}

const NOW: Option<Duration> = Some(Duration::ZERO);

#[test]
fn a_client_of_a_service_that_has_ended_is_disconnected() {
    let inbox = inbox();
    inbox.close();
    let mut late = Local::connect(&inbox);
    assert!(late.is_closed());
    assert_eq!(late.receive(NOW), Received::Disconnected);
    assert!(late.send(sync(), true, Attachment::None).is_err());
    assert!(inbox.take().is_empty());
}

#[test]
fn what_the_service_does_while_a_client_asks_is_not_missed() {
    let (mut local, call, _service) = calling(1);
    assert_eq!(local.receive(NOW), answer(call));
}

/// A client that does not wait looks for its answer once, and must not keep the service running.
#[test]
fn a_client_that_does_not_wait_makes_the_service_run_once() {
    let (mut local, call, service) = calling(2);
    assert_eq!(local.receive(NOW), Received::TimedOut);
    assert_eq!(service.runs.load(Ordering::SeqCst), 1);
    assert_eq!(local.receive(NOW), answer(call));
}

/// The rest of a reply to a call that is over is skipped.
#[test]
fn only_replies_that_are_awaited_arrive() {
    let (mut local, call, _service) = calling(9);
    let reply = |call| LocalReply { call, result: Ok(Bytes::new()), has_more: false, region: None };
    for call in [CallId::new(77), call, call] {
        local.mailbox.deliver(reply(call));
    }
    assert_eq!(local.receive(NOW), answer(call));
    assert_eq!(local.receive(NOW), Received::TimedOut);
    local.mailbox.close();
    assert_eq!(local.receive(NOW), Received::Disconnected);
}

#[test]
fn being_woken_comes_before_replies() {
    let (mut local, call, _service) = calling(9);
    let reply = LocalReply { call, result: Ok(Bytes::new()), has_more: false, region: None };
    local.mailbox.deliver(reply);
    local.waker().wake();
    assert_eq!(local.receive(NOW), Received::Woken);
    assert_eq!(local.receive(NOW), answer(call));
}

#[test]
fn a_request_whose_reply_nobody_wants_has_no_call() {
    let inbox = inbox();
    let mut local = Local::connect(&inbox);
    for want_reply in [false, true] {
        local.send(sync(), want_reply, Attachment::None).unwrap();
    }
    let calls = inbox.take().into_iter().filter_map(|(_, event)| match event {
        AnyLocalEvent::Producer(LocalEvent::Request { call, .. }) => Some(call.is_some()),
        _ => None,
    });
    assert_eq!(calls.collect::<Vec<_>>(), [false, true]);
}
