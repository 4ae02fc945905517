//! Reads the events of a trace.

use std::collections::BTreeMap;
use std::io::Read;

use super::decoded::Decoded;
use super::event::Event;
use super::problem::{Finding, Problem};
use super::sequence::SequenceId;
use super::state::State;
use super::tracks::Tracks;
pub use crate::limits::MEMORY_MAX;
use crate::packets::{Packets, Place, ReadError};

/// Reads a trace event by event, in the order of the file.
#[derive(Debug)]
pub struct TraceReader<R> {
    pub(crate) packets: Packets<R>,
    pub(crate) state: State,
    place: Place,
    decoded: Option<Decoded>,
}

impl<R: Read> TraceReader<R> {
    /// Reads the trace in `input`, which needs no buffer of its own.
    pub fn new(input: R) -> Self {
        Self::with_memory(input, MEMORY_MAX)
    }

    /// Reads the trace in `input`. Interned texts, tracks, clocks and sequences take at most `bytes` of memory; what
    /// finds no place is refused and counted.
    pub fn with_memory(input: R, bytes: usize) -> Self {
        let (packets, state) = (Packets::new(input), State::new(bytes));
        Self { packets, state, place: Place::default(), decoded: None }
    }

    /// The next event.
    ///
    /// # Errors
    /// See [`ReadError`]. After one that is recoverable, reading may go on.
    pub fn next_event(&mut self) -> Result<Option<Event<'_>>, ReadError> {
        while self.next_packet()? {
            if self.decoded.is_some() {
                break;
            }
        }
        Ok(self.event())
    }

    /// Reads one packet, which may have an event. `false` at the end.
    pub(crate) fn next_packet(&mut self) -> Result<bool, ReadError> {
        self.decoded = None;
        self.state.found.findings.clear();
        match self.packets.next_packet() {
            Ok(Some(packet)) => {
                self.place = packet.place;
                self.decoded = self.state.packet(packet.bytes, packet.place);
                Ok(true)
            }
            Ok(None) => Ok(false),
            Err(error) => {
                self.place = error.place();
                if error.is_recoverable() {
                    self.state.found.begin(self.place);
                    self.state.find(Problem::BrokenCompression, self.place.offset);
                }
                Err(error)
            }
        }
    }

    /// Reads one packet, and goes on behind compressed ones that cannot be unpacked. `error` is the first error.
    pub(crate) fn next_readable_packet(&mut self, error: &mut Option<ReadError>) -> bool {
        loop {
            match self.next_packet() {
                Ok(is_there) => return is_there,
                Err(found) => {
                    let is_recoverable = found.is_recoverable();
                    error.get_or_insert(found);
                    if !is_recoverable {
                        return false;
                    }
                }
            }
        }
    }

    /// Checks of the last event beyond those that reading needs.
    pub(crate) fn check_body(&mut self) {
        if let Some(decoded) = &self.decoded {
            let body = self.packets.bytes().get(decoded.body.clone()).unwrap_or_default();
            self.state.check_body(decoded, body);
        }
    }

    /// The event of the last packet.
    pub(crate) fn event(&self) -> Option<Event<'_>> {
        let decoded = self.decoded.as_ref()?;
        Some(Event {
            place: self.place,
            decoded,
            body: self.packets.bytes().get(decoded.body.clone()).unwrap_or_default(),
            names: self.state.sequence(decoded.sequence),
            tracks: &self.state.tracks,
        })
    }

    /// Where the last packet is.
    #[must_use]
    pub const fn place(&self) -> Place {
        self.place
    }

    /// The tracks that were described so far.
    #[must_use]
    pub const fn tracks(&self) -> &Tracks {
        &self.state.tracks
    }

    pub(crate) fn into_tracks(self) -> Tracks {
        self.state.tracks
    }

    /// The sequence of the last packet, if packets before it are missing.
    pub(crate) fn loss(&self) -> Option<SequenceId> {
        let is_loss = |finding: &Finding| finding.problem == Problem::Loss;
        self.state.found.findings.iter().any(is_loss).then_some(self.state.last)
    }

    /// What was wrong in the last packet.
    #[must_use]
    pub fn findings(&self) -> &[Finding] {
        &self.state.found.findings
    }

    /// How often each problem was found so far. Events of error severity were refused, and those of
    /// [`Problem::SkippedCut`].
    #[must_use]
    pub const fn counts(&self) -> &BTreeMap<Problem, u64> {
        &self.state.found.counts
    }
}
