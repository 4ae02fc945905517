//! How a config changes packets on their way out: compression, which is undone here, and three filters, whose
//! effect is computed here.

use protos::{
    TraceConfig, TraceConfigTraceFilter, TraceConfigTraceFilterStringFilterChain as Chain,
    TraceConfigTraceFilterStringFilterPolicy as Policy,
    TraceConfigTraceFilterStringFilterRule as StringRule, TracePacket, TracePacketData,
};
use protozero::{Reader, Value};

use crate::rng::Rng;
use service::filter::Rule;
use service::filter::generator::{Generator, Target};

/// Fields of `TracePacket`.
const SYSTEM_INFO: u32 = 45;
const DEFLATED: u32 = 50;
const ZSTD: u32 = 133;
const FOR_TESTING: u32 = 900;

/// The text that the filters redact.
pub(crate) const SECRET: &str = "inner";

/// What a filter of the simulation removes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Filter {
    /// `for_testing.payload`.
    Payload,
    /// The text in the payload, which is replaced by another of the same length.
    Text,
    /// `system_info`, which the service writes.
    System,
}

impl Filter {
    /// The filter of a config, found by comparing with all of them.
    pub(super) fn of(config: &TraceConfig) -> Option<Self> {
        let filter = config.trace_filter.as_ref()?;
        [Self::Payload, Self::Text, Self::System].into_iter().find(|f| f.config() == *filter)
    }

    pub(super) fn random(rng: &mut Rng) -> Self {
        rng.pick(&[Self::Payload, Self::System, Self::Text])
    }

    pub(super) fn config(self) -> TraceConfigTraceFilter {
        let generator = Generator::new(Target::V2 { untyped: true }).field(1, Rule::Message(1));
        let before = generator.end().range(1, SYSTEM_INFO - 1);
        let system = match self {
            Self::System => before,
            _ => before.field(SYSTEM_INFO, Rule::Pass),
        };
        let packet = system
            .range(SYSTEM_INFO + 1, FOR_TESTING - SYSTEM_INFO - 1)
            .field(FOR_TESTING, Rule::Message(2))
            .range(FOR_TESTING + 1, 1000);
        let event = packet.end().range(1, 4);
        let event = match self {
            Self::Payload => event,
            Self::Text => event.field(5, Rule::Message(3)),
            Self::System => event.field(5, Rule::Pass),
        };
        let payload = event.end().range(1, 3).field(4, Rule::String(0)).range(5, 3);
        let (bytecode, _) = payload.end().finish();
        let rule = StringRule {
            policy: Some(Policy::SFP_MATCH_REDACT_GROUPS),
            regex_pattern: Some(format!("({SECRET})")),
            ..StringRule::default()
        };
        let chain = Chain { rules: vec![rule], ..Chain::default() };
        TraceConfigTraceFilter {
            bytecode_v2: Some(bytecode),
            string_filter_chain: (self == Self::Text).then_some(chain),
            ..TraceConfigTraceFilter::default()
        }
    }

    /// Whether `kept` is the filtered packet of an honest producer, apart from trusted fields.
    pub(super) fn makes(self, of: &TracePacket, kept: &TracePacket) -> bool {
        let mut wanted = of.clone();
        if let Some(TracePacketData::ForTesting(event)) = &mut wanted.data {
            match self {
                Self::Payload => event.payload = None,
                Self::Text => {
                    let text = event.payload.as_mut().and_then(|p| p.single_string.as_mut());
                    if let Some(text) = text {
                        // The beginning of upstream's replacement text.
                        "P60REDACTED"[..SECRET.len()].clone_into(text);
                    }
                }
                Self::System => {}
            }
        }
        wanted.data == kept.data
    }

    /// Whether a packet, of any writer, has nothing that the filter removes.
    ///
    /// # Errors
    /// It is no message.
    pub(super) fn allows(self, packet: &[u8]) -> Result<bool, String> {
        let mut reader = Reader::new(packet);
        while let Some(field) = reader.next_field().map_err(|e| e.to_string())? {
            let Value::Len(body) = field.value else { continue };
            let denied = match (field.number, self) {
                (SYSTEM_INFO, Self::System) => true,
                (FOR_TESTING, Self::Payload) => has_field(body, 5),
                _ => false,
            };
            if denied {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

fn has_field(message: &[u8], number: u32) -> bool {
    let mut reader = Reader::new(message);
    while let Ok(Some(field)) = reader.next_field() {
        if field.number == number {
            return true;
        }
    }
    false
}

/// The field that compressed packets of such a session are in.
fn codec(config: &TraceConfig) -> Option<u32> {
    let asked = config.compression.as_ref()?;
    if asked.zstd.is_some() { Some(ZSTD) } else { asked.deflate.is_some().then_some(DEFLATED) }
}

pub(super) fn is_compressed(config: &TraceConfig) -> bool {
    codec(config).is_some()
}

/// The packets within a packet of compressed packets; the packet itself if it is not compressed.
///
/// # Errors
/// It is compressed in another way than the config says, or its contents are no trace.
pub(super) fn unpack<'p>(
    config: &TraceConfig,
    packet: &'p [u8],
    plain: &'p mut Vec<u8>,
) -> Result<Vec<&'p [u8]>, String> {
    let Some(trace) = pass(config, packet)? else { return Ok(vec![packet]) };
    *plain = trace;
    packets(plain)
}

/// The trace within a packet of compressed packets; none if it is not compressed.
///
/// # Errors
/// It is compressed in another way than the config says.
pub(super) fn pass(config: &TraceConfig, packet: &[u8]) -> Result<Option<Vec<u8>>, String> {
    let mut reader = Reader::new(packet);
    let first = reader.next_field().ok().flatten();
    let packed = first.and_then(|field| match (field.number, field.value) {
        (DEFLATED | ZSTD, Value::Len(stream)) => Some((field.number, stream)),
        _ => None,
    });
    let codec = codec(config);
    let Some((number, stream)) = packed else { return Ok(None) };
    if Some(number) != codec {
        return Err(format!("packed as {packed:?}, asked for {codec:?}"));
    }
    if reader.next_field() != Ok(None) {
        return Err("more than a stream in a packed packet".into());
    }
    decompress(number, stream).map(Some)
}

/// The packets of a trace.
///
/// # Errors
/// The bytes are no trace.
pub(super) fn packets(trace: &[u8]) -> Result<Vec<&[u8]>, String> {
    let mut reader = Reader::new(trace);
    let mut packets = Vec::new();
    while let Some(field) = reader.next_field().map_err(|e| format!("no trace: {e}"))? {
        let (1, Value::Len(packet)) = (field.number, field.value) else {
            return Err("no trace".into());
        };
        packets.push(packet);
    }
    Ok(packets)
}

fn decompress(field: u32, stream: &[u8]) -> Result<Vec<u8>, String> {
    use std::io::Read as _;
    let mut plain = Vec::new();
    if field == DEFLATED {
        let read = flate2::read::ZlibDecoder::new(stream).read_to_end(&mut plain);
        read.map_err(|e| format!("deflate: {e}"))?;
    } else {
        let decoder = ruzstd::decoding::StreamingDecoder::new(stream);
        let mut decoder = decoder.map_err(|e| format!("zstd: {e}"))?;
        decoder.read_to_end(&mut plain).map_err(|e| format!("zstd: {e}"))?;
    }
    Ok(plain)
}
