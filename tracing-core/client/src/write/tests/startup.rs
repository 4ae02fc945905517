//! Writers that begin before the service names their buffer.

use protozero::Message as _;

use super::*;
use abi::ids::ReservationId;

fn unattached(pages: usize) -> Arbiter {
    let smb = Smb::new(Region::heap(pages * PAGE), PageSize::DEFAULT).unwrap();
    Arbiter::unattached(smb, ArbiterOptions::default(), Arc::new(NoWaker), Arc::new(NeverPark))
}

/// A writer that waits in these tests would wait for ever.
struct NeverPark;

impl Park for NeverPark {
    fn park(&self, _: Duration) {
        panic!("a writer waits");
    }
}

fn requests(arbiter: &Arbiter) -> Vec<Request> {
    std::iter::from_fn(|| arbiter.poll_request(BootTime::from_ns(0)))
        .map(|outgoing| outgoing.request)
        .collect()
}

/// Buffers of the chunks in each commit of `requests`.
fn targets(requests: &[Request]) -> Vec<Vec<u32>> {
    let commits = requests.iter().filter_map(|request| match request {
        Request::CommitData(commit) => Some(commit),
        _ => None,
    });
    let target = |entry: &protos::CommitDataRequestChunksToMove| entry.target_buffer.unwrap();
    commits.map(|commit| commit.chunks_to_move.iter().map(target).collect()).collect()
}

fn registrations(requests: &[Request]) -> Vec<(u32, u32)> {
    let registration = |request: &Request| match request {
        Request::RegisterTraceWriter(it) => {
            Some((it.trace_writer_id.unwrap(), it.target_buffer.unwrap()))
        }
        _ => None,
    };
    requests.iter().filter_map(registration).collect()
}

fn startup_writer(arbiter: &Arbiter, reservation: ReservationId) -> TraceWriter {
    arbiter.create_writer(reservation, BufferExhaustedPolicy::Stall)
}

fn in_use(arbiter: &Arbiter) -> usize {
    let smb = arbiter.smb();
    (0..smb.page_count()).filter(|page| !smb.page_hint(*page).is_free()).count()
}

#[test]
fn create_unbound_and_bind() {
    let arbiter = unattached(8);
    arbiter.attach(ServiceSupport::default());
    let mut writer = writer(&arbiter, BufferExhaustedPolicy::Drop);
    str_packet(&mut writer, "one");
    writer.flush();
    let sent = requests(&arbiter);
    assert_eq!((registrations(&sent), targets(&sent)), (vec![(1, 1)], vec![vec![1]]));
}

/// What was written before the service goes to the bound buffer.
fn check_bound(attached_first: bool) {
    let arbiter = unattached(8);
    let reservation = arbiter.reserve().unwrap();
    if attached_first {
        arbiter.attach(ServiceSupport::default());
    }
    let mut live = startup_writer(&arbiter, reservation);
    let mut gone = startup_writer(&arbiter, reservation);
    str_packet(&mut live, "one");
    str_packet(&mut gone, "two");
    live.flush();
    drop(gone);
    str_packet(&mut live, "three");
    if attached_first {
        assert_eq!(requests(&arbiter), [], "the buffer is not known");
        arbiter.bind(reservation, BufferId::new(7));
    } else {
        arbiter.bind(reservation, BufferId::new(7));
        arbiter.attach(ServiceSupport::default());
    }
    let sent = requests(&arbiter);
    assert_eq!(registrations(&sent), [(1, 7)], "writer 2 is gone");
    assert_eq!(targets(&sent), [[7, 7]]);
    drop(live);
    let mut late = startup_writer(&arbiter, reservation);
    str_packet(&mut late, "four");
    late.flush();
    let sent = requests(&arbiter);
    assert_eq!(registrations(&sent), [(3, 7)]);
    assert_eq!(targets(&sent), [[7], [7]], "chunks leave at once");
    assert_eq!(arbiter.discarded_packets(reservation), 0);
    drop(late);
    let gone = |request: &Request| matches!(request, Request::UnregisterTraceWriter(_));
    assert_eq!(requests(&arbiter).iter().filter(|request| gone(request)).count(), 1);
    assert!(arbiter.is_idle(), "all ids are free again");
}

#[test]
fn startup_tracing_unbound() {
    check_bound(false);
}

#[test]
fn startup_tracing_bound() {
    check_bound(true);
}

