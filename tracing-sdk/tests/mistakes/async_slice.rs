//! Arguments that the slice of a future does not have.
use tracing_sdk::{Track, async_slice, categories, traced};

categories! {
    NET = "net";
}

static UPLOADS: Track<'_> = Track::named("Uploads");

#[traced(NET, args(track = UPLOADS))]
async fn upload() {}

fn main() {
    let _guard = async_slice!(NET, "GET", track = UPLOADS);
    let _guard = async_slice!(NET, "GET", port = 80, track = UPLOADS);
    let _guard = async_slice!(NET, "GET", port = 80, in || 5);
    drop(upload());
}
