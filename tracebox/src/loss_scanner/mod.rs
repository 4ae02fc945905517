//! Counts the packets of a trace, and those that follow a gap, and finds out whether it has track events.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, ErrorKind, Read};
use std::os::unix::fs::FileExt;

use protozero::decode::FrameReader;
use protozero::{Reader, Value};

use tracing_file::compressed::{self, Compressed};
use tracing_file::packets::{Packet, Place, UNPACKED_BYTES_MAX, UNPACKED_PER_BYTE};

use crate::ftrace_notes::FtraceNotes;

/// Bytes of a file, or of unpacked packets, that are scanned at once.
const BLOCK_BYTES: usize = 128 * 1024;

/// Bytes of a packet of a file, at most.
const PACKET_BYTES_MAX: usize = 1 << 28;

/// Sequences that are remembered, in some 16 MiB. A service has fewer at a time, but a trace of days, or programs that
/// make one writer after the other, may have more.
pub const SEQUENCES_MAX: usize = 1 << 20;

/// Finds packets that follow a gap in their sequence, by `TracePacket.previous_packet_dropped`. The service
/// sets it for packets that it lost, and a producer for packets that it could not write at all, which no
/// counter knows of. Compressed packets are unpacked, and their packets count.
#[derive(Debug)]
pub struct LossScanner {
    /// Number of packets.
    pub packets: u64,
    /// Number of packets that follow a gap.
    pub gaps: u64,
    /// Number of packets of which it is not known whether they follow a gap, or are the first of their sequence:
    /// [`SEQUENCES_MAX`] others came before it.
    pub undecided: u64,
    /// Looks for a track event of another process, until there is one. Events of this process do not count: the
    /// recorder writes some about the command.
    pub seeks_event: bool,
    /// Which events of the kernel are missing.
    pub ftrace: FtraceNotes,
    sequences: BTreeSet<u64>,
    /// Bytes of the compressed packets so far, and of what they unpacked to.
    compressed_bytes: u64,
    unpacked_bytes: u64,
    unpacked_bytes_max: u64,
    /// The fields at the end of the last packet, from the service's first one on.
    suffix: Vec<u8>,
    /// It is within compressed packets.
    is_inside: bool,
}

impl LossScanner {
    const TRUSTED_UID: u32 = 3;
    const SEQUENCE_ID: u32 = 10;
    const TRACK_EVENT: u32 = 11;
    const FTRACE_STATS: u32 = 34;
    /// The tag of that.
    const FTRACE_STATS_TAG: [u8; 2] = [0x92, 0x02];
    /// Where it is in a packet, at the latest: behind a time and its clock.
    const FTRACE_STATS_OFF_MAX: usize = BEGIN_BYTES;
    const PREVIOUS_PACKET_DROPPED: u32 = 42;
    const TRUSTED_PID: u32 = 79;
    /// The tag of that.
    const DROPPED_TAG: [u8; 2] = [0xd0, 0x02];
    /// Packets are missing, without a reason. Current services set it in the first packet of every sequence,
    /// even if nothing is missing.
    const PRESENT: u64 = 1;
    /// Number of `Trace.packet`, also in unpacked packets.
    const PACKET: u32 = 1;

    /// A scanner that looks for a track event of another process if `seeks_event`.
    #[must_use]
    pub fn new(seeks_event: bool) -> Self {
        Self {
            packets: 0,
            gaps: 0,
            undecided: 0,
            seeks_event,
            ftrace: FtraceNotes::default(),
            sequences: BTreeSet::new(),
            compressed_bytes: 0,
            unpacked_bytes: 0,
            unpacked_bytes_max: UNPACKED_BYTES_MAX,
            suffix: Vec::new(),
            is_inside: false,
        }
    }

    /// Scans all packets of a trace file, from its beginning. `goes_on` is asked with the bytes of each block.
    ///
    /// # Errors
    /// When it cannot be read, is no trace, or shall not go on.
    pub fn scan_file(&mut self, file: &File, goes_on: impl FnMut(usize) -> bool) -> io::Result<()> {
        self.scan(FileFromStart { file, at: 0 }, goes_on)
    }

