//! A connection that ends, and the pauses before the next one. What a whole producer does is tested in the crate
//! `daemon`, against a service.

mod startup;

use std::collections::VecDeque;
use std::time::Duration;

use abi::flush_flags::FlushFlags;
use abi::ids::{CallId, FlushId, InstanceId};
use abi::ipc::Rejected;
use abi::ipc::port::ProducerPort;
use abi::shm::{PageSize, Region, Smb};
use abi::sync::{Mutex, lock};
use abi::time::BootTime;
use os::shm::MapError;
use protos::InitializeConnectionResponse;
use protos::producer_port::Request;
use protozero::Message as _;

use super::connection::{ProducerConnection, Stepped};
use super::dispatch::{Dispatcher, Flushes};
use super::event::{Setup, SharedSource, SourceEvent};
use super::io::ParkThread;
use super::shared::{Control, Shared};
use super::*;
use crate::connection::{Attachment, Connection, ConnectionError, ConnectionWaker, Received};
use crate::data_source::{Ack, FlushRequest, Instance};
use crate::write::{Arbiter, ArbiterOptions, NoWaker};
use os::queue::queue;

/// A service that accepts the producer and then goes away without answering any other call.
struct Leaving {
    response: Option<InitializeConnectionResponse>,
    replies: VecDeque<Received>,
    calls: u64,
    waker: ConnectionWaker,
}

impl Leaving {
    fn new() -> Self {
        Self::answering(Some(InitializeConnectionResponse::default()))
    }

    /// Answers the first call with `response`; none: refuses the producer.
    fn answering(response: Option<InitializeConnectionResponse>) -> Self {
        let waker = ConnectionWaker::from_fn(|| {});
        Self { response, replies: VecDeque::new(), calls: 0, waker }
    }
}

impl Connection<ProducerPort> for Leaving {
    fn send(
        &mut self,
        request: Request,
        _want_reply: bool,
        _attachment: Attachment,
    ) -> Result<CallId, ConnectionError> {
        self.calls += 1;
        let call = CallId::new(self.calls);
        if let Request::InitializeConnection(_) = request {
            let response = self.response.as_ref().map(|it| it.encode_to_vec());
            let result = response.ok_or(Rejected);
            self.replies.push_back(Received::Reply { call, result, has_more: false });
        }
        Ok(call)
    }

    fn receive(&mut self, _timeout: Option<Duration>) -> Received {
        self.replies.pop_front().unwrap_or(Received::Disconnected)
    }

    fn take_region(&mut self) -> Option<Result<Region, MapError>> {
        None
    }

    fn waker(&self) -> ConnectionWaker {
        self.waker.clone()
    }

    fn is_closed(&self) -> bool {
        self.replies.is_empty()
    }
}

/// A connection to a service that has accepted the producer, and what its threads share.
fn accepted() -> (Arc<Shared>, ProducerConnection) {
    let (events, _) = queue();
    let shared = Arc::new(Shared::new(ProducerOptions::new("test"), events));
    let service = Box::new(Leaving::new());
    let park = Arc::new(ParkThread::default());
    let mut connection = ProducerConnection::new(shared.clone(), service, park);
    assert!(connection.begin());
    while !connection.is_accepted() {
        assert!(matches!(connection.step(None), Stepped::Progress));
    }
    (shared, connection)
}

/// A fence that was sent to a service that went away is sent to the next one, and not reported as passed.
#[test]
fn a_fence_outlives_its_connection() {
    let (shared, mut connection) = accepted();
    let (done, wait) = queue();
    shared.queue_control(Control::Sync(done));
    while !matches!(connection.step(None), Stepped::Ended(_)) {}
    connection.end();
    assert_eq!(wait.try_recv(), None);
    assert_eq!(shared.lock().controls.len(), 1);
}

/// A connection begins with all data sources as they are then. What was queued for the one before would offer one twice,
/// or take one back that was registered again.
#[test]
fn requests_about_data_sources_do_not_outlive_their_connection() {
    struct Nothing;
    impl DataSource for Nothing {
        fn start(&mut self, _: &Instance) {}
        fn stop(&mut self, _: &Instance, _: Ack) {}
    }
    let (shared, mut connection) = accepted();
    let named = |name: &str| protos::DataSourceDescriptor {
        name: Some(name.to_owned()),
        ..Default::default()
    };
    shared.register(named("one"), Nothing).unwrap();
    shared.register(named("two"), Nothing).unwrap();
    shared.unregister("two");
    let triggers = protos::ActivateTriggersRequest::default();
    let triggers = Request::ActivateTriggers(triggers);
    shared.queue_control(Control::Request(Box::new(triggers.clone())));
    connection.end();
    let state = shared.lock();
    let left = state.controls.iter().map(|control| match control {
        Control::Request(request) => Some(&**request),
        Control::Sync(_) => None,
    });
    assert_eq!(left.collect::<Vec<_>>(), [Some(&triggers)]);
    assert!(state.sources.contains_key("one"));
}

/// What a program asks for while there is no service does not grow the program.
#[test]
fn only_some_requests_wait_for_a_service() {
    let (events, _told) = queue();
    let shared = Shared::new(ProducerOptions::new("test"), events);
    let fences = (0..1000).map(|_| {
        let (done, wait) = queue();
        shared.queue_control(Control::Sync(done));
        wait
    });
    let fences: Vec<_> = fences.collect();
    assert_eq!(shared.lock().controls.len(), 256);
    // Who waits for another one is told that it never passes.
    assert_eq!(fences.iter().filter(|wait| wait.is_closed()).count(), 1000 - 256);
}

