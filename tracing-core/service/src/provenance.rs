//! Where packets come from and how to read them: sequences by producer, schemas of extensions.

use protos::TraceProvenance;
use protozero::Message as _;

use super::buffers::Buffers;
use super::service_packet::PacketMaker;
use super::session::sequence::Numbering;
use super::session::state::Session;
use crate::accounts::Accounts;
use crate::limits;

/// An `ExtensionDescriptor` for each set that the service was given.
pub(crate) fn extensions(maker: PacketMaker<'_>) -> impl Iterator<Item = Vec<u8>> + '_ {
    maker.config.extensions.iter().map(move |set| {
        maker.packet(None, |p| {
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

/// Which sequences wrote into which buffer so far, with the numbers that their packets will have; so many of them at
/// most ([`limits::WRITERS_TOLD_MAX`]).
pub(crate) fn packet_of(
    session: &mut Session,
    buffers: &Buffers,
    accounts: &mut Accounts,
    maker: PacketMaker<'_>,
    at_ns: u64,
) -> Vec<u8> {
    let mut provenance = TraceProvenance::default();
    let mut left = limits::WRITERS_TOLD_MAX;
    let Session { buffers: own, sequences, buffer_charge, .. } = session;
    let mut numbering = Numbering { ids: sequences, charge: buffer_charge, accounts };
    for buffer in own {
        let Some(buffer) = buffers.get(*buffer) else { continue };
        let writers = buffer.writer_stats().take(left);
        let sequences = writers.map(|writer| protos::TraceProvenanceSequence {
            id: Some(numbering.id(writer.sequence)),
            producer_id: Some(writer.sequence.producer.get().into()),
            ..Default::default()
        });
        let sequences: Vec<_> = sequences.collect();
        left = left.saturating_sub(sequences.len());
        provenance.buffers.push(protos::TraceProvenanceBuffer { sequences, ..Default::default() });
    }
    maker.packet(Some(at_ns), |p| {
        p.trace_provenance_raw(&provenance.encode_to_vec());
    })
}
