//! Producers and consumers that come, leave, send too much or do not read.

use super::remote::SocketLink;
use super::unreceived::Unreceived;
use super::*;
use crate::limits::{
    CLOSER_THREADS_PER_USER_MAX, CONSUMER_QUEUE_BYTES_MAX, CONSUMER_QUEUE_BYTES_PAUSE,
    DESCRIPTORS_RESERVED_MIN, LARGE_SOCKET_BYTES, LARGE_SOCKETS_PER_USER_MAX,
    PRODUCER_QUEUE_BYTES_MAX,
};
use crate::system::closer::{Closer, Origin};
use os::poll::Interest;
use service::limits::PACKET_BYTES_MAX;

/// Each of them keeps less than a connection may, and all together more than their user may.
#[test]
fn connections_of_a_user_keep_so_much_together() {
    let mut daemon = ManualDaemon::new("kept");
    daemon.inner().connections.set_kept_max(1024 * 1024);
    // The beginning of the longest frame, for which there is memory then: 112 KiB of it count.
    let part = [&131_068_u32.to_le_bytes()[..], &[0; 100_000]].concat();
    let mut clients = Vec::new();
    for _ in 0..12 {
        let client = daemon.connect(1).remove(0);
        daemon.inner().accept(daemon::KEY_LISTENERS);
        let mut rest = &part[..];
        while !rest.is_empty()
            && let Ok(sent) = client.send(&[IoSlice::new(rest)], None)
        {
            rest = &rest[sent..];
            for key in daemon.keys() {
                daemon.inner().read(ClientId::new(key));
            }
            daemon.inner().flush(Some(TIME_UNLIMITED));
        }
        clients.push(client);
    }
    let stats = daemon.server.handle().stats();
    assert_eq!((stats.connected, stats.cut_slow), (9, 3));
}

/// What its producer would have recorded is lost, and the sessions that record say so.
#[test]
fn a_producer_that_is_refused_is_in_the_ledger() {
    let mut daemon = ManualDaemon::new("no-place");
    // One producer has two descriptors of the four.
    let (own, few) = (daemon.inner().engine.own, 4 + DESCRIPTORS_RESERVED_MIN);
    daemon.inner().connections = Connections::new(Resources::of_descriptors(few), own);
    let daemon = daemon.run();
    let mut consumer = daemon.service.as_ref().unwrap().consumer();
    consumer.enable_tracing(&one_buffer(), None).unwrap();
    consumer.get_trace_stats().unwrap();
    let _producers = [(); 2].map(|()| Stream::connect(&daemon.producer()).unwrap());
    let stats = || daemon.handle().stats();
    while stats().connections + stats().refused < 3 {
        std::thread::yield_now();
    }
    assert_eq!(stats().refused, 1);
    let ledger = consumer.get_trace_stats().unwrap().loss_ledger.unwrap_or_default();
    let [entry] = &ledger.entries[..] else { panic!("{ledger:?}") };
    let reason = Some(protos::LossLedgerReason::REASON_PRODUCER_REFUSED);
    assert_eq!((entry.reason, entry.uid), (reason, Some(own.uid().cast_signed())));
}

/// What a producer does not receive is not left to the kernel, where no account counts it.
#[test]
fn replies_to_a_producer_do_not_fill_its_socket() {
    const REQUESTS: usize = 6000;
    let mut daemon = ManualDaemon::new("socket");
    let client = daemon.connect(1).remove(0);
    daemon.inner().accept(daemon::KEY_LISTENERS);
    let id = ClientId::new(daemon.keys()[0]);
    // Each is refused in ten bytes, as nobody has introduced itself.
    let requests = [BIND, &GET_COMMANDS.repeat(REQUESTS)].concat();
    let mut rest = &requests[..];
    while !rest.is_empty() {
        rest = &rest[client.send(&[IoSlice::new(rest)], None).unwrap()..];
        daemon.inner().read(id);
        while daemon.inner().engine.host(id).unwrap().has_events() {
            daemon.inner().engine.run_turn(os::clock::boot_ns());
            daemon.inner().flush(Some(TIME_UNLIMITED));
        }
    }
    let wanted = daemon.inner().engine.host(id).unwrap().wanted();
    assert!(wanted.write, "{} bytes of replies are in the socket", 10 * REQUESTS);
}

