//! Small requests that could make the daemon keep much: what its control group has more of while each kind is held.
//!
//! The memory of a control group is what the kernel charges the daemon for, also where no mapping of the daemon shows
//! it: the pages of shared memory that it touched first.

use std::io::{BufRead as _, BufReader, IoSlice};
use std::process::Stdio;
use std::sync::Arc;

use abi::ipc::port::{ConsumerPort, ProducerPort};
use client::connection::{Attachment, Connection, SocketConnection};
use client::consumer::Consumer;
use os::shm;
use os::socket::{Address, Stream};
use protos::producer_port::Request;
use protos::{
    CloneSessionRequest, CloneSessionRequestSelector, CommitDataRequest,
    CommitDataRequestChunksToMove, DataSourceDescriptor, EnableTracingRequest,
    InitializeConnectionRequest, QueryCapabilitiesRequest, RegisterDataSourceRequest,
    TrackEventCategory,
};

use service::limits::SESSIONS_PER_UID_MAX;

use super::cgroup::Cgroup;
use super::{SMALL, process};
use crate::Outcome;
use crate::daemon::{Daemon, FOREVER, state, wait_until};
use crate::latency;
use crate::producers::{SIDE, config, descriptor};

/// What an allocator may hold back, and the kernel for connections, bytes.
const SLACK: u64 = 24 << 20;

/// Requests, by their name, and what the daemon may keep of them, bytes.
const KINDS: [(&str, u64); 4] =
    [("holes", 0), ("descriptors", 16 << 20), ("configs", 0), ("replies", 8 << 20)];

/// Clones of one user. Each is a connection, and descriptors are few.
const CLONES: usize = 8;

/// Lets a hostile user send each kind of requests.
pub fn run(daemon: &Daemon, cgroup: Result<&Cgroup, &String>) -> Outcome {
    if os::process::effective_uid() != 0 {
        println!(
            "SKIPPED memory of small requests: its limits are those of other users, so run this as root"
        );
        return Ok(());
    }
    let cgroup = match cgroup {
        Ok(cgroup) => cgroup,
        Err(reason) => {
            println!("SKIPPED memory of small requests: only a control group shows it ({reason})");
            return Ok(());
        }
    };
    for (kind, allowed) in KINDS {
        let before = cgroup.current()?;
        let (producers, consumers) = (daemon.producers.to_string(), daemon.consumers.to_string());
        let words = ["--small", kind, &producers, &consumers].map(str::to_owned);
        let mut command = process(SMALL, &words);
        let mut child = command.stdin(Stdio::null()).spawn().map_err(|e| format!("{kind}: {e}"))?;
        let stdout = child.stdout.take().ok_or("no stdout")?;
        let held = BufReader::new(stdout).lines().map_while(Result::ok).next();
        let more = cgroup.current()?.saturating_sub(before);
        let _ = child.kill();
        let _ = child.wait();
        let held = held.ok_or_else(|| format!("{kind}: the hostile user failed"))?;
        println!(
            "{kind} ({held}): {} KiB more, {} KiB are allowed",
            more >> 10,
            (allowed + SLACK) >> 10
        );
        if more > allowed + SLACK {
            return Err(format!("the daemon keeps {} KiB of {kind}", more >> 10));
        }
        let mut consumer = daemon.consumer()?;
        wait_until("the hostile user is forgotten", || {
            let Some(state) = state(&mut consumer, true)? else { return Ok(false) };
            Ok(state.producers.is_empty() && state.num_sessions == Some(0))
        })?;
    }
    Ok(())
}

/// `--small KIND PRODUCERS CONSUMERS`: sends requests of that kind, prints what they were, and keeps the connections.
pub fn child(kind: &str, producers: &str, consumers: &str) -> Outcome {
    let parse = |text| Address::parse(text).map_err(|error| error.to_string());
    let (producers, consumers) = (parse(producers)?, parse(consumers)?);
    match kind {
        "holes" => holes(&producers),
        "descriptors" => descriptors(&producers),
        "configs" => configs(&consumers),
        "replies" => replies(&producers),
        other => Err(format!("{other}: no kind of requests")),
    }
}

/// Says what was sent, and waits to be killed while `connections` are open.
fn hold<T>(connections: Vec<T>, what: String) -> Outcome {
    println!("{what}");
    loop {
        std::thread::park();
        std::hint::black_box(&connections);
    }
}

/// Commits that name all pages of memory that nobody has written.
fn holes(producers: &Address) -> Outcome {
    const PAGE: u32 = 4096;
    let (mut connections, mut regions) = (Vec::new(), Vec::new());
    for _ in 0..4 {
        let mut link =
            SocketConnection::<ProducerPort>::connect(producers).map_err(|e| e.to_string())?;
        let region = shm::create(abi::limits::SMB_BYTES_MAX).map_err(|e| e.to_string())?;
        let hello = InitializeConnectionRequest {
            producer_name: Some("holes".into()),
            shared_memory_page_size_hint_bytes: Some(PAGE),
            producer_provided_shmem: Some(true),
            ..Default::default()
        };
        link.send(Request::InitializeConnection(hello), true, Attachment::Region(region.clone()))
            .map_err(|error| error.to_string())?;
        let pages = 0..abi::limits::SMB_BYTES_MAX as u32 / PAGE;
        let chunks: Vec<_> = pages
            .map(|page| CommitDataRequestChunksToMove {
                page: Some(page),
                chunk: Some(0),
                target_buffer: Some(1),
                ..Default::default()
            })
            .collect();
        for part in chunks.chunks(1024) {
            let commit = CommitDataRequest { chunks_to_move: part.to_vec(), ..Default::default() };
            latency::answer(&mut link, Request::CommitData(commit))?;
        }
        connections.push(link);
        regions.push(region);
    }
    hold(vec![(connections, regions)], "4 memories of 32 MiB".into())
}

