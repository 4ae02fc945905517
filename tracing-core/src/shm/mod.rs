//! The shared-memory ABI: pages, chunks, their states, and the memory they live in.
