//! C++ protozero, built by `build.rs` into a library that is loaded at run time.

use std::ffi::{CString, c_void};

use crate::contender::{Contender, Decode, Encode, PAYLOADS};

const LIBRARY: &str = env!("PEERS_PROTOZERO");
pub const COMPILER: &str = env!("PEERS_COMPILER");

pub fn contenders() -> [Contender; 2] {
    let path = CString::new(LIBRARY).expect("a path without zeros");
    // SAFETY: the library is the one built for this program; it runs nothing when loaded but constructors
    // of its own statics.
    let library = unsafe { libc::dlopen(path.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) };
    assert!(!library.is_null(), "cannot load {LIBRARY}");
    let symbol = |name: String| -> *mut c_void {
        let name = CString::new(name).expect("a name without zeros");
        // SAFETY: `library` is loaded and never unloaded.
        let at = unsafe { libc::dlsym(library, name.as_ptr()) };
        assert!(!at.is_null(), "{LIBRARY} lacks {name:?}");
        at
    };
    let encode = |kind: &str| {
        // SAFETY: `cpp/protozero.cc` declares it so.
        PAYLOADS.map(|p| unsafe { std::mem::transmute::<_, Encode>(symbol(format!("{kind}_{p}"))) })
    };
    // SAFETY: `cpp/protozero.cc` declares it so.
    let decode = PAYLOADS
        .map(|p| unsafe { std::mem::transmute::<_, Decode>(symbol(format!("decode_{p}"))) });
    [
        Contender::new(super::REFERENCE, Some(encode("reused")), Some(decode)),
        Contender::new("protozero (C++), fresh root", Some(encode("fresh")), None),
    ]
}
