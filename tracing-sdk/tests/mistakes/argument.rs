//! Arguments that are not of the form `key = value`, and events without a name.
use tracing_sdk::{categories, counter, instant, slice};

categories! {
    NET = "net";
}

fn main() {
    let url = "https://example.com";
    instant!(NET, "connected", url);
    instant!(NET, "connected", url: url);
    instant!(NET);
    let _slice = slice!(NET);
    counter!(NET, "queue");
    slice!(NET, "read", in || 1, url = url);
    instant!(NET, "connected", ts = std::time::Duration::ZERO);
    tracing_sdk::end!(_slice, track = tracing_sdk::Track::named("Uploads"));
}

fn read() {
    tracing_sdk::function!(NET, in || 1);
}
