//! perfetto.
fn main() {}
