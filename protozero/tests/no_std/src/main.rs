//! Writer and reader in a program without std and without an allocator, linked by hand: it runs on
//! the bare C entry point, and its exit code is 0 if what is read is what was written.
#![no_std]
#![no_main]

use core::mem::MaybeUninit;
use core::panic::PanicInfo;

use protozero::DecodeErrorKind;
use protozero_no_std::write::Values;
use protozero_no_std::{read, write};

#[panic_handler]
fn panic(_: &PanicInfo<'_>) -> ! {
    loop {}
}

/// Stands in for libc's unwinder hook, which `core` was built to mention.
#[unsafe(no_mangle)]
extern "C" fn rust_eh_personality() {}

#[unsafe(no_mangle)]
extern "C" fn main(argc: i32, _argv: *const *const u8) -> i32 {
    check(argc as u64).err().unwrap_or(0)
}

/// The number of the first thing that is wrong.
fn check(number: u64) -> Result<(), i32> {
    let values = Values { number: number + 299, text: "text", bytes: b"\x08\x01" };
    let (mut a, mut b) = ([0; 1024], [MaybeUninit::uninit(); 1024]);
    let fixed = write::fixed(&mut a, values).map_err(|_| 1)?;
    let uninit = write::uninit(&mut b, values).map_err(|_| 2)?;
    if !fixed.starts_with(uninit) {
        return Err(3);
    }

    let sum = read::kinds(uninit, 10).map_err(|_| 4)?;
    if sum == 0 || read::fields(uninit, 10).is_err() || read::table(uninit).is_err() {
        return Err(5);
    }
    let (front, back) = uninit.split_at(100);
    // Strings are entered as messages, too, which they need not be.
    let limited = read::limited(uninit).err().map(|error| error.kind);
    let too_deep = limited == Some(DecodeErrorKind::TooDeep);
    if read::scattered(&[front, back]).is_err() || too_deep {
        return Err(6);
    }

    let (mut c, mut d, mut e) = ([0; 100], [0; 7], [0; 900]);
    match write::pieces(&mut [&mut c, &mut d, &mut e], values) {
        Ok(2) => {}
        _ => return Err(7),
    }
    let mut window = [0; 512];
    write::window(&mut window, values).map_err(|_| 8)?;
    let mut space = [0; 2048];
    match write::rewritten(uninit, &mut space) {
        // The way back gives the groups again.
        Ok(len) if len >= 2 * uninit.len() - 4 => Ok(()),
        _ => Err(9),
    }
}
