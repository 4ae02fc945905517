//! A program that records itself.

use std::hint::black_box;

use tracing_sdk::session::record;
use tracing_sdk::{categories, counter, instant, slice};

categories! {
    WORK = "work";
}

fn work(id: u64) -> u64 {
    let _slice = slice!(WORK, "work", id = id, text = "of a request");
    instant!(WORK, "begun");
    counter!(WORK, "requests", id);
    black_box(id) + 1
}

fn main() {
    let id = std::env::args().nth(1).and_then(|text| text.parse().ok()).unwrap_or(0);
    let trace = record(&["work"], || println!("{}", work(id))).expect("a recording");
    println!("{} bytes", trace.len());
}
