//! Writers and readers in a program without std and without an allocator. It starts at the C entry
//! point, and its exit code is 0 if it reads what it wrote.
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

/// Replaces libc's unwinder function, which the precompiled `core` refers to.
#[unsafe(no_mangle)]
extern "C" fn rust_eh_personality() {}

#[unsafe(no_mangle)]
extern "C" fn main(argc: i32, _argv: *const *const u8) -> i32 {
    check(argc as u64).err().unwrap_or(0)
}

/// Returns the number of the first failed check.
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
    // The reader also enters strings as messages, and they are not valid messages.
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
    if read::by_hand(b"\x12\x02\x08\x01") != Ok(17) || read::prefix(&mut space, number) == 0 {
        return Err(10);
    }
    // `Inner.x` and `Outer.inner.x`.
    if read::path(b"\x0a\x01\x08") != Ok(7 + 13) {
        return Err(11);
    }
    // What is printed, one second, and that it was printed and is a duration.
    let printed: u64 = b"1970-01-01T00:00:01.500".iter().map(|byte| u64::from(*byte)).sum();
    if read::times("1.5s") != printed + 1 + 2 {
        return Err(12);
    }
    match write::rewritten(uninit, &mut space) {
        // Rewriting back returns the groups.
        Ok(len) if len >= 2 * uninit.len() - 4 => Ok(()),
        _ => Err(9),
    }
}
