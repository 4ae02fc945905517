//! A pass on its way through a codec: taken from the buffers, and in no reply or file yet.
//!
//! ```text
//!   pass ─> StreamSink ─> Job ── a piece in each timeout ──> packet ─> ReplySink, FileSink
//!                          └── given up, or the codec fails: its packets as they are ─┘
//! ```
//!
//! A session has one such pass at most, and makes the next one when this one has left.

use super::encoder::{PacketEncoder, copy_packet};
use super::sequence::Suffix;
use super::sink::{PacketSink, Pass, PutResult, len_of};
use crate::accounts::{Accounts, NoRoom, Resource, User};
use crate::compress::{Codec, Compressed, Job, Progress};
use crate::effect_queue::EffectQueue;
use crate::limits;
use abi::ids::{CallId, SessionId};

/// Collects the packets of a pass as fields of a `Trace`.
#[derive(Default)]
pub(crate) struct StreamSink(PacketEncoder<false>);

impl PacketSink for StreamSink {
    fn put(&mut self, slices: &[&[u8]], suffix: &Suffix) -> PutResult {
        let len = len_of(slices).saturating_add(suffix.len());
        let expected = limits::READ_PASS_BYTES;
        self.0.put(len, true, expected, |to| copy_packet(to, slices, suffix));
        PutResult::Taken
    }
}

/// How what a session reads is compressed.
#[derive(Debug, Default)]
pub(crate) struct Compression {
    /// None: it is not compressed.
    pub(crate) codec: Option<Codec>,
    /// The pass that was read last, until it is taken.
    pub(crate) pass: Option<Compressing>,
    is_refusal_told: bool,
}

impl Compression {
    pub(crate) fn of_codec(codec: Option<Codec>) -> Self {
        Self { codec, ..Self::default() }
    }

    /// Drops the pass that is being compressed.
    pub(crate) fn drop_pass(&mut self, user: User, accounts: &mut Accounts) {
        if let Some(mut pass) = self.pass.take() {
            pass.release(user, accounts);
        }
    }

    /// Tells the log, once, why a pass is not compressed.
    pub(crate) fn note_refusal(&mut self, session: SessionId, why: NoRoom, out: &mut EffectQueue) {
        if !std::mem::replace(&mut self.is_refusal_told, true) {
            out.error(format!("session {session}: packets are not compressed: {why}"));
        }
    }
}

/// A pass that is being compressed, or waits to be taken.
#[derive(Debug)]
pub(crate) struct Compressing {
    content: Content,
    /// The call that it was read for; none: it is for the file.
    call: Option<CallId>,
    has_more: bool,
    bytes_read: usize,
    /// What is on the account of the session's user for it.
    charged: usize,
}

#[derive(Debug)]
enum Content {
    Job(Job),
    Packet(Compressed),
    Plain(Vec<u8>),
}

impl Compressing {
    /// Begins. `call`: the one that it was read for; none for the file.
    pub(crate) fn new(codec: Codec, sink: StreamSink, pass: Pass, call: Option<CallId>) -> Self {
        let mut stream = sink.0;
        let content = match stream.len() {
            0 => Content::Plain(Vec::new()),
            _ => Content::Job(Job::new(codec, stream.take_vec())),
        };
        let Pass { has_more, bytes_read } = pass;
        Self { content, call, has_more, bytes_read, charged: 0 }
    }

    /// Puts what the codec needs on the account of the session's user. If that has no room for it, the packets are
    /// taken as they are.
    pub(crate) fn charge(&mut self, user: User, accounts: &mut Accounts) -> Result<(), NoRoom> {
        let Content::Job(job) = &self.content else { return Ok(()) };
        if self.charged > 0 {
            return Ok(());
        }
        let bytes = job.memory_bytes();
        if let Err(no_room) = accounts.charge(user, Resource::Codecs, bytes) {
            self.give_up();
            return Err(no_room);
        }
        self.charged = bytes;
        Ok(())
    }

    /// Takes it off the account. Before the pass is dropped or given up.
    pub(crate) fn release(&mut self, user: User, accounts: &mut Accounts) {
        accounts.release(user, Resource::Codecs, std::mem::take(&mut self.charged));
    }

    /// Whether the codec is not done with it.
    pub(crate) fn is_due(&self) -> bool {
        matches!(self.content, Content::Job(_))
    }

    /// What the codec gets, while it is not done with it, and whether it is for the file.
    pub(crate) fn stream(&self) -> Option<(&[u8], bool)> {
        match &self.content {
            Content::Job(job) => Some((job.stream(), self.call.is_none())),
            _ => None,
        }
    }

    /// Compresses the next bytes. Returns how many these were; none if the codec failed.
    pub(crate) fn step(&mut self, bytes_max: usize) -> Option<usize> {
        let Content::Job(job) = &mut self.content else { return Some(0) };
        let before = job.bytes_left();
        let progress = job.step(bytes_max);
        let done = before.saturating_sub(job.bytes_left());
        match progress {
            Progress::More => {}
            Progress::Compressed(packet) => self.content = Content::Packet(packet),
            Progress::Failed => {
                self.give_up();
                return None;
            }
        }
        Some(done)
    }

    /// The packets are taken as they are, if the codec is not done with them.
    pub(crate) fn give_up(&mut self) {
        if let Content::Job(_) = self.content
            && let Content::Job(job) =
                std::mem::replace(&mut self.content, Content::Plain(Vec::new()))
        {
            self.content = Content::Plain(job.into_stream());
        }
    }

    /// Puts it into `sink`, which may become full.
    pub(crate) fn put(&self, sink: &mut impl PacketSink) {
        let stream = match &self.content {
            Content::Packet(packet) => {
                let slices: Vec<&[u8]> = packet.slices().collect();
                sink.put(&slices, &Suffix::EMPTY);
                return;
            }
            Content::Plain(stream) => stream,
            Content::Job(_) => return,
        };
        let mut reader = protozero::Reader::new(stream);
        while let Ok(Some(field)) = reader.next_field() {
            if let protozero::Value::Len(packet) = field.value
                && sink.put(&[packet], &Suffix::EMPTY) == PutResult::Full
            {
                return;
            }
        }
    }

    /// The pass, as an answer to `call`: one that did not begin it asks for what came later, too.
    pub(crate) fn pass(&self, call: CallId) -> Pass {
        Pass { has_more: self.has_more || self.call != Some(call), bytes_read: self.bytes_read }
    }
}
