//! Names of categories that are no literals.
use tracing_sdk::{cat, categories, instant};

const NAME: &str = "net";

categories! {
    NET = NAME;
}

fn main() {
    let name = "net";
    instant!(cat!(name), "connected");
}
