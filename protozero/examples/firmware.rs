//! A small machine: messages in a buffer on the stack, without an allocator, and without generated code.
//!
//! ```sh
//! cargo run -p pbzero --example firmware --no-default-features
//! ```
//!
//! The program needs `std` only to print. Its schema would be:
//!
//! ```proto
//! message Measurement {
//!   uint32 sensor = 1;
//!   sint32 millidegrees = 2;
//!   repeated Fault faults = 3;
//! }
//! message Fault {
//!   uint32 code = 1;
//!   string text = 2;
//! }
//! ```

use protozero::{FixedSink, ReadError, Reader, WriteError, field};

struct Fault {
    code: u32,
    text: &'static str,
}

/// Writes a measurement into `buffer`, and returns the part of it that is the message.
fn measurement<'b>(
    buffer: &'b mut [u8],
    sensor: u32,
    millidegrees: i32,
    faults: &[Fault],
) -> Result<&'b [u8], WriteError> {
    let mut stream = FixedSink::stream(buffer);
    {
        let mut message = stream.root();
        field::uint32::<1>(&mut message, sensor);
        field::sint32::<2>(&mut message, millidegrees);
        for fault in faults {
            // It ends where it is dropped, and its length is stored then.
            let mut nested = message.nested::<3>();
            field::uint32::<1>(&mut nested, fault.code);
            field::string::<2>(&mut nested, fault.text);
        }
    }
    stream.finish().map(|bytes| &*bytes)
}

/// What the machine at the other end learns. Nothing is copied out of `bytes`.
fn temperature_and_faults(bytes: &[u8]) -> Result<(i32, usize), ReadError> {
    let (mut millidegrees, mut faults) = (0, 0);
    let mut reader = Reader::new(bytes);
    while let Some(field) = reader.next_field()? {
        match field.number {
            2 => millidegrees = field.value.sint32().unwrap_or_default(),
            3 => faults += 1,
            // A newer machine may send more.
            _ => {}
        }
    }
    Ok((millidegrees, faults))
}

/// Runs the example.
pub fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut buffer = [0; 64];
    let faults = [Fault { code: 7, text: "sensor is slow" }];
    let bytes = measurement(&mut buffer, 3, -1_250, &faults)?;
    println!("{} bytes: {bytes:02x?}", bytes.len());
    let (millidegrees, faults) = temperature_and_faults(bytes)?;
    println!("{millidegrees} millidegrees, {faults} fault");
    assert_eq!((millidegrees, faults), (-1_250, 1));

    // What does not fit is an error, and no message that is cut.
    let mut small = [0; 8];
    let error = measurement(&mut small, 3, -1_250, &[Fault { code: 7, text: "sensor is slow" }]);
    println!("in 8 bytes: {}", error.unwrap_err());
    Ok(())
}