    fn scan(
        &mut self,
        mut input: impl Read,
        mut goes_on: impl FnMut(usize) -> bool,
    ) -> io::Result<()> {
        let no_trace = |error| io::Error::new(ErrorKind::InvalidData, error);
        let mut stream = FrameReader::with_max(PACKET_BYTES_MAX).skip_other_fields();
        let mut block = vec![0; BLOCK_BYTES];
        loop {
            let len = match input.read(&mut block) {
                Ok(0) => return stream.finish().map_err(no_trace),
                Ok(len) => len,
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            };
            if !goes_on(len) {
                return Err(ErrorKind::Interrupted.into());
            }
            let mut frames = stream.read_block(block.get(..len).unwrap_or_default());
            while let Some(frame) = frames.next_frame().map_err(no_trace)? {
                if frame.number == Self::PACKET {
                    self.scan_packet(frame.body);
                }
            }
        }
    }

    /// Scans one packet.
    #[inline]
    pub fn scan_packet(&mut self, packet: &[u8]) {
        // The service appends the same fields to each packet of a sequence, and the packets of a sequence come
        // together. So a packet with the suffix of the last one is of its sequence, and follows no gap unless
        // its own fields tell of one.
        if !self.seeks_event
            && !self.suffix.is_empty()
            && let Some(own) = packet.strip_suffix(&self.suffix[..])
            && Self::has_nothing_to_tell(packet, own)
        {
            self.packets += 1;
            return;
        }
        self.scan_fields(packet);
    }

    /// Whether the `own` fields at the begin of a packet, those of its producer, tell of no gap and are no statistics
    /// of ftrace. False may be wrong. Almost all packets are so, and are looked at in few instructions.
    #[inline]
    fn has_nothing_to_tell(packet: &[u8], own: &[u8]) -> bool {
        let begin = packet.first_chunk();
        let is_plain = begin
            .is_some_and(|begin| !may_have_tag(begin, Self::DROPPED_TAG, Self::FTRACE_STATS_TAG));
        let rest = own.get(BEGIN_BYTES - 1..).unwrap_or_default();
        (is_plain || Self::begin_has_nothing_to_tell(own)) && !rest.contains(&Self::DROPPED_TAG[0])
    }

    #[cold]
    fn begin_has_nothing_to_tell(own: &[u8]) -> bool {
        let begin = own.get(..Self::FTRACE_STATS_OFF_MAX).unwrap_or(own);
        !begin.contains(&Self::DROPPED_TAG[0])
            && !begin
                .windows(2)
                .any(|bytes| [bytes[0], bytes[1] & TAG_BITS] == Self::FTRACE_STATS_TAG)
    }

    #[cold]
    fn scan_fields(&mut self, packet: &[u8]) {
        let (mut sequence, mut dropped) = (0, 0);
        let (mut is_event, mut pid, mut ftrace_stats) = (false, 0, None);
        let mut reader = Reader::new(packet);
        let (mut at, mut trusted_at) = (0, None);
        while let Ok(Some(field)) = reader.next_field() {
            match (field.number, field.value) {
                (Self::TRUSTED_UID, Value::Varint(_)) => trusted_at = Some(at),
                (Self::SEQUENCE_ID, Value::Varint(id)) => sequence = id,
                (Self::TRACK_EVENT, Value::Len(_)) => is_event = true,
                (Self::TRUSTED_PID, Value::Varint(id)) => pid = id,
                (Self::FTRACE_STATS, Value::Len(stats)) => ftrace_stats = Some(stats),
                // A packet may have both the producer's field and the service's.
                (Self::PREVIOUS_PACKET_DROPPED, Value::Varint(reasons)) => dropped |= reasons,
                // A service does not compress packets twice.
                (number, Value::Len(stream)) if !self.is_inside => {
                    if let Some(compressed) = compressed::open(number, stream) {
                        return self.scan_compressed(compressed);
                    }
                }
                _ => {}
            }
            at = reader.position();
        }
        if let Some(stats) = ftrace_stats {
            let place = Place { packet: self.packets, ..Place::default() };
            self.ftrace.lost.add(Packet { place, bytes: packet });
            self.ftrace.add(sequence, stats);
        }
        self.packets += 1;
        self.seeks_event &= !is_event || pid == u64::from(std::process::id());
        match (dropped, self.remember(sequence)) {
            (0, _) | (Self::PRESENT, Sequence::First) => {}
            (Self::PRESENT, Sequence::Unknown) => self.undecided += 1,
            _ => self.gaps += 1,
        }
        self.suffix.clear();
        if dropped == 0
            && let Some(suffix) = trusted_at.and_then(|at| packet.get(at..))
        {
            self.suffix.extend_from_slice(suffix);
        }
    }

