//! The same program as `traced.rs` and `in_process.rs`, without the SDK.

use std::hint::black_box;

fn work(id: u64) -> u64 {
    black_box(id) + 1
}

fn main() {
    let id = std::env::args().nth(1).and_then(|text| text.parse().ok()).unwrap_or(0);
    println!("{}", work(id));
}
