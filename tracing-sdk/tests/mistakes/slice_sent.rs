//! The slice of a thread on another thread, or in a task that may move to one.
use tracing_sdk::{Slice, categories, slice};

categories! {
    NET = "net";
}

async fn answer() {}

async fn fetch() {
    let _slice = slice!(NET, "fetch");
    answer().await;
}

fn spawn_task(_: impl Send) {}

fn drop_later(slice: Slice) {
    std::thread::spawn(move || drop(slice));
}

fn main() {
    drop_later(slice!(NET, "fetch"));
    spawn_task(fetch());
}
