//! The same program as `traced.rs`, without call sites.

use std::hint::black_box;

#[derive(Clone, Copy)]
struct Job {
    id: u64,
}

fn parse(text: &str) -> Option<u64> {
    text.parse().ok()
}

#[inline(never)]
fn work(job: Job) -> Option<u64> {
    let sum = black_box(job.id) + 1;
    Some(sum)
}

fn main() {
    let id = std::env::args().nth(1).and_then(|text| parse(&text)).unwrap_or(0);
    println!("{:?}", work(Job { id }));
}
