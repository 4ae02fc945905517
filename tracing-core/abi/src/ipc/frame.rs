//! Frames: how they are cut out of the byte stream, and their messages.
//!
//! ```text
//!  0    4                       4+N
//!  | N  | IPCFrame, N bytes     | next frame ...
//!   u32 little-endian, 0 ..= 131068
//! ```
//!
//! A length above the limit is refused when its four bytes have arrived, and all frames received in the
//! same burst are dropped with it, as in upstream's `BufferedFrameDeserializer`: sender and
//! receiver disagree where frames begin, so the frames before it cannot be trusted either. A length of zero is skipped.

#![deny(clippy::indexing_slicing, clippy::arithmetic_side_effects, clippy::unwrap_used)]
#![deny(clippy::cast_possible_truncation)]

use protozero::{ReadError, Reader, Value};

use super::bind::{Bind, BindReply};
use super::call::{Invoke, InvokeReply};
use super::cut::{self, Cuts, FrameError, HEADER_BYTES};
use super::wire;

/// Memory that is kept for the next bytes, bytes. Peers that once sent much, and then nothing, must not make it add up.
const KEPT_BYTES: usize = 8 * 1024;

/// Cuts a byte stream into frames. Between two calls it holds less than one frame, if complete frames are
/// taken out.
#[derive(Debug, Default)]
pub struct Deframer {
    bytes: Vec<u8>,
    cuts: Cuts,
}

impl Deframer {
    /// Takes the next bytes of the stream, cut anywhere.
    ///
    /// # Errors
    /// When a frame claims to be too long. All frames that were not taken out are lost.
    pub fn push(&mut self, bytes: &[u8]) -> Result<(), FrameError> {
        let taken = self.cuts.remove_taken(self.bytes.len());
        self.bytes.drain(..taken);
        self.bytes.extend_from_slice(bytes);
        match self.cuts.advance(&self.bytes) {
            Ok(missing) => {
                // Space for the rest of this frame is enough.
                self.bytes.reserve_exact(missing);
                Ok(())
            }
            Err(error) => {
                *self = Self::default();
                Err(error)
            }
        }
    }

    /// The next complete frame, without its length.
    pub fn pop(&mut self) -> Option<&[u8]> {
        self.cuts.pop(&self.bytes)
    }

    /// Gives back the memory of frames that were taken out, if none is left.
    pub fn trim(&mut self) {
        if self.has_frames() || self.bytes.capacity() <= KEPT_BYTES {
            return;
        }
        let taken = self.cuts.remove_taken(self.bytes.len());
        self.bytes.drain(..taken);
        // A frame that is too long was refused when it came.
        let missing = self.cuts.advance(&self.bytes).unwrap_or(0);
        self.bytes.shrink_to(self.bytes.len().saturating_add(missing).max(KEPT_BYTES));
    }

    /// How much memory it takes, bytes.
    #[must_use]
    pub fn memory(&self) -> usize {
        self.bytes.capacity()
    }

    /// Whether there are complete frames that were not taken out.
    #[must_use]
    pub fn has_frames(&self) -> bool {
        self.cuts.has_frames()
    }

    /// Bytes of a frame that is not complete yet.
    #[must_use]
    pub fn partial_len(&self) -> usize {
        self.cuts.partial_len(self.bytes.len())
    }
}

/// One frame (`IPCFrame`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame<'a> {
    /// Chosen by the client, echoed by the host, which attaches no meaning to it: zero and
    /// duplicates are fine.
    pub request_id: u64,
    /// The message; `None` for an unknown one.
    pub body: Option<Body<'a>>,
}

/// The message of a frame. If a frame has several, the last counts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Body<'a> {
    /// To the host.
    Bind(Bind),
    /// To the client.
    BindReply(BindReply),
    /// To the host.
    Invoke(Invoke<'a>),
    /// To the client.
    InvokeReply(InvokeReply<'a>),
    /// To the client: the host did not understand the request.
    RequestError(String),
    /// To the host, from a relay.
    PeerIdentity(PeerIdentity),
}

/// The process behind a connection whose socket does not identify it (TCP): sent by a relay. On AF_UNIX it
/// must be ignored, because any local process could claim to be root.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct PeerIdentity {
    /// Process, on its machine.
    pub pid: Option<i32>,
    /// User, on its machine.
    pub uid: Option<i32>,
    /// What distinguishes its machine from others: a boot id.
    pub machine_id_hint: String,
    /// The name of the machine.
    pub machine_name: String,
}