/// What was written for an aborted reservation is freed and counted.
fn check_aborted(attached_first: bool) {
    let arbiter = unattached(8);
    let reservation = arbiter.reserve().unwrap();
    let mut writer = startup_writer(&arbiter, reservation);
    str_packet(&mut writer, "one");
    str_packet(&mut writer, &"x".repeat(5000));
    writer.flush();
    str_packet(&mut writer, "three");
    if attached_first {
        arbiter.attach(ServiceSupport::default());
    }
    arbiter.abort(reservation);
    assert_eq!(arbiter.discarded_packets(reservation), 2);
    arbiter.bind(reservation, BufferId::new(7));
    drop(writer);
    assert_eq!(arbiter.discarded_packets(reservation), 3);
    assert_eq!(startup_writer(&arbiter, reservation).id().get(), 0, "it writes nothing");
    arbiter.attach(ServiceSupport::default());
    let mut service = Reader::default();
    assert_eq!(arbiter.discarded_packets_total().load(Ordering::Relaxed), 3);
    assert_eq!(in_use(&arbiter), 3);
    service.drain(&arbiter);
    assert_eq!(targets(&service.requests).concat(), [0, 0, 0]);
    assert_eq!(registrations(&service.requests), []);
    assert_eq!(in_use(&arbiter), 0);
}

#[test]
fn abort_startup_tracing_for_reservation_unbound() {
    check_aborted(false);
}

#[test]
fn abort_startup_tracing_for_reservation_bound() {
    check_aborted(true);
}

/// What is thrown away is no loss of a session: the service counts a mark for whichever comes next.
#[test]
fn losses_of_an_aborted_reservation_are_not_told() {
    let arbiter = unattached(4);
    let reservation = arbiter.reserve().unwrap();
    let mut writer = startup_writer(&arbiter, reservation);
    while !writer.is_dropping() {
        str_packet(&mut writer, &"x".repeat(3000));
    }
    arbiter.abort(reservation);
    arbiter.attach(ServiceSupport::default());
    let mut service = Reader::default();
    service.drain(&arbiter);
    let commits = service.requests.iter().filter_map(|request| match request {
        Request::CommitData(commit) => Some(&commit.chunks_to_move),
        _ => None,
    });
    let chunks: Vec<_> =
        commits.flatten().map(|entry| (entry.chunk, entry.data.is_some())).collect();
    assert_eq!((chunks, in_use(&arbiter)), (vec![(Some(0), false); 4], 0));
}

/// Upstream's arbiter commits nothing while a reservation is open.
#[test]
fn an_open_reservation_holds_up_nobody_else() {
    let arbiter = unattached(8);
    let reservations = [arbiter.reserve().unwrap(), arbiter.reserve().unwrap()];
    let [mut first, mut second] = reservations.map(|it| startup_writer(&arbiter, it));
    str_packet(&mut first, "first");
    str_packet(&mut second, "second");
    first.flush();
    second.flush();
    arbiter.attach(ServiceSupport::default());
    let mut other = writer(&arbiter, BufferExhaustedPolicy::Drop);
    str_packet(&mut other, "other");
    other.flush();
    arbiter.notify_flush_complete(FlushId::new(3));
    let sent = requests(&arbiter);
    assert_eq!(targets(&sent), [vec![1], vec![]]);
    arbiter.bind(reservations[1], BufferId::new(2));
    assert_eq!(targets(&requests(&arbiter)), [[2]]);
    arbiter.bind(reservations[0], BufferId::new(3));
    assert_eq!(targets(&requests(&arbiter)), [[3]]);
}

/// The park of these tests panics.
#[test]
fn no_writer_waits_while_a_reservation_holds_memory() {
    let arbiter = unattached(4);
    let reservation = arbiter.reserve().unwrap();
    let mut writer = startup_writer(&arbiter, reservation);
    let lost = |writer: &mut TraceWriter| {
        for _ in 0..8 {
            str_packet(writer, &"x".repeat(3000));
        }
        assert!(writer.is_dropping());
    };
    lost(&mut writer);
    let aborted = unattached(4);
    let without_buffer = aborted.reserve().unwrap();
    let mut unwanted = startup_writer(&aborted, without_buffer);
    aborted.abort(without_buffer);
    lost(&mut unwanted);
    arbiter.attach(ServiceSupport::default());
    lost(&mut writer);
    assert_eq!(losses_noted(&arbiter), 0, "no buffer has lost it yet");
    lost(&mut arbiter.create_writer(BufferId::new(1), BufferExhaustedPolicy::Stall));
    assert_eq!((in_use(&arbiter), losses_noted(&arbiter)), (4, 1));
    arbiter.bind(reservation, BufferId::new(1));
    assert_eq!((losses_noted(&arbiter), losses_noted(&aborted)), (2, 0));
    Reader::default().drain(&arbiter);
    writer.flush();
    str_packet(&mut writer, "there is memory again");
    assert!(!writer.is_dropping());
}

#[test]
fn writers_wait_again_when_all_reservations_are_bound() {
    let smb = Smb::new(Region::heap(4 * PAGE), PageSize::DEFAULT).unwrap();
    let park = Arc::new(ServeWhileParked {
        arbiter: Mutex::new(None),
        reader: Mutex::new(Reader::default()),
    });
    let options = ArbiterOptions::default();
    let arbiter = Arbiter::unattached(smb, options, Arc::new(NoWaker), park.clone());
    *lock(&park.arbiter) = Some(arbiter.clone());
    let reservation = arbiter.reserve().unwrap();
    let mut writer = startup_writer(&arbiter, reservation);
    arbiter.attach(ServiceSupport::default());
    arbiter.bind(reservation, BufferId::new(1));
    for _ in 0..50 {
        str_packet(&mut writer, &"x".repeat(3000));
    }
    assert_eq!(writer.drop_count(), 0);
    // The arbiter and its park own each other.
    *lock(&park.arbiter) = None;
}