/// Nobody takes replies to a peer that has closed its end: they would only take memory.
#[test]
fn replies_to_a_peer_that_is_gone_are_dropped() {
    for is_gone in [false, true] {
        let mut host = HostLink::new(PortKind::Consumer);
        host.write_closed = is_gone;
        host.reply(CallId::new(1), Ok(vec![0; 100].into()), false, None).unwrap();
        assert_eq!(host.wanted(), Interest { read: true, write: !is_gone });
    }
}

#[test]
fn producers_come_and_go() {
    let daemon = RunningDaemon::start("producers");
    let sources = |consumer: &mut Consumer| {
        let state = consumer.query_service_state(false).unwrap();
        (state.producers.len(), state.data_sources.len())
    };
    for mut consumer in daemon.consumers() {
        for mut producer in daemon.producers() {
            call(&mut *producer, initialize());
            call(&mut *producer, register("one"));
            assert_eq!(sources(&mut consumer), (1, 1));
            // A call after the last one: the order of a connection is kept.
            producer.send(register("two"), false, Attachment::None).unwrap();
            call(&mut *producer, ProducerRequest::Sync(SyncRequest::default()));
            assert_eq!(sources(&mut consumer), (1, 2));
            drop(producer);
            // The end of a connection travels apart from the consumer's questions.
            while sources(&mut consumer) != (0, 0) {}
        }
    }
}

#[test]
fn a_server_takes_nobodys_place() {
    let daemon = RunningDaemon::start("place");
    let refused = Server::bind(options(&daemon.directory)).unwrap_err();
    assert_eq!(refused, BindError::Listen(ListenError::InUse(daemon.producer())));
    let text = format!("cannot listen on {}: another service is running there", daemon.producer());
    assert_eq!(refused.to_string(), text);
    daemon.assert_alive();

    // One free address and one taken: the free one is left as it was found.
    let mut partly = options(&daemon.directory);
    let free = daemon.directory.join("free");
    partly.producer_sockets = vec![Address::Path(free.clone())];
    Server::bind(partly).unwrap_err();
    assert!(!free.exists());
    daemon.assert_alive();
}

#[test]
fn everybody_is_told_when_the_service_ends() {
    let mut daemon = RunningDaemon::start("end");
    let mut consumers = daemon.consumers();
    for consumer in &mut consumers {
        consumer.enable_tracing(&TraceConfig::default(), None).unwrap();
        // The answer comes behind the session.
        consumer.query_capabilities().unwrap();
    }
    let mut producers = daemon.producers();
    let commands = producers.each_mut().map(|producer| {
        call(&mut **producer, initialize());
        let request = ProducerRequest::GetAsyncCommand(Default::default());
        producer.send(request, true, Attachment::None).unwrap()
    });
    daemon.service.take().unwrap().stop().unwrap();
    for mut consumer in consumers {
        let told = consumer.wait(Some(FOREVER));
        assert!(
            matches!(&told, Err(ConsumerError::Service(why)) if why.contains("told to end")),
            "{told:?}"
        );
        assert!(matches!(consumer.wait(Some(FOREVER)), Err(ConsumerError::Disconnected)));
    }
    for (mut producer, command) in producers.into_iter().zip(commands) {
        // The call that waits is rejected first.
        match producer.receive(Some(FOREVER)) {
            Received::Reply { call, result: Err(_), has_more: false } if call == command => {}
            other => panic!("{other:?}"),
        }
        assert_eq!(producer.receive(Some(FOREVER)), Received::Disconnected);
        assert!(producer.send(initialize(), true, Attachment::None).is_err());
    }
    daemon.service =
        Some(InProcessService::run(Server::bind(options(&daemon.directory)).unwrap()).unwrap());
    daemon.assert_alive();
}

