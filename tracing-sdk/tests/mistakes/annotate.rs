//! An argument of a type that is no annotation.
use tracing_sdk::{categories, instant};

categories! {
    NET = "net";
}

struct Request {
    id: u64,
}

fn main() {
    let request = Request { id: 5 };
    instant!(NET, "connected", request = request);
}
