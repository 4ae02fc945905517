//! A text in the place of a category, as in C++.
use tracing_sdk::instant;

fn main() {
    instant!("net", "connected");
}
