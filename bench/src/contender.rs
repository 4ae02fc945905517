//! A library that encodes and decodes, as C functions: all are called in the same way, and none is inlined into the
//! loop that measures it.

use crate::input::Input;

/// Encodes into `len` bytes at the pointer and returns how many it wrote.
pub type Encode = unsafe extern "C" fn(*const Input, *mut u8, usize) -> usize;
/// Decodes and adds up all fields, so that none can be left out.
pub type Decode = unsafe extern "C" fn(*const u8, usize) -> u64;

pub const PAYLOADS: [&str; 4] = ["simple", "nested", "packet", "commit"];

pub struct Contender {
    pub name: String,
    pub encode: Option<[Encode; 4]>,
    pub decode: Option<[Decode; 4]>,
}

impl Contender {
    pub fn new(name: &str, encode: Option<[Encode; 4]>, decode: Option<[Decode; 4]>) -> Self {
        Self { name: name.to_owned(), encode, decode }
    }
}

/// The caller's buffer.
///
/// # Safety
/// As for [`Encode`]: `len` bytes at `to` are writable and not used elsewhere.
#[inline(always)]
pub unsafe fn output<'a>(to: *mut u8, len: usize) -> &'a mut [u8] {
    // SAFETY: promised by the caller.
    unsafe { std::slice::from_raw_parts_mut(to, len) }
}

/// The caller's message.
///
/// # Safety
/// As for [`Decode`]: `len` bytes at `from` are readable and do not change.
#[inline(always)]
pub unsafe fn message<'a>(from: *const u8, len: usize) -> &'a [u8] {
    // SAFETY: promised by the caller.
    unsafe { std::slice::from_raw_parts(from, len) }
}

/// `ENCODE`: four functions of `&Input, &mut [u8] -> usize` as [`Encode`]s.
#[macro_export]
macro_rules! encoders {
    ($simple:expr, $nested:expr, $packet:expr, $commit:expr) => {
        pub const ENCODE: [$crate::contender::Encode; 4] = [
    $crate::encoders!(@one $simple),
    $crate::encoders!(@one $nested),
    $crate::encoders!(@one $packet),
    $crate::encoders!(@one $commit),
        ];
    };
    (@one $encode:expr) => {{
        unsafe extern "C" fn call(
            i: *const $crate::input::Input,
            to: *mut u8,
            len: usize,
        ) -> usize {
            // SAFETY: the timing loop passes a reference.
            let i = unsafe { &*i };
            // SAFETY: it passes a buffer of its own.
            $encode(i, unsafe { $crate::contender::output(to, len) })
        }
        call
    }};
}

/// `DECODE`: four functions of `&[u8] -> u64` as [`Decode`]s.
#[macro_export]
macro_rules! decoders {
    ($simple:expr, $nested:expr, $packet:expr, $commit:expr) => {
        pub const DECODE: [$crate::contender::Decode; 4] = [
    $crate::decoders!(@one $simple),
    $crate::decoders!(@one $nested),
    $crate::decoders!(@one $packet),
    $crate::decoders!(@one $commit),
        ];
    };
    (@one $decode:expr) => {{
        unsafe extern "C" fn call(from: *const u8, len: usize) -> u64 {
            // SAFETY: the timing loop passes a message that outlives the call.
            $decode(unsafe { $crate::contender::message(from, len) })
        }
        call
    }};
}
