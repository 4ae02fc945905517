//! Writer and reader in a program without std and without an allocator, linked by hand: it runs on
//! the bare C entry point, and its exit code is 0 if the bytes are right.
//!
//! No `alloc` crate either: were it needed, the missing global allocator would fail the build.
#![no_std]
#![no_main]

use core::panic::PanicInfo;

use protozero::{FixedSink, Reader, Value, rt};

#[panic_handler]
fn panic(_: &PanicInfo<'_>) -> ! {
    loop {}
}

/// Stands in for libc's unwinder hook, which `core` was built to mention.
#[unsafe(no_mangle)]
extern "C" fn rust_eh_personality() {}

#[unsafe(no_mangle)]
extern "C" fn main(argc: i32, _argv: *const *const u8) -> i32 {
    let mut buffer = [0; 64];
    let Ok(bytes) = write(&mut buffer, argc as u64) else { return 1 };
    match read(bytes) {
        Ok(sum) if sum == argc as u64 + 2 => 0,
        Ok(_) => 2,
        Err(_) => 3,
    }
}

fn write(buffer: &mut [u8], number: u64) -> Result<&mut [u8], protozero::WriteError> {
    let mut stream = FixedSink::stream(buffer);
    {
        let mut root = stream.root();
        let mut child = root.nested::<1>();
        rt::uint64::<2>(&mut child, number);
        rt::string::<3>(&mut child, "hi");
        rt::packed_sint32::<4>(&mut child, [-1, 1]);
    }
    stream.finish()
}

fn read(bytes: &[u8]) -> Result<u64, protozero::DecodeError> {
    let mut sum = 0;
    let mut reader = Reader::new(bytes);
    while let Some(field) = reader.next_field()? {
        match field.value {
            Value::Varint(v) => sum += v,
            Value::Len(text) if field.number == 3 => sum += text.len() as u64,
            Value::Len(message) if field.number == 1 => sum += read(message)?,
            _ => {}
        }
    }
    Ok(sum)
}
