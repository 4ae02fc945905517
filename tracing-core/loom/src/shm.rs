//! The parts of `shm` that know no memory.

#[path = "../../src/shm/header.rs"]
pub mod header;
#[path = "../../src/shm/layout.rs"]
pub mod layout;
#[path = "../../src/shm/page.rs"]
pub mod page;
#[path = "../../src/shm/words.rs"]
pub mod words;
