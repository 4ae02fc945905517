//! Values of the wrong type for keys with a meaning, and an option that no counter has.
use tracing_sdk::{Unit, categories, counter, instant};

categories! {
    NET = "net";
}

fn main() {
    instant!(NET, "connected", track = "Uploads");
    instant!(NET, "connected", flow = 7_u64);
    instant!(NET, "connected", ts = "now");
    counter!(NET, "queue", 5, units = Unit::Count);
}
