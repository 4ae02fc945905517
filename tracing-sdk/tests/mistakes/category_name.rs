//! Names that configs cannot select.
use tracing_sdk::categories;

categories! {
    SPACE = "net work";
    EMPTY = "";
}

fn main() {}
