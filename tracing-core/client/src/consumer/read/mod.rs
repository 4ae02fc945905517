//! Reading a trace: joins slices into packets.
//!
//! ```text
//!   reply 1                         reply 2
//!   | slice | slice* | slice |      | slice* | slice* | slice* |     * = last slice of its packet
//!   '--- packet 1 ---'--------- packet 2 ----'-- 3 ---'-- 4 ---'
//!
//!   slice* of a whole packet:  12 LEN | 0a LEN bytes | 10 01
//!   the packet in a file:               0a LEN bytes            field 1 of Trace, by luck the same
//! ```
//!
//! Nearly all packets come in one slice. These are not copied: the caller gets them inside the reply, already in the
//! form that a trace file has.

use std::io::{self, Write};
use std::time::Duration;

use protos::ReadBuffersRequest;
use protos::consumer_port::Request;
use protozero::wire::{tag, trusted, varint};
use protozero::{ReadError as WireError, Reader, Value};

use super::ongoing::OngoingRead;
use super::{Attachment, Consumer, ConsumerError, Step};
use crate::limits::JOINED_BYTES_MAX;
use abi::ids::CallId;
use abi::sync::Arc;
use os::clock::Deadline;

const METHOD: &str = "ReadBuffers";

/// Totals of a read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ReadSummary {
    /// Packets.
    pub packets: u64,
    /// Bytes of the packets, without the tags and lengths of a file.
    pub bytes: u64,
}

/// A packet of a trace that is being read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReadPacket<'a> {
    framed: &'a [u8],
    head_len: usize,
}

impl<'a> ReadPacket<'a> {
    /// The packet, as one message.
    #[inline]
    #[must_use]
    pub fn bytes(&self) -> &'a [u8] {
        self.framed.get(self.head_len..).unwrap_or_default()
    }

    /// The packet as field 1 of `Trace`, with tag and length: a trace file is these one after the other.
    #[inline]
    #[must_use]
    pub fn framed(&self) -> &'a [u8] {
        self.framed
    }
}

/// Joins the slices in the replies to one `ReadBuffers` into packets. Needs no connection.
#[derive(Debug, Default)]
pub struct ReplyReader {
    /// A packet whose last slice has not come: space for tag and length, then the bytes so far.
    begun: Vec<u8>,
    /// That packet is too long: its slices are left out.
    is_passed_over: bool,
    summary: ReadSummary,
}

/// Space for a tag and a length.
const HEAD_BYTES: usize = 1 + varint::LEN_MAX;
/// Tag of `Trace.packet`, and of `Slice.data`.
const PACKET_TAG: u8 = tag::one_byte(1, tag::LEN);
/// Tag of `ReadBuffersResponse.slices`.
const SLICES_TAG: u8 = tag::one_byte(2, tag::LEN);
/// `Slice.last_slice_for_packet: true`.
const LAST: [u8; 2] = [tag::one_byte(2, tag::VARINT), 1];

impl ReplyReader {
    /// Nothing read yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Passes each packet that ends in `reply`, an encoded `ReadBuffersResponse`, to `take`.
    ///
    /// # Errors
    /// [`ReadError::Malformed`] if the reply is not such a message, [`ReadError::TooLong`] if a packet in slices has
    /// more than 64 MiB, [`ReadError::Taking`] with the error of `take`. The packets before the error were passed.
    #[inline]
    pub fn read(
        &mut self,
        reply: &[u8],
        mut take: impl FnMut(ReadPacket<'_>) -> io::Result<()>,
    ) -> Result<(), ReadError> {
        let mut rest = reply;
        while !rest.is_empty() {
            // The usual form of a reply; other forms take the slower path.
            if let Some((packet, after)) = whole_packet(rest)
                && self.begun.is_empty()
            {
                rest = after;
                self.count(packet.bytes().len());
                take(packet).map_err(ReadError::Taking)?;
                continue;
            }
            rest = self.field(rest, &mut take)?;
        }
        Ok(())
    }

    /// Totals so far.
    #[must_use]
    pub fn summary(&self) -> ReadSummary {
        self.summary
    }

    #[inline]
    fn count(&mut self, packet_len: usize) {
        self.summary.packets += 1;
        self.summary.bytes += packet_len as u64;
    }

    /// Reads one field of a reply in any form; returns the bytes behind it.
    #[cold]
    fn field<'a>(
        &mut self,
        reply: &'a [u8],
        take: &mut impl FnMut(ReadPacket<'_>) -> io::Result<()>,
    ) -> Result<&'a [u8], ReadError> {
        let mut reader = Reader::new(reply);
        let Some(field) = reader.next_field()? else { return Ok(&[]) };
        let rest = reader.remaining();
        let (2, Value::Len(slice)) = (field.number, field.value) else { return Ok(rest) };
        let (data, last) = parse_slice(slice)?;
        let is_too_long =
            self.begun.len().saturating_add(data.len()) > HEAD_BYTES + JOINED_BYTES_MAX;
        if is_too_long || self.is_passed_over {
            let is_new = !self.is_passed_over;
            self.is_passed_over = !last;
            // Not empty before the last slice: what comes belongs to this packet.
            self.begun = if last { Vec::new() } else { vec![0; HEAD_BYTES] };
            return if is_new { Err(ReadError::TooLong) } else { Ok(rest) };
        }
        if self.begun.is_empty() {
            self.begun.resize(HEAD_BYTES, 0);
        }
        self.begun.extend_from_slice(data);
        if last {
            let len = self.begun.len() - HEAD_BYTES;
            self.count(len);
            let mut digits = [0; varint::LEN_MAX];
            let width = varint::encode(len as u64, &mut digits);
            let start = HEAD_BYTES - 1 - width;
            self.begun[start] = PACKET_TAG;
            self.begun[start + 1..HEAD_BYTES].copy_from_slice(&digits[..width]);
            let packet = ReadPacket { framed: &self.begun[start..], head_len: 1 + width };
            take(packet).map_err(ReadError::Taking)?;
            self.begun.clear();
        }
        Ok(rest)
    }
}

