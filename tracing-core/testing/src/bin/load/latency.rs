//! Measures response times while all other clients are busy.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use abi::ipc::port::ProducerPort;
use client::connection::{Attachment, Connection, Received, SocketConnection};
use client::consumer::{Consumer, ConsumerError, Waited};
use os::socket::Address;
use protos::producer_port::Request;
use protos::{CommitDataRequest, InitializeConnectionRequest, SyncRequest};

use crate::daemon::{Daemon, FOREVER};
use crate::producers::{SIDE, SIDE_KB, config, descriptor};
use crate::{Outcome, Plan};

/// By request: how often, and the slowest reply.
pub type Slowest = BTreeMap<&'static str, (u64, Duration)>;

/// A producer that registers a data source and then stays idle.
pub fn idle_producer(address: &Address, index: usize) -> Outcome<SocketConnection<ProducerPort>> {
    let mut connection = SocketConnection::connect(address).map_err(|error| error.to_string())?;
    let hello = InitializeConnectionRequest {
        producer_name: Some(format!("idle-{index}")),
        ..Default::default()
    };
    answer(&mut connection, Request::InitializeConnection(hello))?;
    let register = protos::RegisterDataSourceRequest {
        data_source_descriptor: Some(descriptor("load.idle")),
        ..Default::default()
    };
    answer(&mut connection, Request::RegisterDataSource(register))?;
    Ok(connection)
}

/// Makes a call. Returns how long the reply took.
fn answer(connection: &mut SocketConnection<ProducerPort>, request: Request) -> Outcome<Duration> {
    let since = Instant::now();
    let sent = connection.send(request, true, Attachment::None);
    let call = sent.map_err(|error| error.to_string())?;
    loop {
        match connection.receive(Some(FOREVER)) {
            Received::Reply { call: of, .. } if of == call => return Ok(since.elapsed()),
            Received::Reply { .. } | Received::Woken => {}
            other => return Err(format!("no answer: {other:?}")),
        }
    }
}

/// Makes requests on both ports until the time is over. Returns the highest memory use, KiB.
pub fn ask(
    daemon: &Daemon,
    plan: &Plan,
    (side, main): (&mut Consumer, &mut Consumer),
    slowest: &mut Slowest,
) -> Outcome<u64> {
    let mut consumer = daemon.consumer()?;
    let mut producer = idle_producer(&daemon.producers, usize::MAX)?;
    let (end, mut peak) = (Instant::now() + plan.time, 0);
    let mut note = |name, took: Duration| {
        let (count, most): &mut (u64, Duration) = slowest.entry(name).or_default();
        (*count, *most) = (*count + 1, took.max(*most));
    };
    let timed = |question: &mut dyn FnMut() -> Result<(), ConsumerError>| {
        let since = Instant::now();
        question().map(|()| since.elapsed()).map_err(|error| error.to_string())
    };
    let mut round = 0_u64;
    while Instant::now() < end {
        note("QueryCapabilities", timed(&mut || consumer.query_capabilities().map(drop))?);
        note("QueryServiceState", timed(&mut || consumer.query_service_state(false).map(drop))?);
        note("GetTraceStats", timed(&mut || side.get_trace_stats().map(drop))?);
        note("ReadBuffers", timed(&mut || side.read_into(&mut Vec::new(), FOREVER).map(drop))?);
        note("Flush", timed(&mut || side.flush(FOREVER))?);
        note("Sync", answer(&mut producer, Request::Sync(SyncRequest::default()))?);
        let nothing = Request::CommitData(CommitDataRequest::default());
        note("CommitData", answer(&mut producer, nothing)?);
        note("EnableTracing and its end", timed(&mut || short_session(&mut consumer))?);
        let since = Instant::now();
        drop(idle_producer(&daemon.producers, usize::MAX)?);
        note("a new producer", since.elapsed());
        // A flush of all writers, now and then: each of them has to answer.
        if round.is_multiple_of(16) {
            note("Flush of all writers", timed(&mut || main.flush(FOREVER))?);
        }
        round += 1;
        peak = peak.max(daemon.resources()?.rss_kb);
        // The rate of requests, so that the other clients have most of the processors. Nothing waits for this.
        std::thread::park_timeout(Duration::from_millis(20));
    }
    Ok(peak)
}

/// Starts a session, stops it, and frees it.
fn short_session(consumer: &mut Consumer) -> Result<(), ConsumerError> {
    consumer.enable_tracing(&config(SIDE, SIDE_KB), None)?;
    consumer.disable_tracing()?;
    while consumer.wait(Some(FOREVER))? != Waited::Ended {}
    consumer.free_buffers()
}

/// Prints response times.
///
/// # Errors
/// One is longer than `limit`.
pub fn check(slowest: &Slowest, limit: Option<Duration>) -> Outcome {
    for (name, (count, most)) in slowest {
        println!("{name}: {count} times, the slowest answer after {most:?}");
    }
    match slowest.iter().find(|(_, (_, most))| limit.is_some_and(|limit| *most > limit)) {
        Some((name, (_, most))) => Err(format!("{name}: an answer took {most:?}")),
        None => Ok(()),
    }
}
