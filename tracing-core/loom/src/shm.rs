//! The parts of `shm` that know no memory.

#[path = "../../abi/src/shm/header.rs"]
pub mod header;
#[path = "../../abi/src/shm/layout.rs"]
pub mod layout;
#[path = "../../abi/src/shm/page.rs"]
pub mod page;
#[path = "../../abi/src/shm/words.rs"]
pub mod words;
