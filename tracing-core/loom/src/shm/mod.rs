//! `shm` of `abi`, all files but those that know addresses. The [`region`] is one of loom's.

#[path = "../../../abi/src/shm/chunk.rs"]
mod chunk;
#[path = "../../../abi/src/shm/fragment.rs"]
mod fragment;
#[path = "../../../abi/src/shm/header.rs"]
pub mod header;
#[path = "../../../abi/src/shm/layout.rs"]
pub mod layout;
#[path = "../../../abi/src/shm/lengths.rs"]
mod lengths;
#[path = "../../../abi/src/shm/page.rs"]
pub mod page;
#[path = "../../../abi/src/shm/present.rs"]
mod present;
#[path = "../../../abi/src/shm/reader.rs"]
mod reader;
mod region;
#[path = "../../../abi/src/shm/rights.rs"]
mod rights;
#[path = "../../../abi/src/shm/smb.rs"]
mod smb;
#[path = "../../../abi/src/shm/words.rs"]
pub mod words;

pub use self::chunk::WritableChunk;
pub use self::fragment::FRAGMENT_HEADER_BYTES;
pub use self::reader::{Leftover, SmbReader};
pub use self::region::Region;
pub use self::smb::Smb;