#[test]
fn too_long_a_frame_ends_only_its_own_connection() {
    let daemon = RunningDaemon::start("frame");
    let stream = Stream::connect(&daemon.producer()).unwrap();
    let burst = [BIND, &131_069_u32.to_le_bytes()].concat();
    send_raw(&stream, &burst);
    assert_eq!(read_to_end(&stream), 0, "not even the bind is answered");
    daemon.assert_alive();
    let stats = daemon.handle().stats();
    assert_eq!((stats.cut_slow, stats.cut_broken, stats.faults), (0, 1, 1), "{stats:?}");
}

#[test]
fn leaving_in_the_middle_of_anything_harms_nobody() {
    let daemon = RunningDaemon::start("leave");
    let invoke = b"\x14\0\0\0\x10\x02\x2a\x10\x08\x01\x10\x01\x1a\x08\x1a\x04test\x20\x01\x20\x00";
    let commands = b"\x0c\0\0\0\x10\x03\x2a\x08\x08\x01\x10\x05\x1a\x00\x20\x00";
    let whole = [BIND, invoke, commands].concat();
    for cut in 0..=whole.len() {
        let stream = Stream::connect(&daemon.producer()).unwrap();
        send_raw(&stream, &whole[..cut]);
    }
    daemon.assert_alive();
    let mut consumer = Consumer::connect(&daemon.consumer()).unwrap();
    while !consumer.query_service_state(false).unwrap().producers.is_empty() {}
}

#[test]
fn a_producer_that_does_not_read_is_cut() {
    let daemon = RunningDaemon::start("slow");
    let stream = Stream::connect(&daemon.producer()).unwrap();
    send_raw(&stream, BIND);
    // Calls that fail are answered whatever the caller wants; each answer is ten bytes.
    let unroutable = b"\x0a\0\0\0\x10\x02\x2a\x06\x08\x01\x10\x7f\x20\x01";
    let many = unroutable.repeat(4096);
    // Whole frames only, or it would be cut for being out of step. Their answers are sixteen times what the daemon and
    // the socket keep.
    assert!((0..400).any(|_| !send_raw(&stream, &many)), "it is not cut");
    daemon.assert_alive();
    let stats = daemon.handle().stats();
    assert_eq!((stats.cut_slow, stats.cut_broken, stats.faults), (1, 0, 1), "{stats:?}");
}

#[test]
fn a_consumer_that_does_not_read_waits_with_its_questions() {
    let daemon = RunningDaemon::start("patient");
    let stream = Stream::connect(&daemon.consumer()).unwrap();
    let mut consumer = SocketConnection::<ConsumerPort>::from_stream(stream).unwrap();
    let mut producer = SocketConnection::<ProducerPort>::connect(&daemon.producer()).unwrap();
    call(&mut producer, initialize());
    for index in 0..200 {
        let name = format!("{index}-{}", "x".repeat(500));
        call(&mut producer, register(&name));
    }
    // Each answer is over 100 KB: far more than a queue may hold, if they were not left unread.
    let ask = || ConsumerRequest::QueryServiceState(QueryServiceStateRequest::default());
    let last =
        (0..2000).map(|_| consumer.send(ask(), true, Attachment::None).unwrap()).last().unwrap();
    daemon.assert_alive();
    loop {
        match consumer.receive(Some(FOREVER)) {
            Received::Reply { call, result: Ok(_), has_more: false } if call == last => break,
            Received::Reply { result: Ok(_), .. } => {}
            other => panic!("{other:?}"),
        }
    }
}