/// Options whose events come out of the receiver.
fn told() -> (ProducerOptions, std::sync::mpsc::Receiver<ConnectionEvent>) {
    let (sender, receiver) = std::sync::mpsc::channel();
    let mut options = ProducerOptions::new("test");
    let hook = move |event: &ConnectionEvent| _ = sender.send(event.clone());
    options.on_connection = Some(ConnectionHook::new(hook));
    (options, receiver)
}

/// A program can say why it records nothing.
#[test]
fn what_happens_to_the_connection_is_told() {
    for (service, expected) in [
        (Leaving::new(), vec![ConnectionEvent::Accepted, ConnectionEvent::Closed]),
        (Leaving::answering(None), vec![ConnectionEvent::Refused]),
    ] {
        let (options, events) = told();
        let producer = Producer::attach(Box::new(service), options).unwrap();
        assert!(producer.wait_ended(Duration::MAX));
        assert_eq!(events.try_iter().collect::<Vec<_>>(), expected);
    }
    let (mut options, events) = told();
    options.address = Some(Address::parse("/nowhere/socket").unwrap());
    let _producer = Producer::connect(options).unwrap();
    let Ok(ConnectionEvent::Failed(error)) = events.recv() else { panic!("no failure") };
    let text = error.to_string();
    assert!(text.starts_with("cannot connect to /nowhere/socket: No such file"), "{text}");
}

/// The longest time there is, which no clock can be advanced by.
#[test]
fn a_wait_for_ever_ends_with_the_producer() {
    let producer =
        Producer::attach(Box::new(Leaving::new()), ProducerOptions::new("test")).unwrap();
    assert!(producer.wait_ended(Duration::MAX));
    assert!(!producer.sync(Duration::MAX), "nobody will answer any more");
}

#[test]
fn pauses_grow_until_a_connection_lasts() {
    let mut backoff = super::io::Backoff::default();
    let ms = |time: Duration| time.as_millis();
    let short = Duration::from_millis(5);
    let absent: Vec<_> = (0..7).map(|_| ms(backoff.pause_after_absence())).collect();
    assert_eq!(absent, [100, 200, 400, 800, 1600, 2000, 2000]);
    // A service that says no is asked less and less often.
    let refused: Vec<_> = (0..11).map(|_| ms(backoff.pause_after_loss(false, short))).collect();
    assert_eq!(refused, [100, 200, 400, 800, 1600, 3200, 6400, 12800, 25600, 30000, 30000]);
    assert_eq!(ms(backoff.pause_after_loss(true, short)), 2000, "taken, but not for long");
    assert_eq!(ms(backoff.pause_after_loss(true, Duration::from_secs(3))), 100);
    assert_eq!(ms(backoff.pause_after_absence()), 100, "and nobody is there now");
}

/// An acknowledgement covers all older flushes, so it waits for them; the number of those that wait does not matter.
#[test]
fn flushes_are_acknowledged_in_order() {
    const MANY: u64 = 1000;
    let mut flushes = Flushes::default();
    (1..=MANY).for_each(|id| flushes.add(FlushId::new(id)));
    // Some order in which each of 2 to `MANY` comes once: 7 and the divisor have no common factor.
    for at in 0..MANY - 1 {
        assert_eq!(flushes.complete(FlushId::new(at * 7 % (MANY - 1) + 2)), None);
    }
    assert_eq!(flushes.len(), 2);
    flushes.add(FlushId::new(MANY + 1));
    assert_eq!(flushes.complete(FlushId::new(1)), Some(FlushId::new(MANY)));
    assert_eq!(flushes.complete(FlushId::new(MANY + 1)), Some(FlushId::new(MANY + 1)));
    assert_eq!((flushes.len(), flushes.complete(FlushId::new(MANY))), (0, None));
}

/// A data source may take its time. The next service does not wait for what it does for the one before.
#[test]
fn flushes_of_an_ended_connection_hold_up_none_of_the_next_one() {
    /// Keeps what it has to acknowledge.
    struct Slow(Arc<Mutex<Vec<Ack>>>);
    impl DataSource for Slow {
        fn start(&mut self, _: &Instance) {}
        fn flush(&mut self, _: &Instance, _: &FlushRequest, done: Ack) {
            lock(&self.0).push(done);
        }
        fn stop(&mut self, _: &Instance, _: Ack) {}
    }
    let kept = Arc::new(Mutex::new(Vec::new()));
    let source: SharedSource = Arc::new(Mutex::new(Box::new(Slow(kept.clone()))));
    let arbiters = [(); 2].map(|()| {
        let smb = Smb::new(Region::heap(4096), PageSize::DEFAULT).unwrap();
        let park = Arc::new(ParkThread::default());
        Arbiter::new(smb, ArbiterOptions::default(), Arc::new(NoWaker), park)
    });
    let (events, inbox) = queue();
    let instance = InstanceId::new(1);
    for (arbiter, flush) in arbiters.iter().zip([7, 1]) {
        events.send(SourceEvent::Start(Setup {
            id: instance,
            config: Arc::default(),
            source: Some(source.clone()),
            arbiter: Some(arbiter.clone()),
        }));
        let (id, instances) = (FlushId::new(flush), vec![instance]);
        let flags = FlushFlags::default();
        events.send(SourceEvent::Flush { arbiter: arbiter.clone(), id, instances, flags });
        events.send(SourceEvent::Disconnected);
    }
    events.send(SourceEvent::End);
    Dispatcher::new(inbox, None).run();
    let last = lock(&kept).pop();
    drop(last);
    let requests = std::iter::from_fn(|| arbiters[1].poll_request(BootTime::from_ns(0)));
    let flushed = requests.filter_map(|outgoing| match outgoing.request {
        Request::CommitData(commit) => commit.flush_request_id,
        _ => None,
    });
    assert_eq!(flushed.collect::<Vec<_>>(), [1]);
}
