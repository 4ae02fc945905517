//! The packets of a trace, one at a time, also those that are compressed.
//!
//! ```text
//!  input ──blocks──> frames ──> packet ──> the caller
//!                      │ ^         │
//!                      │ └unpacked─┘ (compressed packets)
//!                      └ no trace: an error with the offset in the file
//! ```
//!
//! However long the trace, there is one packet in memory, and the unpacked block around it.
//!
//! ```
//! use tracing_file::packets::{Packet, Packets, Place, ReadError};
//!
//! /// The places of all packets, and whether the trace is whole.
//! fn places(trace: &[u8]) -> (Vec<Place>, Result<(), ReadError>) {
//!     let mut packets = Packets::new(trace);
//!     let mut places = Vec::new();
//!     loop {
//!         match packets.next_packet() {
//!             Ok(Some(Packet { place, bytes })) => {
//!                 println!("{place}: {} bytes", bytes.len());
//!                 places.push(place);
//!             }
//!             Ok(None) => return (places, Ok(())),
//!             // Compressed packets that cannot be unpacked: the packets behind them can be read.
//!             Err(error) if error.is_recoverable() => eprintln!("{error}"),
//!             Err(error) => return (places, Err(error)),
//!         }
//!     }
//! }
//!
//! // Two packets with a timestamp. Of the second one a byte is missing.
//! let (places, end) = places(&[0x0a, 2, 0x40, 5, 0x0a, 2, 0x40]);
//! assert_eq!((places[0].packet, places[0].offset, places[0].unpacked_offset), (0, 2, None));
//! assert!(matches!(end, Err(ReadError::CutOff { place }) if place.packet == 1));
//! ```

use std::fmt;
use std::io::{self, ErrorKind, Read};

use protozero::ReadError as FrameReadError;
use protozero::decode::FrameReader;

use crate::compressed;
pub use crate::limits::{UNPACKED_BYTES_MAX, UNPACKED_PER_BYTE};

#[cfg(test)]
mod tests;

/// Bytes read at once.
const BLOCK_BYTES: usize = 64 << 10;

/// Number of `Trace.packet`.
const PACKET: u32 = 1;

/// Where a packet is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    /// Number of packets before it, those in compressed packets included.
    pub packet: u64,
    /// Bytes of the file before it. For a packet that was compressed: before the packet with the compressed ones.
    pub offset: u64,
    /// Bytes before it in what was unpacked, if it was compressed.
    pub unpacked_offset: Option<u64>,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "packet {} at {}", self.packet, self.offset)?;
        self.unpacked_offset.map_or(Ok(()), |within| write!(f, "+{within}"))
    }
}

/// A packet: one encoded `TracePacket`.
#[derive(Clone, Copy, Debug)]
pub struct Packet<'p> {
    /// Where it is.
    pub place: Place,
    /// Its bytes.
    pub bytes: &'p [u8],
}

/// Why a trace cannot be read on from here.
///
/// `Debug` prints the text of `Display`: it is what a `main` that returns the error shows.
#[non_exhaustive]
pub enum ReadError {
    /// The input fails.
    Io {
        /// Where it fails.
        place: Place,
        /// How it fails.
        error: io::Error,
    },
    /// The bytes are not packets.
    NotATrace {
        /// The place of the first byte that is in no packet.
        place: Place,
        /// The reason why it is in no packet.
        error: FrameReadError,
    },
    /// The file ends within a packet.
    CutOff {
        /// The packet that is cut off.
        place: Place,
    },
    /// Compressed packets cannot be unpacked. Reading may go on: the next packet is the one behind them.
    Compressed {
        /// The next of the compressed packets.
        place: Place,
        /// What is wrong.
        error: io::Error,
    },
    /// Compressed packets unpack to more than [`UNPACKED_PER_BYTE`] times the file so far, and [`UNPACKED_BYTES_MAX`].
    /// A small file could take hours to read.
    TooLong {
        /// The next of the compressed packets.
        place: Place,
    },
}

impl ReadError {
    /// Where reading stopped.
    #[must_use]
    pub const fn place(&self) -> Place {
        match self {
            Self::Io { place, .. }
            | Self::NotATrace { place, .. }
            | Self::CutOff { place }
            | Self::Compressed { place, .. }
            | Self::TooLong { place } => *place,
        }
    }

