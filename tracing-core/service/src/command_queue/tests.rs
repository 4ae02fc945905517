use std::cell::Cell;

use protos::{GetAsyncCommandResponse, GetAsyncCommandResponseCmd as Cmd};
use protozero::Message as _;

use super::*;
use crate::output::Output;

const CLIENT: ClientId = ClientId::new(1);
const ONE: SessionId = SessionId::new(1);
const OTHER: SessionId = SessionId::new(2);

thread_local! {
    /// Commands that a new one was compared with.
    pub(super) static COMPARED: Cell<usize> = const { Cell::new(0) };
}

/// A queue and what it sends.
struct Test {
    queue: CommandQueue,
    out: EffectQueue,
}

impl Test {
    /// Whose producer asks for commands.
    fn new(window_bytes: usize) -> Self {
        let (mut queue, mut out) = (CommandQueue::new(window_bytes), EffectQueue::default());
        assert_eq!(queue.open(CallId::new(7), &mut out, CLIENT), None);
        Self { queue, out }
    }

    fn push(&mut self, command: Command) {
        self.queue.push(command, &mut self.out, CLIENT);
    }

    fn instance(&mut self, session: SessionId, id: u64, change: Change) {
        self.push(Command::Instance(session, InstanceId::new(id), change));
    }

    fn flush(&mut self, session: SessionId, id: u64, instances: &[u64], flags: u64) {
        let asked = asked(session, instances);
        self.push(Command::Flush(FlushId::new(id), asked, FlushFlags::new(flags)));
    }

    /// What was sent since the last call.
    fn sent(&mut self) -> Vec<String> {
        let mut sent = Vec::new();
        while let Some(output) = self.out.pop() {
            let Output::Reply { result: Ok(bytes), has_more: true, .. } = output else { panic!() };
            sent.push(match GetAsyncCommandResponse::decode(&bytes).unwrap().cmd.unwrap() {
                Cmd::SetupTracing(_) => "memory".to_owned(),
                Cmd::SetupDataSource(it) => format!("set up {}", it.new_instance_id.unwrap()),
                Cmd::StartDataSource(it) => format!("start {}", it.new_instance_id.unwrap()),
                Cmd::StopDataSource(it) => format!("stop {}", it.instance_id.unwrap()),
                Cmd::Flush(it) => format!(
                    "flush {} {:?} {}",
                    it.request_id.unwrap(),
                    it.data_source_ids,
                    it.flags.unwrap()
                ),
                Cmd::ClearIncrementalState(it) => format!("clear {:?}", it.data_source_ids),
            });
        }
        sent
    }

    /// What is sent when the transport has sent all, again and again.
    fn drained(&mut self) -> Vec<String> {
        let mut all = Vec::new();
        loop {
            self.queue.handle_drained(&mut self.out, CLIENT);
            let sent = self.sent();
            if sent.is_empty() {
                return all;
            }
            all.extend(sent);
        }
    }
}

fn asked(session: SessionId, instances: &[u64]) -> InstancesBySession {
    let instances = instances.iter().map(|id| InstanceId::new(*id)).collect();
    [(session, instances)].into_iter().collect()
}

fn config(bytes: usize) -> Bytes {
    vec![0; bytes].into()
}

#[test]
fn a_window_is_sent_and_the_rest_waits() {
    let mut test = Test::new(1000);
    for id in 1..=4 {
        // Bytes of an unknown field would not decode: an empty one is enough.
        test.instance(ONE, id, Change::SetUp(Bytes::new()));
    }
    assert_eq!((test.sent().len(), test.queue.len()), (4, 0));
    let mut test = Test::new(1);
    test.push(Command::SetUpTracing(4096, None));
    for id in 1..=2 {
        test.instance(ONE, id, Change::SetUp(Bytes::new()));
        test.instance(ONE, id, Change::Start(Bytes::new()));
    }
    assert_eq!((test.sent(), test.queue.len()), (vec!["memory".to_owned()], 4));
    assert_eq!(test.drained(), ["set up 1", "start 1", "set up 2", "start 2"]);
    assert_eq!(test.queue.in_flight_before_last(), 0);
}

#[test]
fn one_command_may_be_longer_than_the_window() {
    let (mut queue, mut out) = (CommandQueue::new(100), EffectQueue::default());
    queue.open(CallId::new(7), &mut out, CLIENT);
    for id in 1..=3 {
        let change = Change::SetUp(config(1000));
        queue.push(Command::Instance(ONE, InstanceId::new(id), change), &mut out, CLIENT);
    }
    assert_eq!((out.len(), queue.len()), (1, 2));
}

#[test]
fn nothing_is_sent_before_the_producer_asks() {
    let (mut queue, mut out) = (CommandQueue::new(1000), EffectQueue::default());
    queue.push(Command::SetUpTracing(0, None), &mut out, CLIENT);
    queue.handle_drained(&mut out, CLIENT);
    assert_eq!((out.len(), queue.len_unasked(), queue.is_asked()), (0, 1, false));
    queue.open(CallId::new(7), &mut out, CLIENT);
    assert_eq!((out.len(), queue.len_unasked()), (1, 0));
    assert_eq!(queue.open(CallId::new(8), &mut out, CLIENT), Some(CallId::new(7)));
}