/// Requests whose replies nobody receives. A reply has ten bytes: they are refused, as no producer introduced itself.
fn replies(producers: &Address) -> Outcome {
    const CONNECTIONS: usize = 4;
    const REQUESTS: usize = 70_000;
    const BIND: &[u8] = b"\x12\0\0\0\x10\x01\x1a\x0e\x0a\x0cProducerPort";
    const GET_COMMANDS: &[u8] = b"\x0c\0\0\0\x10\x03\x2a\x08\x08\x01\x10\x05\x1a\x00\x20\x00";
    let mut connections = Vec::new();
    let requests = [BIND, &GET_COMMANDS.repeat(REQUESTS)].concat();
    for _ in 0..CONNECTIONS {
        let stream = Stream::connect(producers).map_err(|error| error.to_string())?;
        let mut rest = &requests[..];
        while !rest.is_empty() {
            match stream.send(&[IoSlice::new(rest)], None).map_err(|error| error.to_string())? {
                0 => std::thread::yield_now(),
                sent => rest = &rest[sent..],
            }
        }
        connections.push(stream);
    }
    hold(connections, format!("{CONNECTIONS} times {REQUESTS} replies"))
}

/// Registrations whose bytes are few, and whose categories are many.
fn descriptors(producers: &Address) -> Outcome {
    let categories = |count| RegisterDataSourceRequest {
        data_source_descriptor: Some(Arc::new(DataSourceDescriptor {
            track_event_descriptor: Some(protos::TrackEventDescriptor {
                available_categories: vec![TrackEventCategory::default(); count],
                ..Default::default()
            }),
            ..descriptor("small")
        })),
        ..Default::default()
    };
    let (mut links, mut accepted) = (Vec::new(), 0);
    // What is too large is cut.
    for (count, times) in [(65_000, 128), (4_000, 2_000)] {
        let request = categories(count);
        let mut link = latency::idle_producer(producers, links.len())?;
        for _ in 0..times {
            match latency::answer(&mut link, Request::RegisterDataSource(request.clone())) {
                Ok(()) => accepted += 1,
                Err(_) => link = latency::idle_producer(producers, links.len())?,
            }
        }
        links.push(link);
    }
    hold(links, format!("{accepted} registrations"))
}

/// Configs whose bytes are few, and whose data sources are many; and clones of their sessions.
fn configs(consumers: &Address) -> Outcome {
    use protos::consumer_port::Request;
    let connect =
        || SocketConnection::<ConsumerPort>::connect(consumers).map_err(|e| e.to_string());
    let enable = |count: usize| {
        let mut config = config(SIDE, 64);
        config.data_sources.resize_with(count, Default::default);
        Request::EnableTracing(EnableTracingRequest {
            trace_config: Some(config.into()),
            ..Default::default()
        })
    };
    // An answer, or the end of a connection that asked for too much. The first one says that the service has handled
    // all before it.
    let asked = |mut link: SocketConnection<ConsumerPort>, request: Request| {
        let _ = link.send(request, true, Attachment::None);
        let question = Request::QueryCapabilities(QueryCapabilitiesRequest::default());
        let _ = link.send(question, true, Attachment::None);
        let _ = link.receive(Some(FOREVER));
        link
    };
    let mut asker = Consumer::connect(consumers).map_err(|error| error.to_string())?;
    let (mut links, mut made, mut count) = (Vec::new(), Vec::new(), 60_000);
    while made.len() < SESSIONS_PER_UID_MAX && count > 0 {
        let link = asked(connect()?, enable(count));
        let now = sessions(&mut asker)?;
        if now.len() > made.len() {
            links.push(link);
            made = now;
        } else {
            // What is too large is refused.
            count /= 2;
        }
    }
    let mut clones = Vec::new();
    for id in made.iter().cycle().take(CLONES) {
        let mut clone = Consumer::connect(consumers).map_err(|error| error.to_string())?;
        let request = CloneSessionRequest {
            selector: Some(CloneSessionRequestSelector::SessionId(*id)),
            ..Default::default()
        };
        clone.clone_session(request, None).map_err(|error| format!("a clone: {error}"))?;
        clones.push(clone);
    }
    let (made, cloned) = (made.len(), clones.len());
    if made < SESSIONS_PER_UID_MAX || sessions(&mut asker)?.len() < made + cloned {
        return Err(format!("{made} sessions were made, and some of {cloned} clones"));
    }
    let what = format!("{made} configs of {count} data sources, {cloned} clones");
    hold(vec![(links, clones)], what)
}

/// The sessions of this user.
fn sessions(consumer: &mut Consumer) -> Outcome<Vec<u64>> {
    let state = consumer.query_service_state(true).map_err(|error| error.to_string())?;
    Ok(state.tracing_sessions.iter().filter_map(|session| session.id).collect())
}