    /// Whether the next call may find further packets.
    #[must_use]
    pub const fn is_recoverable(&self) -> bool {
        matches!(self, Self::Compressed { .. })
    }
}

impl fmt::Debug for ReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Display for ReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io { place, error } => write!(f, "{place}: cannot read: {error}"),
            Self::NotATrace { place, error } => {
                write!(f, "{place}: this is not a trace: {}", error.kind)
            }
            Self::CutOff { place } => {
                write!(f, "{place}: the trace is cut off; copy the whole file")
            }
            Self::Compressed { place, error } => {
                write!(f, "{place}: compressed packets cannot be unpacked: {error}")
            }
            Self::TooLong { place } => write!(
                f,
                "{place}: compressed packets unpack to more than {UNPACKED_PER_BYTE} times the file, which no \
                 recording does; the rest is read if you unpack them to a file of their own"
            ),
        }
    }
}

impl std::error::Error for ReadError {}

/// Reads the packets of a trace.
pub struct Packets<R> {
    input: CountedInput<R>,
    frames: FrameReader,
    block: Vec<u8>,
    packet: Vec<u8>,
    unpacking: Option<Unpacking>,
    unpacked_bytes_max: u64,
    /// Bytes of compressed packets that are unpacked, without those of `unpacking`.
    unpacked_bytes: u64,
    next: u64,
    /// The place of `packet`.
    place: Place,
    is_over: bool,
}

/// Packets that are being unpacked.
struct Unpacking {
    input: io::Take<Box<dyn Read>>,
    bytes_max: u64,
    frames: FrameReader,
    /// Where the packet with the compressed ones is.
    offset: u64,
}

impl Unpacking {
    fn bytes(&self) -> u64 {
        self.bytes_max.saturating_sub(self.input.limit())
    }
}

/// An input, and how much of it was read.
pub(crate) struct CountedInput<R> {
    pub(crate) input: R,
    pub(crate) bytes: u64,
}

impl<R: Read> Read for CountedInput<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let len = self.input.read(buffer)?;
        self.bytes += len as u64;
        Ok(len)
    }
}

impl<R> fmt::Debug for Packets<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Packets").field("next", &self.next).finish_non_exhaustive()
    }
}

impl<R: Read> Packets<R> {
    /// Reads the trace in `input`, which needs no buffer of its own.
    pub fn new(input: R) -> Self {
        Self {
            input: CountedInput { input, bytes: 0 },
            frames: FrameReader::new().skip_other_fields(),
            block: vec![0; BLOCK_BYTES],
            packet: Vec::new(),
            unpacking: None,
            unpacked_bytes_max: UNPACKED_BYTES_MAX,
            unpacked_bytes: 0,
            next: 0,
            place: Place::default(),
            is_over: false,
        }
    }

