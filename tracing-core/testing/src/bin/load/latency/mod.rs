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

/// Answers to one kind of request.
#[derive(Default)]
pub struct Answers {
    count: u64,
    /// The longest time until an answer.
    slowest: Duration,
    /// The most that the daemon worked until an answer: other programs do not change this.
    most_work: Duration,
}

/// By request.
pub type Measured = BTreeMap<&'static str, Answers>;

/// Measures answers.
pub struct Meter<'d> {
    daemon: &'d Daemon,
    pub measured: Measured,
}

impl<'d> Meter<'d> {
    pub fn new(daemon: &'d Daemon) -> Self {
        Self { daemon, measured: BTreeMap::new() }
    }

    /// Measures how long `question` takes, which waits for its answer.
    fn time(&mut self, name: &'static str, question: impl FnOnce() -> Outcome) -> Outcome {
        let (worked, since) = (self.daemon.processor_time()?, Instant::now());
        question()?;
        let (took, work) = (since.elapsed(), self.daemon.processor_time()? - worked);
        let answers = self.measured.entry(name).or_default();
        answers.count += 1;
        answers.slowest = answers.slowest.max(took);
        answers.most_work = answers.most_work.max(work);
        Ok(())
    }

    /// The same for a consumer.
    fn consumer(
        &mut self,
        name: &'static str,
        question: impl FnOnce() -> Result<(), ConsumerError>,
    ) -> Outcome {
        self.time(name, || question().map_err(|error| error.to_string()))
    }
}

/// A producer that registers a data source and then stays idle.
pub fn idle_producer(address: &Address, index: usize) -> Outcome<SocketConnection<ProducerPort>> {
    let mut connection = SocketConnection::connect(address).map_err(|error| error.to_string())?;
    let hello = InitializeConnectionRequest {
        producer_name: Some(format!("idle-{index}")),
        ..Default::default()
    };
    answer(&mut connection, Request::InitializeConnection(hello))?;
    let register = protos::RegisterDataSourceRequest {
        data_source_descriptor: Some(descriptor("load.idle").into()),
        ..Default::default()
    };
    answer(&mut connection, Request::RegisterDataSource(register))?;
    Ok(connection)
}

/// Makes a call and waits for its reply.
pub fn answer(connection: &mut SocketConnection<ProducerPort>, request: Request) -> Outcome {
    let sent = connection.send(request, true, Attachment::None);
    let call = sent.map_err(|error| error.to_string())?;
    loop {
        match connection.receive(Some(FOREVER)) {
            Received::Reply { call: of, .. } if of == call => return Ok(()),
            Received::Reply { .. } | Received::Woken => {}
            other => return Err(format!("no answer: {other:?}")),
        }
    }
}

/// Makes requests on both ports until the time is over. Returns the highest memory use, KiB.
pub fn ask(
    meter: &mut Meter<'_>,
    plan: &Plan,
    (side, main): (&mut Consumer, &mut Consumer),
) -> Outcome<u64> {
    let daemon = meter.daemon;
    let mut consumer = daemon.consumer()?;
    let mut producer = idle_producer(&daemon.producers, usize::MAX)?;
    let (end, mut peak) = (Instant::now() + plan.time, 0);
    let mut round = 0_u64;
    while Instant::now() < end {
        ask_once(meter, &mut consumer, &mut producer)?;
        meter.consumer("GetTraceStats", || side.get_trace_stats().map(drop))?;
        meter.consumer("ReadBuffers", || side.read_into(&mut Vec::new(), FOREVER).map(drop))?;
        meter.consumer("Flush", || side.flush(FOREVER))?;
        meter.consumer("EnableTracing and its end", || short_session(&mut consumer))?;
        // A flush of all writers, now and then: each of them has to answer.
        if round.is_multiple_of(16) {
            meter.consumer("Flush of all writers", || main.flush(FOREVER))?;
        }
        round += 1;
        peak = peak.max(daemon.resources()?.rss_kb);
        pause();
    }
    Ok(peak)
}

/// The rate of requests, so that the other clients have most of the processors. Nothing waits for this.
pub fn pause() {
    std::thread::park_timeout(Duration::from_millis(20));
}

/// Makes those requests that need no session.
pub fn ask_once(
    meter: &mut Meter<'_>,
    consumer: &mut Consumer,
    producer: &mut SocketConnection<ProducerPort>,
) -> Outcome {
    let address = &meter.daemon.producers;
    meter.consumer("QueryCapabilities", || consumer.query_capabilities().map(drop))?;
    meter.consumer("QueryServiceState", || consumer.query_service_state(false).map(drop))?;
    meter.time("Sync", || answer(producer, Request::Sync(SyncRequest::default())))?;
    let nothing = Request::CommitData(CommitDataRequest::default());
    meter.time("CommitData", || answer(producer, nothing))?;
    meter.time("a new producer", || idle_producer(address, usize::MAX).map(drop))
}

/// Starts a session, stops it, and frees it.
fn short_session(consumer: &mut Consumer) -> Result<(), ConsumerError> {
    consumer.enable_tracing(&config(SIDE, SIDE_KB), None)?;
    consumer.disable_tracing()?;
    while consumer.wait(Some(FOREVER))? != Waited::Ended {}
    consumer.free_buffers()
}

/// Prints what was measured.
///
/// # Errors
/// An answer took longer than `within`, or the daemon worked longer before it than the plan allows.
pub fn check(measured: &Measured, within: Duration, plan: &Plan) -> Outcome {
    for (name, Answers { count, slowest, most_work }) in measured {
        println!(
            "{name}: {count} times, the slowest answer after {slowest:?} and {most_work:?} of work"
        );
    }
    for (name, answers) in measured {
        let Answers { slowest, most_work, .. } = answers;
        if *slowest > within {
            return Err(format!("{name}: an answer took {slowest:?}"));
        }
        if *most_work > plan.work_within {
            return Err(format!("{name}: the daemon worked for {most_work:?} before an answer"));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
