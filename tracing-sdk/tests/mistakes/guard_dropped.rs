//! Slices that end where they begin.
#![deny(unused_must_use)]
use tracing_sdk::{Track, async_slice, categories, slice};

categories! {
    NET = "net";
}

static UPLOADS: Track = Track::named("Uploads");

fn main() {
    slice!(NET, "fetch");
    slice!(NET, "fetch", track = UPLOADS);
    async_slice!(NET, "fetch");
}
