//! Names that are no literals.
use tracing_sdk::{async_slice, categories, counter, instant, slice, state};

categories! {
    NET = "net";
}

fn main() {
    let name = "fetch";
    instant!(NET, name);
    let _slice = slice!(NET, format!("fetch {name}"), size = 5);
    counter!(NET, name, 5);
    state!(NET, name, "busy");
    let _future = async_slice!(NET, name);
}