/// A new writer writes one packet with `len` bytes of text into the first buffer there is, in fragments.
fn write_large(producer: &mut dyn Connection<ProducerPort>, writer: WriterId, len: usize) {
    let event = protos::TestEvent { str: Some("x".repeat(len)), ..Default::default() };
    let data = Some(protos::TracePacketData::ForTesting(event));
    let packet = protos::TracePacket { data, ..Default::default() }.encode_to_vec();
    let pieces: Vec<&[u8]> = packet.chunks(60_000).collect();
    for (index, piece) in pieces.iter().enumerate() {
        let mut flags = ChunkFlags::default();
        if index > 0 {
            flags = flags.with(ChunkFlags::CONTINUES_FROM_PREV);
        }
        if index + 1 < pieces.len() {
            flags = flags.with(ChunkFlags::CONTINUES_ON_NEXT);
        }
        let (chunk, packets) = (ChunkId::new(index as u32), Packets::new(1, flags));
        let mut data = ChunkHeader { chunk, writer, packets }.to_bytes().to_vec();
        let len = piece.len() as u32;
        data.extend([len as u8 | 0x80, (len >> 7) as u8 | 0x80, (len >> 14) as u8]);
        data.extend_from_slice(piece);
        let chunk = protos::CommitDataRequestChunksToMove {
            target_buffer: Some(1),
            data: Some(data),
            ..Default::default()
        };
        let commit =
            protos::CommitDataRequest { chunks_to_move: vec![chunk], ..Default::default() };
        producer.send(ProducerRequest::CommitData(commit), false, Attachment::None).unwrap();
    }
    call(producer, ProducerRequest::Sync(SyncRequest::default()));
}

/// The longest one that a consumer gets waits for it at once. A longer one is left out, and the session can be read on.
#[test]
fn a_packet_of_the_longest_kind_and_one_that_is_longer() {
    for kind in 0..2 {
        let daemon = RunningDaemon::start(&format!("long-{kind}"));
        let mut producer = SocketConnection::<ProducerPort>::connect(&daemon.producer()).unwrap();
        call(&mut producer, initialize());
        call(&mut producer, register("long"));
        let mut consumer = daemon.consumers().into_iter().nth(kind).unwrap();
        let source = DataSourceConfig { name: Some("long".into()), ..Default::default() };
        let source = TraceConfigDataSource { config: Some(source), ..Default::default() };
        let buffer = TraceConfigBufferConfig { size_kb: Some(48 * 1024), ..Default::default() };
        let (buffers, data_sources) = (vec![buffer], vec![source]);
        let config = TraceConfig { buffers, data_sources, ..TraceConfig::default() };
        consumer.enable_tracing(&config, None).unwrap();
        consumer.query_capabilities().unwrap();
        let mut longest = |writer, len| {
            write_large(&mut producer, WriterId::new(writer), len);
            let mut longest = 0;
            let read = consumer.read_buffers(FOREVER, |packet| {
                longest = longest.max(packet.bytes().len());
                Ok(())
            });
            read.expect("a service that goes on");
            longest
        };
        let nearly = PACKET_BYTES_MAX - 1000;
        assert!(longest(1, nearly) > nearly);
        assert!(longest(2, PACKET_BYTES_MAX) < 10_000);
        assert_eq!(daemon.handle().stats().faults, 0);
    }
}

#[test]
fn packets_do_not_count_against_a_consumer_and_all_else_does() {
    let mut host = HostLink::new(PortKind::Consumer);
    let queue = |host: &mut HostLink, bytes: usize, paced: bool| {
        if paced {
            host.expect_paced(bytes);
        }
        let link = std::mem::replace(host, HostLink::new(PortKind::Consumer));
        let mut peer = PeerConnection::new(
            PortKind::Consumer,
            Link::Custom(Box::new(link)),
            PeerUser::Local(0),
            true,
        );
        for _ in 0..bytes / 100_000 {
            peer.reply(CallId::new(1), Ok(vec![0; 100_000].into()), true, None).unwrap();
        }
        let Link::Custom(link) = peer.link else { return };
        *host = *link;
    };
    let many = CONSUMER_QUEUE_BYTES_MAX / 100_000 * 100_000;
    queue(&mut host, 2 * many, true);
    assert_eq!(host.check_queue(), Ok(()));
    assert!(host.is_paused());
    queue(&mut host, many + 200_000, false);
    assert_eq!(host.check_queue(), Err(Disconnect::SlowReader));
    // All has left: what comes now is counted from the beginning.
    host.transmit(|parts, _| Ok(parts.iter().map(|part| part.len()).sum()), drop).unwrap();
    queue(&mut host, many + 200_000, false);
    assert_eq!(host.check_queue(), Err(Disconnect::SlowReader));
}

