//! A program that writes one trace packet with a track event.

use std::io::Write;
use std::process::ExitCode;

use protos::{TracePacketWriter, TrackEventType};
use protozero::{FixedSink, Writer};

fn main() -> ExitCode {
    // The compiler does not know the values.
    let name = std::env::args().next().unwrap_or_default();
    let time = std::env::args().count() as u64;

    let mut buffer = [0; 256];
    let mut stream = FixedSink::stream(&mut buffer);
    {
        let mut packet = TracePacketWriter::from_scope(stream.root());
        packet.timestamp(time).trusted_packet_sequence_id(1);
        let mut event = packet.track_event();
        event.r#type(TrackEventType::TYPE_SLICE_BEGIN).track_uuid(time).name(&name);
        event.debug_annotations().name("count").uint_value(time);
    }
    let Ok(packet) = stream.finish() else { return ExitCode::FAILURE };
    ExitCode::from(u8::from(std::io::stdout().write_all(packet).is_err()))
}
