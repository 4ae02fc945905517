//! The alphabet: varints, tags, zig-zag. Pure arithmetic, `core` only.

pub mod tag;
pub mod varint;
pub mod zigzag;

#[cfg(test)]
mod tests;
