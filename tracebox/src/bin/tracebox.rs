//! tracebox.
fn main() {}
