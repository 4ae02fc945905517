//! An agent of a telemetry system: it writes samples into a file in constant memory, and prints a file as JSON lines.
//!
//! ```sh
//! cargo run -p pbzero --example agent --features derive,json
//! ```
//!
//! The file is one message, `message Samples { repeated Sample sample = 1; }`, so every tool for protocol buffers can
//! read it, and two files behind each other are one file.

use std::error::Error;
use std::io;

use protozero::sink::IoOutput;
use protozero::{FrameReader, Message, WindowSink, json};

#[derive(Message, Clone, Debug, Default, PartialEq)]
#[pb(name = "agent.Sample", skip_unknown)]
struct Sample {
    #[pb(fixed64, 1)]
    time_ns: u64,
    #[pb(string, 2)]
    name: String,
    #[pb(double, 3)]
    value: f64,
    #[pb(message, 4, repeated)]
    labels: Vec<Label>,
}

#[derive(Message, Clone, Debug, Default, PartialEq)]
#[pb(name = "agent.Label", skip_unknown)]
struct Label {
    #[pb(string, 1)]
    key: String,
    #[pb(string, 2)]
    value: String,
}

/// Memory for samples that are not in the file yet. The largest sample must fit.
const WINDOW_BYTES: usize = 64 * 1024;

fn write(
    file: impl io::Write,
    samples: impl Iterator<Item = Sample>,
) -> Result<(), Box<dyn Error>> {
    // Each sample becomes field 1 of the file.
    let mut stream = WindowSink::framed_with_window::<1>(WINDOW_BYTES, IoOutput(file));
    for sample in samples {
        sample.encode(&mut stream)?;
    }
    stream.finish()?;
    Ok(())
}

/// Calls `with` for each sample of a file of any size.
fn read(mut file: impl io::Read, mut with: impl FnMut(Sample)) -> Result<(), Box<dyn Error>> {
    let (mut stream, mut block) = (FrameReader::new(), vec![0; 64 * 1024]);
    loop {
        let len = file.read(&mut block)?;
        if len == 0 {
            // An error if the file was cut.
            return Ok(stream.finish()?);
        }
        let mut frames = stream.read_block(&block[..len]);
        while let Some(frame) = frames.next_frame()? {
            with(Sample::decode(frame.body)?);
        }
    }
}

/// Runs the example.
pub fn main() -> Result<(), Box<dyn Error>> {
    let sample = |number: u64| Sample {
        time_ns: 1_000_000 * number,
        name: "cpu.load".into(),
        value: 0.25 * number as f64,
        labels: vec![Label { key: "host".into(), value: "web1".into() }],
    };
    let path = std::env::temp_dir().join(format!("samples-{}.pb", std::process::id()));
    write(std::fs::File::create(&path)?, (0..1_000).map(sample))?;

    let mut all = Vec::new();
    read(std::fs::File::open(&path)?, |sample| all.push(sample))?;
    std::fs::remove_file(&path)?;
    assert_eq!(all, (0..1_000).map(sample).collect::<Vec<_>>());
    for sample in &all[..3] {
        println!("{}", json::to_string(sample)?);
    }
    println!("... {} samples", all.len());

    // What another program sends: JSON into a struct, with the names of the schema or those of JSON.
    let told = r#"{"timeNs": "5", "name": "cpu.load", "value": 1.5}"#;
    let sample: Sample = json::from_str(told)?;
    assert_eq!((sample.time_ns, sample.value), (5, 1.5));

    // A message that is cut is an error that names the place.
    let bytes = sample.encode_to_vec();
    println!("cut: {}", Sample::decode(&bytes[..12]).unwrap_err());
    Ok(())
}
