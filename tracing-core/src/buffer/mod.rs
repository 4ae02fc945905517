//! Central buffers: a ring of chunks per session buffer.
