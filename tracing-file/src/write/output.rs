//! Packets on their way to the output, through one buffer.

use std::io::Write;

use protos::TracePacketWriter;
use protozero::wire::write::append_head;
use protozero::{AppendSink, Writer};

use super::error::WriteError;

/// `Trace.packet`.
const PACKET: u32 = 1;

/// Bytes collected before they are written.
const BLOCK_BYTES: usize = 64 << 10;

/// Appends a message that `fill` writes to `buffer`, without a tag and a length.
pub(super) fn append<T>(
    buffer: &mut Vec<u8>,
    fill: impl FnOnce(protozero::Scope<'_>) -> T,
) -> Result<T, WriteError> {
    let mut stream = AppendSink::stream(buffer);
    let result = fill(stream.root());
    stream.finish().map_err(|_| WriteError::TooLong)?;
    Ok(result)
}

/// The output and the packet that is made for it.
#[derive(Debug)]
pub(super) struct Output<W> {
    out: W,
    block: Vec<u8>,
    packet: Vec<u8>,
    is_stopped: bool,
}

impl<W: Write> Output<W> {
    pub(super) fn new(out: W) -> Self {
        let block = Vec::with_capacity(BLOCK_BYTES);
        Self { out, block, packet: Vec::new(), is_stopped: false }
    }

    /// Writes one packet.
    pub(super) fn packet(
        &mut self,
        fill: impl FnOnce(&mut TracePacketWriter<'_>),
    ) -> Result<(), WriteError> {
        if self.is_stopped {
            return Err(WriteError::Stopped);
        }
        self.packet.clear();
        append(&mut self.packet, |scope| fill(&mut TracePacketWriter::from_scope(scope)))?;
        append_head(&mut self.block, PACKET, self.packet.len());
        if self.block.len() + self.packet.len() > BLOCK_BYTES {
            self.write_block()?;
        }
        self.block.extend_from_slice(&self.packet);
        Ok(())
    }

    /// Writes what is collected.
    pub(super) fn flush(&mut self) -> Result<(), WriteError> {
        if self.is_stopped {
            return Err(WriteError::Stopped);
        }
        self.write_block()?;
        self.out.flush().map_err(|error| self.stop(error))
    }

    pub(super) fn get_mut(&mut self) -> &mut W {
        &mut self.out
    }

    fn write_block(&mut self) -> Result<(), WriteError> {
        let written = self.out.write_all(&self.block);
        self.block.clear();
        // One long packet leaves no long buffer.
        self.block.shrink_to(2 * BLOCK_BYTES);
        written.map_err(|error| self.stop(error))
    }

    /// How much of the block is in the output is unknown, so whatever follows would not be a trace.
    fn stop(&mut self, error: std::io::Error) -> WriteError {
        self.is_stopped = true;
        WriteError::Io(error)
    }
}
