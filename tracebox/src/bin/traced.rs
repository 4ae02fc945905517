//! traced.
fn main() {}
