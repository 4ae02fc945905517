//! The arithmetic of `abi` with a panic handler that cannot be linked: see `protozero/tests/no_std/src/bin/no_panic.rs`.
//! Sums are checked for overflow here, so a program that links has neither a sum that overflows nor an index that is
//! outside, whatever the inputs are.
//!
//! The files are those of `abi`, compiled once more without `std` and without an allocator.
#![no_std]
#![no_main]
#![allow(dead_code, reason = "a few modules of a larger crate")]

use core::hint::black_box;
use core::panic::PanicInfo;

#[path = "../../../src/ids/mod.rs"]
pub mod ids;
#[path = "../../../src/limits.rs"]
pub mod limits;
pub mod shm;
pub mod sync;

#[path = "../../../src/ipc/cut.rs"]
pub mod cut;

mod frames;
mod memory;
mod pages;
mod writer;

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

/// A number that the compiler does not know.
#[inline(never)]
fn any() -> usize {
    black_box(0)
}

#[unsafe(no_mangle)]
extern "C" fn main(_argc: i32, _argv: *const *const u8) -> i32 {
    let mut memory = memory::Memory::new();
    let memory = black_box(&mut memory);
    black_box(frames::cut(memory.bytes()));
    black_box(frames::framed(any()));
    black_box(pages::arithmetic());
    black_box(pages::words());
    black_box(pages::headers(memory.bytes()));
    black_box(pages::states(memory));
    black_box(pages::copies());
    black_box(pages::scrape(memory));
    black_box(pages::patches(memory.bytes_mut()));
    black_box(writer::fragments(black_box(memory)));
    0
}
