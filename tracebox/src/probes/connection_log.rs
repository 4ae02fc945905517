//! Lines of the log about the connection to the service.
//!
//! The thread of the connection must not wait for the reader of stderr: the service would cut a producer that answers
//! nothing. So another thread writes, and a line that finds no room is left out.

use std::io::{self, ErrorKind};
use std::sync::Mutex;
use std::sync::mpsc::{self, Receiver, SyncSender};
use std::thread;
use std::time::Duration;

use tracing_core::abi::sync::lock;
use tracing_core::client::producer::{ConnectionEvent, ProducerError};

use crate::failure::{Context, Failure};

/// Lines that wait for the reader of stderr.
const WAITING_MAX: usize = 16;
/// How long the end of the program waits for the lines that are left.
const LAST_LINES: Duration = Duration::from_secs(1);

/// The thread that writes, and what is sent to it.
pub(super) struct ConnectionLog {
    /// None is the end.
    lines: SyncSender<Option<String>>,
    ended: Receiver<()>,
}

impl ConnectionLog {
    /// Each line goes to `write`.
    ///
    /// # Errors
    /// When the system has no threads left.
    pub(super) fn start(mut write: impl FnMut(&str) + Send + 'static) -> Result<Self, Failure> {
        let (lines, waiting) = mpsc::sync_channel::<Option<String>>(WAITING_MAX);
        let (end, ended) = mpsc::sync_channel(1);
        let run = move || {
            while let Ok(Some(line)) = waiting.recv() {
                write(&line);
            }
            let _ = end.send(());
        };
        let thread = thread::Builder::new().name("probes-log".to_owned()).spawn(run);
        thread.context("cannot start the log")?;
        Ok(Self { lines, ended })
    }

    /// Logs what happens to the connection. The attempts to connect have no end: one that fails as the one before is
    /// left out.
    pub(super) fn hook(&self) -> impl Fn(&ConnectionEvent) + Send + Sync + 'static {
        let (last, lines) = (Mutex::new(String::new()), self.lines.clone());
        move |event| {
            let Some(line) = connection_line(event) else { return };
            let mut last = lock(&last);
            if *last != line && lines.try_send(Some(line.clone())).is_ok() {
                *last = line;
            }
        }
    }

    /// Writes the lines that are left, unless their reader is too slow.
    pub(super) fn finish(self) {
        // Without room for it, the thread ends when the hook is gone, too.
        let _ = self.lines.try_send(None);
        drop(self.lines);
        let _ = self.ended.recv_timeout(LAST_LINES);
    }
}

pub(super) fn connection_line(event: &ConnectionEvent) -> Option<String> {
    let line = match event {
        ConnectionEvent::Accepted => "Connected to the tracing service".to_owned(),
        ConnectionEvent::Failed(failure @ ProducerError::Connect { address, error }) => {
            match io::Error::from_raw_os_error(error.errno).kind() {
                ErrorKind::NotFound | ErrorKind::ConnectionRefused => {
                    format!("No tracing service at {address} yet: waiting for one")
                }
                ErrorKind::WouldBlock => {
                    format!("The tracing service at {address} takes no connection: trying again")
                }
                _ => format!("{failure}: trying again"),
            }
        }
        ConnectionEvent::Refused => {
            "The tracing service closed the connection before it accepted these data sources (if it refuses them, its \
             log says why): trying again"
                .to_owned()
        }
        ConnectionEvent::Closed => {
            "The tracing service closed the connection: trying again".to_owned()
        }
        _ => return None,
    };
    Some(line)
}
