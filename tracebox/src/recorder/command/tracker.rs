//! Follows the processes of the command, on a thread of its own, and writes them into the trace.
//!
//! ```text
//!  process connector ─┐                 ┌─▶ packets ──▶ TraceWriter
//!  or polling /proc ──┴─▶ ProcessTree ──┘
//!  messages: writer, flush, command started, command ended
//! ```

use std::io::{PipeReader, PipeWriter, Read, Write, pipe};
use std::os::fd::AsFd;
use std::process::ExitStatus;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, TryRecvError, channel};
use std::thread::JoinHandle;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use tracing_core::client::data_source::Ack;
use tracing_core::client::write::TraceWriter;
use tracing_core::os::clock;
use tracing_core::os::process::random_seed;

use super::connector::{Connector, Kind, NoEvent};
use super::packets::{self, CommandSlice};
use super::polling::Polling;
use super::process_tree::{Image, ProcessTree};
use crate::console;
use crate::failure::{Context, Failure};

/// A message to the thread.
pub(super) enum Message {
    /// The session has started: packets go there.
    Writer(Box<TraceWriter>),
    /// Commit all packets, then drop the ack.
    Flush(Ack),
    /// Packets written so far may be overwritten: describe the processes again.
    ClearIncrementalState,
    /// The session ends: drop the writer, then the ack.
    Stop(Ack),
    /// The command runs.
    CommandStarted(StartedCommand),
    /// The command has ended. Its packets are committed before `done` is dropped.
    CommandEnded { status: ExitStatus, done: Sender<()> },
}

/// The command, right after it was started.
pub(super) struct StartedCommand {
    pub pid: i32,
    /// The program and its arguments.
    pub cmdline: Vec<String>,
    pub image: Image,
    /// Just before it was started, boot clock.
    pub start_ns: u64,
    /// Subscribed before it was started. `None`: this process may not, so `/proc` is polled.
    pub connector: Option<Connector>,
}

/// Sends messages to the thread. It ends when the last sender is dropped.
#[derive(Clone, Debug)]
pub(super) struct TrackerSender {
    // Dropped before the pipe, so that the thread sees that the last one is gone.
    messages: Sender<Message>,
    wake: Arc<PipeWriter>,
}

impl TrackerSender {
    pub(super) fn send(&self, message: Message) {
        // It fails only when the thread is gone.
        let _ = self.messages.send(message);
        let _ = (&*self.wake).write_all(&[0]);
    }
}

/// The thread. Dropping this waits for its end.
#[derive(Debug)]
pub(super) struct Tracker {
    sender: Option<TrackerSender>,
    thread: Option<JoinHandle<()>>,
}

impl Tracker {
    /// Starts the thread.
    ///
    /// # Errors
    /// When the system has no descriptor, thread or random numbers left.
    pub(super) fn start() -> Result<Self, Failure> {
        let (reader, writer) = pipe().context("cannot open a pipe")?;
        let (messages, inbox) = channel();
        let first_track = random_seed().context("no random numbers")?;
        let mut worker = Worker {
            inbox,
            wake: reader,
            connector: None,
            has_lost_events: false,
            polling: Polling::new(),
            tree: ProcessTree::new(first_track.wrapping_add(1)),
            command: None,
            command_track: first_track,
            writer: None,
        };
        let thread =
            std::thread::Builder::new().name("processes".into()).spawn(move || worker.run());
        let sender = TrackerSender { messages, wake: Arc::new(writer) };
        Ok(Self { sender: Some(sender), thread: Some(thread.context("cannot start a thread")?) })
    }

    pub(super) fn sender(&self) -> Option<TrackerSender> {
        self.sender.clone()
    }
}