/// Replies of a kilobyte that wait for a peer: an eighth of what may, and more than that.
#[test]
fn a_peer_that_is_a_little_late_is_neither_paused_nor_cut() {
    let queue = |port, bytes: usize| {
        let mut host = HostLink::new(port);
        for _ in 0..bytes / 1000 {
            host.reply(CallId::new(1), Ok(vec![0; 1000].into()), true, None).unwrap();
        }
        (host.check_queue().is_ok(), host.is_paused())
    };
    assert_eq!(queue(PortKind::Producer, PRODUCER_QUEUE_BYTES_MAX / 8), (true, false));
    assert_eq!(queue(PortKind::Producer, PRODUCER_QUEUE_BYTES_MAX + 1000), (false, false));
    assert_eq!(queue(PortKind::Consumer, CONSUMER_QUEUE_BYTES_PAUSE / 8), (true, false));
    assert_eq!(queue(PortKind::Consumer, CONSUMER_QUEUE_BYTES_PAUSE + 1000), (true, true));
}

/// Idle connections cost nothing when another one has something to say: the loop looks at those that are
/// ready, and at no others.
#[test]
fn a_thousand_idle_producers_are_not_looked_at() {
    let _ = os::process::raise_descriptor_limit();
    let daemon = RunningDaemon::start("thousand");
    let handle = daemon.handle().clone();
    let connect = || {
        let mut producer = SocketConnection::<ProducerPort>::connect(&daemon.producer()).ok()?;
        producer.send(initialize(), true, Attachment::None).ok()?;
        // The service refuses more than its descriptors allow.
        matches!(producer.receive(Some(FOREVER)), Received::Reply { .. }).then_some(producer)
    };
    // Two descriptors each here, and one there; where there may not be so many, fewer will do.
    let mut idle: Vec<_> = std::iter::from_fn(connect).take(1000).collect();
    assert!(idle.len() > 100, "{}", idle.len());
    while handle.stats().connected > idle.len() as u64 {
        std::thread::yield_now();
    }
    let mut busy = idle.pop().unwrap();
    let before = handle.stats();
    assert_eq!(before.connected, idle.len() as u64 + 1);
    for _ in 0..500 {
        call(&mut busy, ProducerRequest::Sync(SyncRequest::default()));
    }
    let after = handle.stats();
    let (wakes, events) = (after.wakes - before.wakes, after.events - before.events);
    assert!(events <= 2 * 500 + 10 && wakes <= 2 * 500 + 10, "{wakes} wakes, {events} events");
    drop(idle);
    while handle.stats().connected > 1 {
        daemon.assert_alive();
    }
}

/// What the kernel keeps for a consumer that does not receive: more than a little for some of each user.
#[test]
fn sockets_of_consumers_are_large_when_they_need_it_and_their_user_may() {
    let address = Address::Abstract(format!("large-{}", std::process::id()).into_bytes());
    let listener = os::socket::Listener::bind(&address).unwrap();
    let connections = connections();
    let closer = Closer::new(closer_limits());
    let poller = abi::sync::Arc::new(os::poll::Poller::new().unwrap());
    let kept = |replies: usize| {
        let client = Stream::connect(&address).unwrap();
        let stream = listener.accept().unwrap().unwrap();
        let slot = connections.admit(PeerUser::Local(1000), PortKind::Consumer).unwrap();
        let origin = Origin { client: ClientId::new(9), uid: 1000 };
        let (port, unreceived) = (PortKind::Consumer, Unreceived::default());
        let mut link = SocketLink::new(stream, port, origin, slot, &closer, &unreceived, &poller);
        for _ in 0..replies {
            let reply = Ok(vec![0; 1000].into());
            link.host.reply(CallId::new(1), reply, false, None).unwrap();
        }
        link.write(&mut super::slow_calls::CallMeter::new(), drop).unwrap();
        let (mut sum, mut buf) = (0, [0; 4096]);
        while let Ok(Raw::Bytes(count, _)) = client.receive(&mut buf) {
            sum += count;
        }
        (sum, link)
    };
    let (few, _small) = kept(2);
    assert!((2000..4096).contains(&few), "{few}");
    let users = LARGE_SOCKETS_PER_USER_MAX;
    let large: Vec<_> = (0..users).map(|_| kept(400)).collect();
    assert!(large.iter().all(|(sum, _)| (64 << 10..256 << 10).contains(sum)), "{}", large[0].0);
    let (small, _link) = kept(400);
    assert!((1000..=8192).contains(&small), "{small}");
}

