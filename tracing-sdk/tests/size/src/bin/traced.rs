//! A program that `traced` records.

use std::hint::black_box;

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
    tracing_sdk::init().expect("a producer");
    let id = std::env::args().nth(1).and_then(|text| text.parse().ok()).unwrap_or(0);
    println!("{}", work(id));
}