impl Drop for Tracker {
    fn drop(&mut self) {
        self.sender = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

struct Worker {
    inbox: Receiver<Message>,
    wake: PipeReader,
    connector: Option<Connector>,
    has_lost_events: bool,
    polling: Polling,
    tree: ProcessTree,
    /// The command while it runs.
    command: Option<(i32, CommandSlice)>,
    command_track: u64,
    /// None: the session has not started, or has ended.
    writer: Option<Box<TraceWriter>>,
}

impl Worker {
    fn run(&mut self) {
        loop {
            self.wait();
            self.follow_processes();
            loop {
                match self.inbox.try_recv() {
                    Ok(message) => self.handle(message),
                    Err(TryRecvError::Empty) => break,
                    Err(TryRecvError::Disconnected) => return,
                }
            }
            self.write_events();
        }
    }

    /// Waits for an event of the kernel, a message, or the next look into `/proc`.
    fn wait(&mut self) {
        let polls = self.connector.is_none() && self.command.is_some();
        let pause = polls.then(|| Timespec::try_from(self.polling.pause()).ok()).flatten();
        let mut woken = false;
        {
            let mut fds = vec![PollFd::from_borrowed_fd(self.wake.as_fd(), PollFlags::IN)];
            if let (Some(connector), Some(_)) = (&self.connector, &self.command) {
                fds.push(PollFd::from_borrowed_fd(connector.as_fd(), PollFlags::IN));
            }
            // An interrupted call is like a timeout.
            if poll(&mut fds, pause.as_ref()).is_ok() {
                woken = fds.first().is_some_and(|fd| fd.revents().contains(PollFlags::IN));
            }
        }
        if woken {
            // One byte per message; what is left wakes again.
            let _ = self.wake.read(&mut [0; 64]);
        }
    }

    /// Brings the tree up to date.
    fn follow_processes(&mut self) {
        let Some((root, _)) = self.command else {
            // The command does not run, so no process belongs to it.
            return;
        };
        let Some(connector) = &mut self.connector else {
            return self.polling.read_proc(&mut self.tree, root, clock::boot_ns());
        };
        loop {
            let event = match connector.next() {
                Ok(event) => event,
                Err(NoEvent::Yet) => return,
                Err(NoEvent::Lost) => {
                    // Processes that run are found in `/proc`; those that have ended are missing.
                    if !std::mem::replace(&mut self.has_lost_events, true) {
                        console::log(
                            "Short processes of the command may be missing in the trace: \
                             there were too many at a time",
                        );
                    }
                    self.polling.read_proc(&mut self.tree, root, clock::boot_ns());
                    continue;
                }
                Err(NoEvent::Ever) => break,
            };
            let now = clock::now();
            let at_ns = event.mono_ns.saturating_add(now.boot_ns.saturating_sub(now.mono_ns));
            match event.kind {
                Kind::Forked { parent, child } if self.tree.contains(parent) => {
                    let image = Image::read(child).unwrap_or_default();
                    self.tree.handle_begin(child, parent, at_ns, image);
                }
                Kind::Executed { pid } if self.tree.contains(pid) => {
                    if let Some(image) = Image::read(pid) {
                        self.tree.handle_exec(pid, at_ns, image);
                    }
                }
                Kind::Ended { pid, status } => self.tree.handle_exit(pid, at_ns, Some(status)),
                _ => {}
            }
        }
        self.connector = None;
    }

    fn handle(&mut self, message: Message) {
        match message {
            Message::Writer(writer) => {
                self.writer = Some(writer);
                self.describe_command();
            }
            Message::Flush(ack) => {
                self.write_events();
                if let Some(writer) = &mut self.writer {
                    writer.flush();
                }
                drop(ack);
            }
            Message::ClearIncrementalState => {
                self.write_events();
                if let Some(writer) = &mut self.writer {
                    for process in self.tree.processes() {
                        packets::describe(writer, process, clock::boot_ns());
                    }
                }
            }
            Message::Stop(ack) => {
                self.write_events();
                // The writer commits what it holds before the service gets the ack.
                self.writer = None;
                drop(ack);
            }
            Message::CommandStarted(started) => {
                let StartedCommand { pid, cmdline, image, start_ns, connector } = started;
                self.connector = connector;
                let parent = std::process::id().cast_signed();
                let slice = CommandSlice { track: self.command_track, cmdline, start_ns };
                self.command = Some((pid, slice));
                self.describe_command();
                self.tree.handle_begin(pid, parent, start_ns, image);
            }
            Message::CommandEnded { status, done } => {
                self.end_command(status);
                drop(done);
            }
        }
    }

    fn describe_command(&mut self) {
        if let (Some(writer), Some((_, slice))) = (&mut self.writer, &self.command) {
            slice.write_begin(writer);
        }
    }

    fn end_command(&mut self, status: ExitStatus) {
        // The command was waited for. So the events of its end, and of all that happened before, are there.
        self.follow_processes();
        let Some((pid, slice)) = self.command.take() else { return };
        let now_ns = clock::boot_ns();
        self.tree.handle_exit(pid, now_ns, Some(status));
        self.write_events();
        if let Some(writer) = &mut self.writer {
            slice.write_end(writer, now_ns, status);
            writer.flush();
        }
    }

    fn write_events(&mut self) {
        let Some(writer) = &mut self.writer else { return };
        while let Some(event) = self.tree.poll_event() {
            packets::write_event(writer, &event);
        }
    }
}