/// An acknowledgement is one of all older flushes. So an older one may wait for a newer one, but not behind it.
#[test]
fn flushes_that_wait_are_one() {
    let mut test = Test::new(1);
    test.flush(ONE, 1, &[1, 2], 0x11);
    assert_eq!(test.sent(), ["flush 1 [1, 2] 17"]);
    for id in 2..900 {
        test.flush(if id % 2 == 0 { ONE } else { OTHER }, id, &[id % 2 * 10, 3], 0x11);
    }
    test.instance(ONE, 5, Change::Stop);
    test.flush(ONE, 900, &[4], 0x11);
    assert_eq!(test.queue.len(), 2);
    assert_eq!(test.drained(), ["stop 5", "flush 900 [0, 3, 4, 3, 10] 17"]);
    test.flush(ONE, 901, &[1], 0x11);
    test.flush(ONE, 902, &[1], 0x12);
    test.flush(ONE, 903, &[1], 0x13);
    assert_eq!(test.drained(), ["flush 901 [1] 17", "flush 903 [1] 0"]);
}

#[test]
fn clears_that_wait_are_one() {
    let mut test = Test::new(1);
    test.push(Command::SetUpTracing(0, None));
    for session in [ONE, OTHER, ONE] {
        test.push(Command::Clear(asked(session, &[session.get(), 7])));
    }
    assert_eq!(test.queue.len(), 1);
    test.sent();
    assert_eq!(test.drained(), ["clear [1, 7, 2, 7]"]);
}

/// A long one goes in parts that fit into frames. The number stands in the last.
#[test]
fn a_flush_of_more_instances_than_a_frame_takes() {
    let mut test = Test::new(usize::MAX);
    let ids: Vec<u64> = (0..2 * ASKED_MAX as u64).map(|id| u64::MAX - id).collect();
    for (count, parts) in [(ASKED_MAX, 1), (ASKED_MAX + 1, 2), (2 * ASKED_MAX, 2)] {
        test.flush(ONE, 5, &ids[..count], 1);
        assert_eq!(test.out.len(), parts);
        for part in 1..=parts {
            let Some(Output::Reply { result: Ok(bytes), .. }) = test.out.pop() else { panic!() };
            assert!(bytes.len() < abi::limits::IPC_ARGS_BYTES_MAX, "{} bytes", bytes.len());
            let Some(Cmd::Flush(flush)) = GetAsyncCommandResponse::decode(&bytes).unwrap().cmd
            else {
                panic!()
            };
            assert_eq!(flush.request_id, Some(if part == parts { 5 } else { 0 }));
        }
    }
}

#[test]
fn nothing_waits_for_a_session_that_is_gone() {
    let mut test = Test::new(1);
    test.instance(ONE, 1, Change::SetUp(Bytes::new()));
    test.instance(ONE, 1, Change::Start(Bytes::new()));
    for (session, id) in [(ONE, 2), (OTHER, 3)] {
        test.instance(session, id, Change::SetUp(Bytes::new()));
        test.instance(session, id, Change::Start(Bytes::new()));
    }
    test.flush(ONE, 1, &[1, 2], 0);
    test.flush(OTHER, 2, &[3], 0);
    test.instance(ONE, 1, Change::Stop);
    test.instance(ONE, 2, Change::Stop);
    assert_eq!(test.sent(), ["set up 1"]);
    test.queue.forget_session(ONE);
    assert_eq!(test.drained(), ["set up 3", "start 3", "flush 2 [3] 0", "stop 1"]);
}

/// A producer that registers and unregisters and does not read.
#[test]
fn nothing_waits_for_instances_that_are_removed() {
    let mut test = Test::new(1);
    test.push(Command::SetUpTracing(0, None));
    for id in 0..20_000 {
        test.instance(ONE, id, Change::SetUp(Bytes::new()));
        test.instance(ONE, id, Change::Start(Bytes::new()));
        test.flush(ONE, id + 1, &[id], 0);
        test.instance(ONE, id, Change::Remove);
        assert!(test.queue.len() <= REMOVED_MAX + 1, "{}", test.queue.len());
    }
    test.instance(ONE, 20_000, Change::SetUp(Bytes::new()));
    test.queue.forget_removed();
    test.sent();
    assert_eq!(test.drained(), ["flush 20000 [] 0", "set up 20000"]);
}

/// Many may wait for a producer that does not take them, and others pay for what comes behind.
#[test]
fn a_change_of_an_instance_is_not_compared_with_those_that_wait() {
    let mut test = Test::new(16);
    for id in 0..100 {
        test.instance(ONE, id, Change::SetUp(Bytes::new()));
        test.instance(ONE, id, Change::Stop);
    }
    assert_eq!(COMPARED.get(), 0);
    test.flush(ONE, 1, &[1], 0);
    assert!(COMPARED.get() > 100);
}
