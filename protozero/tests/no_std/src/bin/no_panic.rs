//! The same code with a panic handler that cannot be linked. If nothing can reach the handler, the
//! linker drops it; otherwise the linker reports the missing function. `cargo xtask no-panic`
//! builds this program. With feature `explain` it links, and the command searches for the callers.
#![no_std]
#![no_main]

use core::hint::black_box;
use core::mem::MaybeUninit;
use core::panic::PanicInfo;

use protozero_no_std::write::Values;
use protozero_no_std::{read, write};

#[cfg(not(feature = "explain"))]
unsafe extern "C" {
    /// Not defined anywhere.
    safe fn a_panic_can_be_reached() -> !;
}

#[cfg(feature = "explain")]
#[unsafe(no_mangle)]
#[inline(never)]
extern "C" fn a_panic_can_be_reached() -> ! {
    loop {
        black_box(());
    }
}

#[panic_handler]
fn panic(_: &PanicInfo<'_>) -> ! {
    a_panic_can_be_reached()
}

/// Replaces libc's unwinder function, which the precompiled `core` refers to.
#[unsafe(no_mangle)]
extern "C" fn rust_eh_personality() {}

#[unsafe(no_mangle)]
extern "C" fn main(argc: i32, _argv: *const *const u8) -> i32 {
    // The compiler knows neither the inputs and buffers nor their lengths.
    let bytes: &[u8] = black_box(b"\x08\x01");
    let text: &str = black_box("text");
    let values = Values { number: argc as u64, text, bytes };
    black_box(reader(bytes));
    black_box(read::wire(values.number));
    black_box(read::enumeration(text, argc));
    black_box(read::times(text));
    let mut buffer = [0; 100];
    #[cfg(not(feature = "no-prefix"))]
    black_box(read::prefix(black_box(&mut buffer), values.number));
    black_box(&mut buffer);
    black_box(writer(values));
    0
}

#[inline(never)]
fn reader(bytes: &[u8]) -> [bool; 9] {
    let pieces = [bytes, bytes];
    let pieces: &[&[u8]] = black_box(&pieces);
    [
        black_box(read::fields(bytes, 10)).is_ok(),
        black_box(read::kinds(bytes, 10)).is_ok(),
        black_box(read::scattered(pieces)).is_ok(),
        black_box(read::table(bytes)).is_ok(),
        black_box(read::limited(bytes)).is_ok(),
        black_box(read::less_common(bytes)).is_ok(),
        black_box(read::context(bytes)) != 0,
        black_box(read::by_hand(bytes)).is_ok(),
        black_box(read::path(bytes)).is_ok(),
    ]
}

#[inline(never)]
fn writer(values: Values<'_>) -> [bool; 6] {
    let mut memory = [0; 1024];
    let mut other = [0; 100];
    let mut window = [0; 100];
    let memory: &mut [u8] = black_box(&mut memory);
    let fixed = black_box(write::fixed(memory, values)).is_ok();
    let rewritten = black_box(write::rewritten(values.bytes, black_box(&mut *memory))).is_ok();
    let mut nothing = [MaybeUninit::uninit(); 100];
    let uninit = black_box(write::uninit(black_box(&mut nothing), values)).is_ok();
    let failing = black_box(write::failing(black_box(&mut *memory), values)) != 0;
    let mut pieces = [memory, black_box(&mut other)];
    let pieces: &mut [&mut [u8]] = black_box(&mut pieces);
    let window: &mut [u8] = black_box(&mut window);
    [
        fixed,
        uninit,
        failing,
        rewritten,
        black_box(write::pieces(pieces, values)).is_ok(),
        black_box(write::window(window, values)).is_ok(),
    ]
}