/// A consumer that empties its socket each time never finds it full.
#[test]
fn a_consumer_that_receives_as_fast_as_it_is_sent_to_gets_a_large_socket() {
    let ends = Ends::new(Closer::new(closer_limits()));
    let (stream, client) = Stream::pair().unwrap();
    let slot = ends.connections.admit(PeerUser::Local(1000), PortKind::Consumer).unwrap();
    let Ends { closer, unreceived, poller, .. } = &ends;
    let port = PortKind::Consumer;
    let mut link = SocketLink::new(stream, port, ORIGIN, slot, closer, unreceived, poller);
    let buffer_size = |link: &SocketLink| {
        rustix::net::sockopt::socket_send_buffer_size(link.as_fd().unwrap()).unwrap()
    };
    assert!(buffer_size(&link) < LARGE_SOCKET_BYTES as usize);
    for _ in 0..100 {
        link.host.reply(CallId::new(1), Ok(vec![0; 1000].into()), false, None).unwrap();
    }
    // The clock is read before and after each call.
    let receive = move || {
        while let Ok(Raw::Bytes(..)) = client.receive(&mut [0; 4096]) {}
        0
    };
    let mut meter =
        super::slow_calls::CallMeter::with(Box::new(receive), Box::new(|| 0), Box::new(|| 0));
    link.write(&mut meter, drop).unwrap();
    assert!(buffer_size(&link) >= LARGE_SOCKET_BYTES as usize);
}

/// Connections of user 1000, which end.
struct Ends {
    connections: Connections,
    closer: Closer,
    unreceived: Unreceived,
    poller: abi::sync::Arc<os::poll::Poller>,
}

impl Ends {
    fn new(closer: Closer) -> Self {
        Self {
            connections: connections(),
            closer,
            unreceived: Unreceived::default(),
            poller: abi::sync::Arc::new(os::poll::Poller::new().unwrap()),
        }
    }

    /// Ends a connection whose peer has not received all, and may have ended its half before. Returns the peer.
    fn end_unread(&self, has_ended: bool) -> Stream {
        let (stream, peer) = Stream::pair().unwrap();
        stream.send(&[IoSlice::new(b"an answer")], None).unwrap();
        let slot = self.connections.admit(PeerUser::Local(1000), PortKind::Producer).unwrap();
        let Self { closer, unreceived, poller, .. } = self;
        let port = PortKind::Producer;
        let mut link = SocketLink::new(stream, port, ORIGIN, slot, closer, unreceived, poller);
        if has_ended {
            rustix::net::shutdown(&peer, rustix::net::Shutdown::Write).unwrap();
            let mut descriptors = super::descriptors::Descriptors::new(1000);
            let mut meter = super::slow_calls::CallMeter::new();
            let read =
                link.read(&mut [0; 8], os::socket::Openable::Any, &mut descriptors, &mut meter);
            assert_eq!(read, Err(Disconnect::PeerLeft));
        }
        peer
    }

    fn has_place(&self) -> bool {
        !self.connections.users().is_empty()
    }

    fn wait_for_closer(&self) {
        while self.closer.pending() > 0 {
            std::thread::yield_now();
        }
    }
}

const ORIGIN: Origin = Origin { client: ClientId::new(9), uid: 1000 };