impl<'a> Frame<'a> {
    /// Reads a frame, without its length.
    ///
    /// # Errors
    /// When it is not protobuf. The connection can go on: the next frame may be valid.
    pub fn decode(frame: &'a [u8]) -> Result<Self, ReadError> {
        let mut this = Self { request_id: 0, body: None };
        let mut reader = Reader::new(frame);
        while let Some(field) = wire::next(&mut reader)? {
            let body = match field {
                (2, Value::Varint(id)) => {
                    this.request_id = id;
                    continue;
                }
                (3, Value::Len(body)) => Body::Bind(Bind::decode(body)?),
                (4, Value::Len(body)) => Body::BindReply(BindReply::decode(body)?),
                (5, Value::Len(body)) => Body::Invoke(Invoke::decode(body)?),
                (6, Value::Len(body)) => Body::InvokeReply(InvokeReply::decode(body)?),
                (7, Value::Len(body)) => Body::RequestError(decode_error_text(body)?),
                (8, Value::Len(body)) => Body::PeerIdentity(PeerIdentity::decode(body)?),
                // Padding (1), and fields of newer versions.
                _ => continue,
            };
            this.body = Some(body);
        }
        Ok(this)
    }

    /// The bytes to send, length first, without the response message of a reply, which follows them.
    ///
    /// # Errors
    /// When the frame is too long for any receiver.
    pub fn encode(&self) -> Result<Vec<u8>, FrameError> {
        let mut message = Vec::new();
        let mut tail_len = 0;
        let number = match &self.body {
            None => None,
            Some(Body::Bind(body)) => {
                body.encode(&mut message);
                Some(3)
            }
            Some(Body::BindReply(body)) => {
                body.encode(&mut message);
                Some(4)
            }
            Some(Body::Invoke(body)) => {
                body.encode(&mut message);
                Some(5)
            }
            Some(Body::InvokeReply(body)) => {
                tail_len = body.encode(&mut message);
                Some(6)
            }
            Some(Body::RequestError(text)) => {
                wire::put_bytes(&mut message, 1, text.as_bytes());
                Some(7)
            }
            Some(Body::PeerIdentity(body)) => {
                body.encode(&mut message);
                Some(8)
            }
        };
        let mut out = Vec::with_capacity(message.len().saturating_add(24));
        out.extend_from_slice(&[0; HEADER_BYTES]);
        wire::put_uint(&mut out, 2, self.request_id);
        if let Some(number) = number {
            wire::put_head(&mut out, number, message.len().saturating_add(tail_len));
            out.append(&mut message);
        }
        let len = out.len().saturating_sub(HEADER_BYTES).saturating_add(tail_len);
        let header = cut::header(len)?;
        if let Some(slot) = out.first_chunk_mut::<HEADER_BYTES>() {
            *slot = header;
        }
        Ok(out)
    }
}

fn decode_error_text(bytes: &[u8]) -> Result<String, ReadError> {
    let mut text = String::new();
    let mut reader = Reader::new(bytes);
    while let Some(field) = wire::next(&mut reader)? {
        if let (1, Value::Len(error)) = field {
            text = wire::text(error);
        }
    }
    Ok(text)
}

impl PeerIdentity {
    /// The number its machine goes by in traces; see [`machine_id_of`](Self::machine_id_of).
    #[must_use]
    pub fn machine_id(&self) -> u32 {
        Self::machine_id_of(&self.machine_id_hint)
    }

    /// The number of the machine that `hint` stands for: never 0, which is this machine. The low half of the
    /// FNV-1a hash (`host_impl.cc`). Without a hint the other end's address takes its place.
    #[must_use]
    pub fn machine_id_of(hint: &str) -> u32 {
        let hash = hint.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        });
        u32::try_from(hash & 0xffff_ffff).unwrap_or(0).max(1)
    }

    fn decode(bytes: &[u8]) -> Result<Self, ReadError> {
        let mut this = Self::default();
        let mut reader = Reader::new(bytes);
        while let Some(field) = wire::next(&mut reader)? {
            match field {
                (1, pid @ Value::Varint(_)) => this.pid = pid.int32().ok(),
                (2, uid @ Value::Varint(_)) => this.uid = uid.int32().ok(),
                (3, Value::Len(hint)) => this.machine_id_hint = wire::text(hint),
                (4, Value::Len(name)) => this.machine_name = wire::text(name),
                _ => {}
            }
        }
        Ok(this)
    }

    fn encode(&self, out: &mut Vec<u8>) {
        // Negative numbers are sign-extended to ten bytes, as int32 is everywhere in protobuf.
        let extend = |number: i32| i64::from(number).cast_unsigned();
        if let Some(pid) = self.pid {
            wire::put_uint(out, 1, extend(pid));
        }
        if let Some(uid) = self.uid {
            wire::put_uint(out, 2, extend(uid));
        }
        wire::put_bytes(out, 3, self.machine_id_hint.as_bytes());
        wire::put_bytes(out, 4, self.machine_name.as_bytes());
    }
}