/// However the service takes chunks, lengths of a packet over many chunks are in their places.
#[test]
fn lengths_of_held_chunks_are_stored_in_place() {
    for (direct_patching, by_value) in [(false, false), (true, false), (false, true), (true, true)]
    {
        let arbiter = unattached(8);
        let reservation = arbiter.reserve().unwrap();
        let mut writer = startup_writer(&arbiter, reservation);
        writer.new_packet().for_testing().str(&"x".repeat(10_000));
        let mut packet = writer.new_packet();
        let mut event = packet.for_testing();
        event.str(&"y".repeat(6000));
        // The lengths of the second packet come when the chunks are on their way already.
        arbiter.attach(ServiceSupport { direct_patching, by_value });
        arbiter.bind(reservation, BufferId::new(1));
        let mut service = Reader::default();
        service.drain(&arbiter);
        let patches = |service: &Reader| {
            let patches = service.requests.iter().map(|request| match request {
                Request::CommitData(commit) => commit.chunks_to_patch.len(),
                _ => 0,
            });
            patches.sum::<usize>()
        };
        assert_eq!(patches(&service), 0);
        drop(event);
        drop(packet);
        drop(writer);
        service.drain(&arbiter);
        assert_eq!(patches(&service), 1);
        let text_len = |packet: Option<Vec<u8>>| {
            let packet = protos::TracePacket::decode(&packet.unwrap()).unwrap();
            let Some(protos::TracePacketData::ForTesting(event)) = packet.data else { return 0 };
            event.str.unwrap().len()
        };
        let lens: Vec<_> = service.packets(1).into_iter().map(text_len).collect();
        assert_eq!(lens, [10_000, 6000]);
        assert_eq!(in_use(&arbiter), 0);
    }
}

#[test]
fn ids_of_writers_with_held_chunks_are_not_given_out_again() {
    let arbiter = unattached(8);
    let reservation = arbiter.reserve().unwrap();
    let mut first = startup_writer(&arbiter, reservation);
    str_packet(&mut first, "held");
    drop(first);
    // Two rounds of all ids; those of writers without chunks are free at once.
    let again = (0..2 * usize::from(WriterId::MAX))
        .any(|_| startup_writer(&arbiter, reservation).id().get() == 1);
    assert!(!again);
    arbiter.attach(ServiceSupport::default());
    assert_eq!(requests(&arbiter), [], "writers that came and went are nothing to the service");
    arbiter.bind(reservation, BufferId::new(1));
    assert_eq!(targets(&requests(&arbiter)), [[1]]);
    assert!(arbiter.is_idle());
    let again = (0..usize::from(WriterId::MAX))
        .any(|_| startup_writer(&arbiter, reservation).id().get() == 1);
    assert!(again);
}

#[test]
fn callbacks_of_flushes_wait_for_the_buffer() {
    for (bound, expected) in [(true, 256), (false, 0)] {
        let arbiter = unattached(8);
        let reservation = arbiter.reserve().unwrap();
        let mut writer = startup_writer(&arbiter, reservation);
        let (done, dropped) = (Arc::new(AtomicU32::new(0)), Arc::new(()));
        for _ in 0..1000 {
            let (done, dropped) = (done.clone(), dropped.clone());
            writer.flush_with(Some(Box::new(move || {
                done.fetch_add(1, Ordering::Relaxed);
                drop(dropped);
            })));
        }
        assert_eq!(Arc::strong_count(&dropped), 1 + 256, "the rest is dropped at once");
        arbiter.attach(ServiceSupport::default());
        match bound {
            true => arbiter.bind(reservation, BufferId::new(1)),
            false => arbiter.abort(reservation),
        }
        Reader::default().drain(&arbiter);
        assert_eq!(done.load(Ordering::Relaxed), expected);
        assert_eq!(Arc::strong_count(&dropped), 1);
    }
}

#[test]
fn a_disconnect_aborts_reservations() {
    let arbiter = unattached(8);
    let reservation = arbiter.reserve().unwrap();
    let mut writer = startup_writer(&arbiter, reservation);
    str_packet(&mut writer, "one");
    writer.flush();
    let dropped = Arc::new(());
    let kept = dropped.clone();
    writer.flush_with(Some(Box::new(move || drop(kept))));
    arbiter.disconnect();
    assert_eq!((arbiter.discarded_packets(reservation), Arc::strong_count(&dropped)), (1, 1));
    str_packet(&mut writer, "two");
    drop(writer);
    arbiter.bind(reservation, BufferId::new(1));
    assert_eq!(requests(&arbiter), []);
    assert!(arbiter.reserve().is_none());
}