/// The first slice of a reply, if it holds a whole packet in the usual form, and the bytes behind it.
#[inline]
fn whole_packet(reply: &[u8]) -> Option<(ReadPacket<'_>, &[u8])> {
    let (&SLICES_TAG, rest) = reply.split_first()? else { return None };
    let (body_len, rest) = trusted::length(rest)?;
    let (body, after) = rest.split_at_checked(body_len)?;
    let (framed, end) = body.split_last_chunk::<2>()?;
    let (&PACKET_TAG, data) = framed.split_first()? else { return None };
    let (data_len, data) = trusted::length(data)?;
    if *end != LAST || data.len() != data_len {
        return None;
    }
    Some((ReadPacket { framed, head_len: framed.len() - data_len }, after))
}

/// Why reading a reply failed.
///
/// `Debug` prints the text of `Display`: it is what a `main` that returns the error shows.
#[non_exhaustive]
pub enum ReadError {
    /// The reply is not a `ReadBuffersResponse`.
    Malformed(WireError),
    /// A packet has more than 64 MiB.
    TooLong,
    /// The function that takes the packets failed.
    Taking(io::Error),
}

impl std::fmt::Debug for ReadError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        std::fmt::Display::fmt(self, f)
    }
}

impl std::fmt::Display for ReadError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Malformed(error) => write!(f, "malformed ReadBuffers reply: {error}"),
            Self::TooLong => f.write_str("a packet of the ReadBuffers reply has more than 64 MiB"),
            Self::Taking(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for ReadError {}

impl From<WireError> for ReadError {
    fn from(error: WireError) -> Self {
        Self::Malformed(error)
    }
}

impl From<ReadError> for ConsumerError {
    fn from(error: ReadError) -> Self {
        match error {
            ReadError::Malformed(error) => Self::Malformed { method: METHOD, error: error.into() },
            ReadError::TooLong => Self::AnswerTooLong(METHOD),
            ReadError::Taking(error) => Self::Output(error),
        }
    }
}

/// A read that goes on reply by reply: see [`Consumer::begin_read`].
#[derive(Debug)]
pub struct OpenRead {
    call: CallId,
    reader: ReplyReader,
    /// What arrives after it was dropped is not kept.
    _is_open: Arc<()>,
}

impl OpenRead {
    /// Totals so far.
    #[must_use]
    pub fn summary(&self) -> ReadSummary {
        self.reader.summary()
    }
}

impl Consumer {
    /// Begins to read the recorded packets, for callers that take them at their own speed: the service sends no more
    /// than a few replies ahead. Other calls may come in between: what arrives of the read while they wait for their
    /// answer is kept in memory, unless the read was dropped. A second read takes the place of the first, which has no
    /// more replies then.
    ///
    /// # Errors
    /// When the service has closed the connection.
    pub fn begin_read(&mut self) -> Result<OpenRead, ConsumerError> {
        let request = Request::ReadBuffers(ReadBuffersRequest::default());
        let call = self.connection.send(request, true, Attachment::None)?;
        let is_open = Arc::new(());
        self.ongoing_read = Some(OngoingRead::new(call, &is_open));
        Ok(OpenRead { call, reader: ReplyReader::new(), _is_open: is_open })
    }

    /// Receives the next reply of `read`, and passes its packets to `take`. False if there are no more replies; then
    /// nothing was passed.
    ///
    /// # Errors
    /// As [`read_buffers`](Self::read_buffers).
    pub fn continue_read(
        &mut self,
        read: &mut OpenRead,
        inactivity: Duration,
        take: impl FnMut(ReadPacket<'_>) -> io::Result<()>,
    ) -> Result<bool, ConsumerError> {
        let until = Deadline::after(Some(inactivity));
        loop {
            let ongoing = self.ongoing_read.as_mut().filter(|ongoing| ongoing.is_of(read.call));
            let Some(ongoing) = ongoing else { return Ok(false) };
            if let Some(reply) = ongoing.next() {
                if !reply.has_more {
                    self.ongoing_read = None;
                }
                read.reader.read(&reply.into_bytes(METHOD)?, take)?;
                return Ok(true);
            }
            if matches!(self.step(until)?, Step::TimedOut) {
                return Err(ConsumerError::TimedOut(METHOD));
            }
        }
    }

    /// Reads the recorded packets, which removes them from the service, and passes each to `take`. A session that
    /// writes into a file has none.
    ///
    /// # Errors
    /// [`ConsumerError::TimedOut`] when no reply came for `inactivity`, [`ConsumerError::Output`] with the error of
    /// `take`, which ends the read.
    pub fn read_buffers(
        &mut self,
        inactivity: Duration,
        mut take: impl FnMut(ReadPacket<'_>) -> io::Result<()>,
    ) -> Result<ReadSummary, ConsumerError> {
        let mut reader = ReplyReader::new();
        let request = Request::ReadBuffers(ReadBuffersRequest::default());
        self.stream(request, inactivity, |reply| Ok(reader.read(reply, &mut take)?))?;
        Ok(reader.summary())
    }

    /// Reads the recorded packets and appends them to `out` as a trace file.
    ///
    /// # Errors
    /// As [`read_buffers`](Self::read_buffers). `out` then has whole packets, except that the last may be cut if `out`
    /// failed.
    pub fn read_into(
        &mut self,
        out: &mut dyn Write,
        inactivity: Duration,
    ) -> Result<ReadSummary, ConsumerError> {
        let mut out = TraceFileWriter::new(out);
        let summary = self.read_buffers(inactivity, |packet| out.write(packet));
        // Also after an error, because the packets before it are whole.
        let flushed = out.flush();
        let summary = summary?;
        flushed.map_err(ConsumerError::Output)?;
        Ok(summary)
    }
}

/// Bytes collected before a write.
const WRITE_BYTES: usize = 256 * 1024;

/// Writes packets as a trace file, many in one write. Each write ends with a whole packet, so that the file is a valid
/// trace even if the process is killed between two writes.
#[derive(Debug)]
pub struct TraceFileWriter<W: Write> {
    to: W,
    gathered: Vec<u8>,
}

impl<W: Write> TraceFileWriter<W> {
    /// A writer without packets.
    pub fn new(to: W) -> Self {
        Self { to, gathered: Vec::with_capacity(WRITE_BYTES) }
    }

    /// Appends a packet.
    ///
    /// # Errors
    /// When the collected packets cannot be written.
    #[inline]
    pub fn write(&mut self, packet: ReadPacket<'_>) -> io::Result<()> {
        let framed = packet.framed();
        if self.gathered.len() + framed.len() > WRITE_BYTES {
            self.flush()?;
            if framed.len() > WRITE_BYTES {
                return self.to.write_all(framed);
            }
        }
        self.gathered.extend_from_slice(framed);
        Ok(())
    }

    /// Writes the collected packets.
    ///
    /// # Errors
    /// When they cannot be written. They are dropped then, because a part of them may be in the file.
    pub fn flush(&mut self) -> io::Result<()> {
        let written = self.to.write_all(&self.gathered);
        self.gathered.clear();
        written?;
        self.to.flush()
    }

    /// The output.
    pub fn get_ref(&self) -> &W {
        &self.to
    }
}

/// `ReadBuffersResponse.Slice`: its data, and whether the packet ends with it.
fn parse_slice(bytes: &[u8]) -> Result<(&[u8], bool), WireError> {
    let (mut data, mut last) = (&[][..], false);
    let mut reader = Reader::new(bytes);
    while let Some(field) = reader.next_field()? {
        match (field.number, field.value) {
            (1, Value::Len(bytes)) => data = bytes,
            (2, Value::Varint(flag)) => last = flag != 0,
            _ => {}
        }
    }
    Ok((data, last))
}

#[cfg(test)]
mod tests;
