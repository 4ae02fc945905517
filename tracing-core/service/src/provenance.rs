//! Where packets come from and how to read them: sequences by producer, schemas of extensions.

use protos::TraceProvenance;

use super::ServiceConfig;
use super::core::Service;
use super::packets::packet;
use super::session::read::SequenceKey;
use abi::ids::{ProducerId, SessionId, WriterId};

/// A schema of extension fields that the service puts into traces.
#[derive(Clone, PartialEq, Eq)]
pub struct ExtensionSet {
    /// What it was read from, for people; may be empty.
    pub file_name: String,
    /// An encoded `FileDescriptorSet`.
    pub bytes: Vec<u8>,
    /// It is compressed by gzip, and stays so.
    pub gzip: bool,
}

impl std::fmt::Debug for ExtensionSet {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { file_name, bytes, gzip } = self;
        write!(f, "ExtensionSet({file_name:?}, {} bytes, gzip: {gzip})", bytes.len())
    }
}

/// An `ExtensionDescriptor` for each set the service was given.
pub(super) fn extensions(
    config: &ServiceConfig,
    machine_id: u32,
) -> impl Iterator<Item = Vec<u8>> + '_ {
    config.extensions.iter().map(move |set| {
        packet(config, machine_id, None, |p| {
            let mut body = p.extension_descriptor();
            if set.gzip {
                body.extension_set_gzip(&set.bytes);
            } else {
                body.extension_set_raw(&set.bytes);
            }
            if !set.file_name.is_empty() {
                body.file_name(&set.file_name);
            }
        })
    })
}

impl Service {
    /// The machine a sequence belongs to, as far as its producer is still there to tell.
    pub(super) fn sequence_key(&self, producer: ProducerId, writer: WriterId) -> SequenceKey {
        let machine = self.producers.get(&producer).map_or(0, |p| p.peer.machine_id);
        SequenceKey { machine, producer, writer }
    }

    /// Which sequences wrote into which buffer so far, with the numbers that their packets will have.
    pub(super) fn provenance(&mut self, id: SessionId) -> Option<Vec<u8>> {
        use protozero::Message as _;
        let mut provenance = TraceProvenance::default();
        for buffer in self.sessions.get(&id)?.buffers.clone() {
            let Some(buffer) = self.buffers.get(&buffer) else { continue };
            let writers = buffer.writer_stats().map(|w| self.sequence_key(w.producer, w.writer));
            let keys: Vec<SequenceKey> = writers.collect();
            let session = self.sessions.get_mut(&id)?;
            let sequences = keys.into_iter().map(|key| protos::TraceProvenanceSequence {
                id: Some(session.sequences.id(key)),
                producer_id: Some(key.producer.0.into()),
                ..Default::default()
            });
            let sequences = sequences.collect();
            provenance
                .buffers
                .push(protos::TraceProvenanceBuffer { sequences, ..Default::default() });
        }
        let at_ns = self.now.boot_ns;
        Some(packet(&self.config, self.local_machine_id, Some(at_ns), |p| {
            p.trace_provenance_raw(&provenance.encode_to_vec());
        }))
    }
}
