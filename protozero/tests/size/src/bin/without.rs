//! The same program without the packet: it prints the values that the packet would contain.

use std::io::Write;
use std::process::ExitCode;

fn main() -> ExitCode {
    let name = std::env::args().next().unwrap_or_default();
    let time = std::env::args().count() as u64;

    let mut buffer = [0; 256];
    let len = name.len().min(buffer.len() - 8);
    buffer[..len].copy_from_slice(&name.as_bytes()[..len]);
    buffer[len..len + 8].copy_from_slice(&time.to_le_bytes());
    let packet = &buffer[..len + 8];
    ExitCode::from(u8::from(std::io::stdout().write_all(packet).is_err()))
}
