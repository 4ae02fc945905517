//! A state that is a counter.
use tracing_sdk::{categories, state};

categories! {
    GPU = "gpu";
}

fn main() {
    state!(GPU, "power", 5);
}
