//! Reading a trace: slices in, packets out.
//!
//! ```text
//!   reply 1                         reply 2
//!   | slice | slice* | slice |      | slice* | slice* | slice* |     * = last slice of its packet
//!   '--- packet 1 ---'--------- packet 2 ----'-- 3 ---'-- 4 ---'
//!
//!   file:  0a LEN packet 1 | 0a LEN packet 2 | ...       field 1 of Trace
//! ```

use std::io::{self, BufWriter, Write};
use std::time::Duration;

use bytes::Bytes;
use protos::ReadBuffersRequest;
use protos::consumer_port::Request;
use protozero::wire::varint;
use protozero::{Reader, Value};

use super::{Consumer, ConsumerError};

/// What was read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReadSummary {
    /// Packets.
    pub packets: u64,
    /// Their bytes, without what a file adds.
    pub bytes: u64,
}

impl Consumer {
    /// Reads what the session recorded so far, which removes it from the service, and gives each
    /// packet to `take` as the slices it came in. Sessions that write into a file have nothing to
    /// read.
    ///
    /// # Errors
    /// [`ConsumerError::TimedOut`] when nothing came for `inactivity`, [`ConsumerError::Output`] with
    /// `take`'s error, which ends the reading.
    pub fn read_buffers(
        &mut self,
        inactivity: Duration,
        mut take: impl FnMut(&[Bytes]) -> io::Result<()>,
    ) -> Result<ReadSummary, ConsumerError> {
        let mut summary = ReadSummary::default();
        // A packet may continue in the next reply.
        let mut packet: Vec<Bytes> = Vec::new();
        let request = Request::ReadBuffers(ReadBuffersRequest::default());
        self.stream(request, inactivity, |reply| {
            let mut reader = Reader::new(reply);
            while let Some(field) = reader.next_field().map_err(malformed)? {
                let (2, Value::Len(slice)) = (field.number, field.value) else {
                    continue;
                };
                let (data, last) = parse_slice(slice).map_err(malformed)?;
                if !data.is_empty() {
                    packet.push(reply.slice_ref(data));
                }
                if last {
                    summary.packets += 1;
                    summary.bytes += packet.iter().map(|slice| slice.len() as u64).sum::<u64>();
                    take(&packet).map_err(ConsumerError::Output)?;
                    packet.clear();
                }
            }
            Ok(())
        })?;
        Ok(summary)
    }

    /// Reads what the session recorded so far and appends it to `out` as a trace file.
    ///
    /// # Errors
    /// As [`read_buffers`](Self::read_buffers). What was written before is whole packets, but for the
    /// last if `out` failed.
    pub fn read_into(
        &mut self,
        out: &mut dyn Write,
        inactivity: Duration,
    ) -> Result<ReadSummary, ConsumerError> {
        // Packets are small and many; one write each would cost more than all the rest.
        let mut out = BufWriter::with_capacity(1 << 17, out);
        let summary = self.read_buffers(inactivity, |packet| write_packet(&mut out, packet));
        // Also after an error: what came before it is whole.
        let flushed = out.flush();
        let summary = summary?;
        flushed.map_err(ConsumerError::Output)?;
        Ok(summary)
    }
}

/// Writes one packet as field 1 of `Trace`.
fn write_packet(out: &mut dyn Write, packet: &[Bytes]) -> io::Result<()> {
    let len: usize = packet.iter().map(Bytes::len).sum();
    let mut head = [0; 1 + varint::LEN_MAX];
    let mut digits = [0; varint::LEN_MAX];
    let digits_len = varint::encode(len as u64, &mut digits);
    head[0] = 0x0a;
    head[1..=digits_len].copy_from_slice(&digits[..digits_len]);
    out.write_all(&head[..=digits_len])?;
    packet.iter().try_for_each(|slice| out.write_all(slice))
}

/// `ReadBuffersResponse.Slice`: its data, and whether the packet ends with it.
fn parse_slice(bytes: &[u8]) -> Result<(&[u8], bool), protozero::DecodeError> {
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

fn malformed(error: protozero::DecodeError) -> ConsumerError {
    ConsumerError::Malformed { method: "ReadBuffers", error }
}
