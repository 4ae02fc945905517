//! A consumer that sends requests and never reads the replies.
//!
//! Its session has a producer that writes all the time, so the replies exceed every limit. The daemon must either
//! stop reading its requests or disconnect it and log that; other clients must not be affected.

use std::io::IoSlice;
use std::os::fd::AsFd as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use os::socket::Stream;
use protos::TraceConfig;
use protozero::Message as _;

use crate::Outcome;
use crate::daemon::Daemon;

/// A call with a reply, as a frame.
fn frame(method: u8, arguments: &[u8]) -> Vec<u8> {
    let length = |len: usize| [len as u8 | 0x80, (len >> 7) as u8];
    let invoke = [&[8, 1, 0x10, method, 0x1a][..], &length(arguments.len()), arguments].concat();
    let body = [&[0x10, method, 0x2a][..], &length(invoke.len()), &invoke].concat();
    [&(body.len() as u32).to_le_bytes(), &body[..]].concat()
}

/// The state of its requests.
#[derive(Debug)]
struct Sent {
    bytes: usize,
    /// How often the socket was full, in a row, at the end.
    refused: usize,
    /// The daemon closed the connection.
    cut: bool,
}

pub struct Unread {
    stop: Arc<AtomicBool>,
    thread: JoinHandle<Sent>,
}

impl Unread {
    /// Starts a session and requests its packets again and again.
    pub fn start(daemon: &Daemon, config: &TraceConfig) -> Outcome<Self> {
        let stream = Stream::connect(&daemon.consumers).map_err(|error| error.to_string())?;
        let bind = b"\x12\0\0\0\x10\x01\x1a\x0e\x0a\x0cConsumerPort";
        let session = protos::EnableTracingRequest {
            trace_config: Some(config.clone().into()),
            ..Default::default()
        };
        let first = [&bind[..], &frame(1, &session.encode_to_vec())].concat();
        let stop = Arc::new(AtomicBool::new(false));
        let thread = std::thread::spawn({
            let stop = stop.clone();
            move || ask(&stream, first, &stop)
        });
        Ok(Self { stop, thread })
    }

    /// Ends it, and checks that the daemon stopped reading from it or disconnected it and logged that.
    pub fn finish(self, daemon: &Daemon) -> Outcome {
        self.stop.store(true, Ordering::Relaxed);
        let sent = self.thread.join().map_err(|_| "the reader that does not read panicked")?;
        let counted = daemon.log_count("does not read");
        println!("{sent:?} by the consumer that never reads; {counted} disconnected");
        match (sent.cut, counted) {
            (true, 1) => Ok(()),
            (false, 0) if sent.refused > 10 => Ok(()),
            (false, 0) => Err("the daemon still reads from the consumer that never reads".into()),
            _ => Err(
                "the consumer that never reads was disconnected without a log line, or others were"
                    .into(),
            ),
        }
    }
}

fn ask(stream: &Stream, first: Vec<u8>, stop: &AtomicBool) -> Sent {
    // ReadBuffers {} and QueryServiceState {}.
    let questions = [frame(3, &[]), frame(12, &[])].concat().repeat(64);
    let mut sent = Sent { bytes: 0, refused: 0, cut: false };
    let mut rest = &first[..];
    while !stop.load(Ordering::Relaxed) {
        match stream.send(&[IoSlice::new(rest)], None) {
            Ok(0) => {
                sent.refused += 1;
                // The rate of attempts: a daemon that has stopped reading has no event for this.
                std::thread::park_timeout(Duration::from_millis(5));
            }
            Ok(more) => {
                (sent.bytes, sent.refused) = (sent.bytes + more, 0);
                rest = rest.get(more..).filter(|rest| !rest.is_empty()).unwrap_or(&questions);
            }
            Err(_) => {
                sent.cut = true;
                break;
            }
        }
    }
    sent.cut |= is_closed_by_peer(stream);
    sent
}

/// Whether the other side has closed the connection.
fn is_closed_by_peer(stream: &Stream) -> bool {
    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    let fd = stream.as_fd();
    let mut fds = [PollFd::new(&fd, PollFlags::empty())];
    let now = Timespec { tv_sec: 0, tv_nsec: 0 };
    poll(&mut fds, Some(&now)).is_ok() && fds[0].revents().contains(PollFlags::HUP)
}
