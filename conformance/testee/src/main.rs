//! The program under test of Google's `conformance_test_runner`: it answers each request with one response, until the
//! runner closes the pipe.
//!
//! ```text
//!   runner ── u32 LE length, ConformanceRequest ──▶ stdin   testee
//!          ◀── u32 LE length, ConformanceResponse ── stdout    │ at the end
//!                                                              ▼
//!                                  one line per category into the tally file
//! ```
//!
//! `testee API_KIND TALLY`: the API kind decides which code converts (see [`api`]). Requests and responses are always
//! generated owned messages.
#![forbid(unsafe_code)]

mod api;
mod compact;
mod schema;
mod tally;
mod views;

use api::{ApiKind, Failure, Input, Output};
use protozero::Message as _;
use schema::conformance::{
    ConformanceRequest, ConformanceRequestPayload as Payload, ConformanceResponse,
    ConformanceResponseResult as Answer, FailureSet, TestCategory, WireFormat,
};
use std::io::{self, Read, Write as _};
use tally::Tally;

/// Largest request, far above the runner's.
const FRAME_BYTES_MAX: usize = 64 << 20;

fn main() -> io::Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let kind = arguments.first().and_then(|name| ApiKind::named(name));
    let (Some(kind), Some(path)) = (kind, arguments.get(1)) else {
        eprintln!("usage: testee owned|compact|view|dynamic|compiled|copy TALLY");
        std::process::exit(2);
    };
    let mut tally = Tally::default();
    let (mut input, mut output) = (io::stdin().lock(), io::stdout().lock());
    while let Some(frame) = read_frame(&mut input)? {
        let answer = answer(kind, &frame, &mut tally);
        let bytes = ConformanceResponse { result: Some(answer), ..Default::default() };
        let bytes = bytes.encode_to_vec();
        let length = u32::try_from(bytes.len()).map_err(io::Error::other)?;
        output.write_all(&length.to_le_bytes())?;
        output.write_all(&bytes)?;
        output.flush()?;
    }
    tally.append_to(path)
}

/// The next request; `None` when the runner has closed the pipe.
fn read_frame(input: &mut impl Read) -> io::Result<Option<Vec<u8>>> {
    let mut length = [0; 4];
    if input.read(&mut length[..1])? == 0 {
        return Ok(None);
    }
    input.read_exact(&mut length[1..])?;
    let length = u32::from_le_bytes(length) as usize;
    if length > FRAME_BYTES_MAX {
        return Err(io::Error::other("frame too long"));
    }
    let mut frame = vec![0; length];
    input.read_exact(&mut frame)?;
    Ok(Some(frame))
}

fn answer(kind: ApiKind, frame: &[u8], tally: &mut Tally) -> Answer {
    let request = match ConformanceRequest::decode(frame) {
        Ok(request) => request,
        Err(error) => return Answer::RuntimeError(format!("request: {error}")),
    };
    let name = request.message_type.as_str();
    if name == "conformance.FailureSet" {
        // The list of expected failures is empty.
        return Answer::ProtobufPayload(FailureSet::default().encode_to_vec());
    }
    let ignore_unknown = request.test_category == TestCategory::JSON_IGNORE_UNKNOWN_PARSING_TEST;
    let format = request.requested_output_format;
    let (input, category) = match &request.payload {
        Some(Payload::ProtobufPayload(bytes)) => {
            let category = match format {
                WireFormat::TEXT_FORMAT => "text",
                WireFormat::JSON => "json",
                _ => "binary",
            };
            (Input::Binary(bytes), category)
        }
        Some(Payload::TextPayload(text)) => (Input::Text(text), "text"),
        Some(Payload::JsonPayload(text)) => (Input::Json { text, ignore_unknown }, "json"),
        Some(Payload::JspbPayload(_)) => return tally.skip(name, "jspb"),
        None => return Answer::RuntimeError("request without payload".to_owned()),
    };
    let output = match format {
        WireFormat::PROTOBUF => Output::Binary,
        WireFormat::TEXT_FORMAT => Output::Text { print_unknown: request.print_unknown_fields },
        WireFormat::JSON => Output::Json,
        WireFormat::JSPB => return tally.skip(name, "jspb"),
        other => return Answer::RuntimeError(format!("output format {other:?}")),
    };
    if !kind.takes(&input, &output) {
        return tally.skip(name, category);
    }
    tally.answer(name, category);
    match (kind.convert(name, &input, &output), output) {
        (Ok(bytes), Output::Binary) => Answer::ProtobufPayload(bytes),
        (Ok(bytes), Output::Text { .. }) => match String::from_utf8(bytes) {
            Ok(text) => Answer::TextPayload(text),
            Err(error) => Answer::SerializeError(error.to_string()),
        },
        (Ok(bytes), Output::Json) => match String::from_utf8(bytes) {
            Ok(text) => Answer::JsonPayload(text),
            Err(error) => Answer::SerializeError(error.to_string()),
        },
        (Err(Failure::Parse(why)), _) => Answer::ParseError(why),
        (Err(Failure::Serialize(why)), _) => Answer::SerializeError(why),
        // The runner aborts if this response is an error.
        (Err(Failure::UnknownMessage), _) => tally.forget(name, category),
    }
}