/// Receives all that was sent, and the end, although the socket is open.
fn receive_to_end(peer: &Stream) {
    let received = peer.receive(&mut [0; 100]);
    assert!(matches!(received, Ok(Raw::Bytes(9, None))), "{received:?}");
    let end = peer.receive(&mut [0]);
    assert!(matches!(end, Ok(Raw::End)), "{end:?}");
}

/// What it has not received takes memory of this process's control group, also when the connection is over.
#[test]
fn a_connection_counts_until_its_peer_has_received_all_or_is_gone() {
    let ends = Ends::new(Closer::new(closer_limits()));
    let unreceived = &ends.unreceived;
    let mut now_ns = 0;
    for (has_ended, receives) in [(false, true), (false, false), (true, true), (true, false)] {
        let peer = ends.end_unread(has_ended);
        ends.wait_for_closer();
        now_ns = unreceived.due_ns().expect("it waits").max(now_ns);
        unreceived.close_received(|| now_ns);
        assert!(ends.has_place());
        if receives {
            receive_to_end(&peer);
        } else {
            drop(peer);
        }
        now_ns = unreceived.due_ns().expect("it is asked again");
        unreceived.close_received(|| now_ns - 1);
        assert!(ends.has_place(), "too early");
        unreceived.close_received(|| now_ns);
        // A thread or process that another test starts may have a copy of the peer for a moment.
        while let (false, Some(due_ns)) = (receives, unreceived.due_ns()) {
            std::thread::yield_now();
            now_ns = due_ns;
            unreceived.close_received(|| now_ns);
        }
        assert_eq!(unreceived.due_ns(), None);
        ends.wait_for_closer();
        assert!(!ends.has_place());
    }
}

/// All threads of its user wait in a `close`, so its socket stays open, for the thread that shuts it down.
#[test]
fn a_connection_counts_until_it_is_shut_down() {
    struct Busy(std::sync::mpsc::Receiver<()>);
    impl Drop for Busy {
        fn drop(&mut self) {
            let _ = self.0.recv();
        }
    }
    let ends = Ends::new(Closer::start(closer_limits()));
    let busy = [(); CLOSER_THREADS_PER_USER_MAX].map(|()| {
        let (end, waits) = std::sync::mpsc::channel();
        ends.closer.take(ORIGIN, Busy(waits));
        end
    });
    let peer = ends.end_unread(true);
    assert!(matches!(peer.receive(&mut [0; 100]), Ok(Raw::Bytes(9, None))));
    ends.unreceived.close_received(|| u64::MAX - 1);
    assert!(ends.has_place());
    drop(busy);
    ends.wait_for_closer();
    assert!(matches!(peer.receive(&mut [0]), Ok(Raw::End)));
    ends.unreceived.close_received(|| u64::MAX);
    ends.wait_for_closer();
    assert!(!ends.has_place());
}

/// A file that another user made at the path of a socket does not keep a daemon of root from starting.
#[test]
fn what_another_user_has_at_a_socket_is_logged() {
    if skip::without_root("what_another_user_has_at_a_socket_is_logged") {
        return;
    }
    use std::os::unix::fs::{PermissionsExt, chown};
    let directory = TestDirectory::new("displaced");
    std::fs::set_permissions(&*directory, PermissionsExt::from_mode(0o1777)).unwrap();
    let theirs = directory.join("consumer");
    std::fs::write(&theirs, "").unwrap();
    chown(&theirs, Some(1000), None).unwrap();
    let (lines, logged) = std::sync::mpsc::channel();
    let mut options = options(&directory);
    options.log = Box::new(move |_, line| lines.send(line.to_string()).unwrap());
    let server = InProcessService::run(Server::bind(options).unwrap()).unwrap();
    assert!(Consumer::connect(&Address::Path(theirs)).is_ok());
    server.stop().unwrap();
    let lines: Vec<String> = logged.iter().collect();
    assert!(lines.iter().any(|line| line.contains("user 1000 had a file at")), "{lines:?}");
}