    /// Remembers the sequence of a packet.
    fn remember(&mut self, sequence: u64) -> Sequence {
        if self.sequences.contains(&sequence) {
            Sequence::Known
        } else if self.sequences.len() < SEQUENCES_MAX {
            self.sequences.insert(sequence);
            Sequence::First
        } else {
            Sequence::Unknown
        }
    }

    /// Packets that cannot be unpacked are a gap. So are those that unpack to more than a reader of the trace accepts,
    /// which a program can write.
    fn scan_compressed(&mut self, compressed: Compressed<'_>) {
        self.compressed_bytes += compressed.len as u64;
        let of_all = self.compressed_bytes.saturating_mul(UNPACKED_PER_BYTE);
        let of_all = of_all.saturating_add(self.unpacked_bytes_max);
        let max = of_all.saturating_sub(self.unpacked_bytes).min(self.unpacked_bytes_max);
        let mut unpacked = compressed.unpacked.take(max);
        self.is_inside = true;
        let scanned = self.scan(&mut unpacked, |_| true);
        self.is_inside = false;
        self.unpacked_bytes += max - unpacked.limit();
        self.gaps += u64::from(scanned.is_err() || unpacked.limit() == 0);
        self.suffix.clear();
    }
}

impl Default for LossScanner {
    fn default() -> Self {
        Self::new(false)
    }
}

/// Why the packets of a trace were not looked at.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NotSearched {
    /// A clause with a subject.
    pub why: String,
    /// They were to be looked at.
    pub is_failure: bool,
}

impl NotSearched {
    /// They cannot be.
    #[must_use]
    pub fn impossible(why: impl Into<String>) -> Self {
        Self { why: why.into(), is_failure: false }
    }

    /// They could have been.
    #[must_use]
    pub fn failed(why: impl Into<String>) -> Self {
        Self { why: why.into(), is_failure: true }
    }
}

/// What is known of the sequence of a packet.
enum Sequence {
    /// It had a packet before.
    Known,
    /// It is the first one.
    First,
    /// It is not remembered.
    Unknown,
}

/// The bits of a byte of a tag that are of its number. A tag may be longer than it needs to be: then the top bit of its
/// second byte is set.
const TAG_BITS: u8 = 0x7f;

/// The first bytes of a packet, which are looked at together.
const BEGIN_BYTES: usize = size_of::<u128>();

/// Whether one of two tags of two bytes, with the same second byte, may be there. It takes no loop. It may be true of
/// others.
#[inline]
fn may_have_tag(begin: &[u8; BEGIN_BYTES], one: [u8; 2], other: [u8; 2]) -> bool {
    const EACH: u128 = u128::MAX / 0xff;
    debug_assert_eq!(one[1], other[1]);
    let word = u128::from_le_bytes(*begin);
    // The top bit of each byte that is equal: subtracting 1 from the difference sets it, if that is zero.
    let equals = |of: u128, byte: u8| {
        let difference = of ^ (EACH * u128::from(byte));
        difference.wrapping_sub(EACH) & !difference
    };
    let second = (word >> 8) & (EACH * u128::from(TAG_BITS));
    let pairs = (equals(word, one[0]) | equals(word, other[0])) & equals(second, one[1]);
    pairs & (EACH << 7) != 0
}

/// Reads a file from its beginning. Its offset stays as it is: it is shared with other descriptors.
struct FileFromStart<'f> {
    file: &'f File,
    at: u64,
}

impl Read for FileFromStart<'_> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        let len = self.file.read_at(buf, self.at)?;
        self.at += len as u64;
        Ok(len)
    }
}

#[cfg(test)]
mod tests;
