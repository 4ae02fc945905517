//! The parts of `shm` that know no memory.

#[path = "../../../src/shm/bounds.rs"]
pub mod bounds;
#[path = "../../../src/shm/fragment.rs"]
pub mod fragment;
#[path = "../../../src/shm/header.rs"]
pub mod header;
#[path = "../../../src/shm/layout.rs"]
pub mod layout;
#[path = "../../../src/shm/lengths.rs"]
pub mod lengths;
#[path = "../../../src/shm/page.rs"]
pub mod page;
#[path = "../../../src/shm/words.rs"]
pub mod words;
