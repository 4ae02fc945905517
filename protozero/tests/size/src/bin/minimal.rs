//! A program without std that writes one message: a number, a string, and a message with a number.
#![no_std]
#![no_main]

use core::hint::black_box;
use core::panic::PanicInfo;

use protozero::{FixedSink, rt};

#[panic_handler]
fn panic(_: &PanicInfo<'_>) -> ! {
    loop {}
}

/// Replaces libc's unwinder function, which the precompiled `core` refers to.
#[unsafe(no_mangle)]
extern "C" fn rust_eh_personality() {}

#[unsafe(no_mangle)]
extern "C" fn main(argc: i32, _argv: *const *const u8) -> i32 {
    let mut buffer = [0; 64];
    let mut stream = FixedSink::stream(&mut buffer);
    {
        let mut message = stream.root();
        rt::uint64::<1>(&mut message, argc as u64);
        rt::string::<2>(&mut message, black_box("text"));
        rt::uint64::<1>(&mut message.nested::<3>(), argc as u64);
    }
    black_box(stream.finish()).map_or(-1, |bytes| bytes.len() as i32)
}