    /// The next packet.
    ///
    /// # Errors
    /// See [`ReadError`]. After an error that is not recoverable, there is no further packet.
    pub fn next_packet(&mut self) -> Result<Option<Packet<'_>>, ReadError> {
        while !self.is_over {
            if self.unpacking.is_some() {
                match self.next_unpacked()? {
                    Some(place) => return Ok(Some(self.take_packet(place))),
                    None => continue,
                }
            }
            let at = |offset: usize| Place {
                packet: self.next,
                offset: offset as u64,
                unpacked_offset: None,
            };
            let (frames, input) = (&mut self.frames, &mut self.input);
            match next_frame(frames, input, &mut self.block, &mut self.packet) {
                Ok(Some(offset)) => match compressed::find_owned(&self.packet) {
                    None => return Ok(Some(self.take_packet(at(offset)))),
                    Some(input) => {
                        let bytes_max = self.unpacked_bytes_max.min(self.unpacked_left());
                        self.unpacking = Some(Unpacking {
                            input: input.take(bytes_max),
                            bytes_max,
                            frames: FrameReader::new().skip_other_fields(),
                            offset: offset as u64,
                        });
                    }
                },
                Ok(None) => self.is_over = true,
                Err(error) => {
                    self.is_over = true;
                    return Err(match error {
                        FrameError::Io(offset, error) => ReadError::Io { place: at(offset), error },
                        FrameError::Wire(error) => {
                            ReadError::NotATrace { place: at(error.offset), error }
                        }
                        FrameError::CutOff(offset) => ReadError::CutOff { place: at(offset) },
                    });
                }
            }
        }
        Ok(None)
    }

    /// The place of the next of the packets that are being unpacked, which is in `packet` then. `None` behind the last.
    fn next_unpacked(&mut self) -> Result<Option<Place>, ReadError> {
        let Some(unpacking) = &mut self.unpacking else { return Ok(None) };
        let (packet, offset) = (self.next, unpacking.offset);
        let at = |within: usize| Place { packet, offset, unpacked_offset: Some(within as u64) };
        let (frames, input) = (&mut unpacking.frames, &mut unpacking.input);
        let found = next_frame(frames, input, &mut self.block, &mut self.packet);
        if let Ok(Some(within)) = found {
            return Ok(Some(at(within)));
        }
        let is_too_long = unpacking.input.limit() == 0;
        let is_packet_too_long = unpacking.bytes_max == self.unpacked_bytes_max;
        self.unpacked_bytes += unpacking.bytes();
        self.unpacking = None;
        match found {
            Err(error) if !is_too_long => {
                let (within, error) = error.flatten();
                Err(ReadError::Compressed { place: at(within), error })
            }
            _ if !is_too_long => Ok(None),
            _ if is_packet_too_long => {
                let error = io::Error::other("they unpack to more than 256 MiB");
                Err(ReadError::Compressed { place: at(0), error })
            }
            _ => {
                self.is_over = true;
                Err(ReadError::TooLong { place: at(0) })
            }
        }
    }

    /// Bytes that compressed packets may still unpack to, as far as the file is read.
    fn unpacked_left(&self) -> u64 {
        let of_file = self.input.bytes.saturating_mul(UNPACKED_PER_BYTE);
        self.unpacked_bytes_max.saturating_add(of_file).saturating_sub(self.unpacked_bytes)
    }

    /// Bytes that compressed packets unpacked to so far.
    pub(crate) fn bytes_unpacked(&self) -> u64 {
        self.unpacked_bytes + self.unpacking.as_ref().map_or(0, Unpacking::bytes)
    }

    /// Bytes that were read so far, of the file and of what was unpacked.
    pub(crate) fn bytes_read(&self) -> u64 {
        self.input.bytes + self.bytes_unpacked()
    }

    /// The bytes of the last packet.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.packet
    }

    fn take_packet(&mut self, place: Place) -> Packet<'_> {
        self.next += 1;
        self.place = place;
        Packet { place, bytes: &self.packet }
    }
}

enum FrameError {
    Io(usize, io::Error),
    Wire(FrameReadError),
    CutOff(usize),
}

impl FrameError {
    fn flatten(self) -> (usize, io::Error) {
        match self {
            Self::Io(at, error) => (at, error),
            Self::Wire(error) => (error.offset, io::Error::new(ErrorKind::InvalidData, error)),
            Self::CutOff(at) => (at, ErrorKind::UnexpectedEof.into()),
        }
    }
}

/// Copies the next packet to `packet`. Returns where its body begins, or `None` at the end.
fn next_frame(
    frames: &mut FrameReader,
    input: &mut impl Read,
    block: &mut [u8],
    packet: &mut Vec<u8>,
) -> Result<Option<usize>, FrameError> {
    let mut position = 0;
    loop {
        let mut ready = frames.read_block(&[]);
        while let Some(frame) = ready.next_frame().map_err(FrameError::Wire)? {
            position = frame.offset + frame.body.len();
            if frame.number == PACKET {
                packet.clear();
                packet.shrink_to(4 * BLOCK_BYTES);
                packet.extend_from_slice(frame.body);
                return Ok(Some(frame.offset));
            }
        }
        drop(ready);
        match input.read(block) {
            Ok(0) => {
                let end = frames.finish();
                return end.map(|()| None).map_err(|error| FrameError::CutOff(error.offset));
            }
            Ok(len) => drop(frames.read_block(block.get(..len).unwrap_or_default())),
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(FrameError::Io(position, error)),
        }
    }
}
