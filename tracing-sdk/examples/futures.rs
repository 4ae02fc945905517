//! Two futures on the threads of a runtime, without the crate `tracing`.
//!
//! ```text
//! cargo run -p tracebox-sdk --features derive,in-process --example futures -- futures.pftrace
//! ```
//!
//! The picture: the process has the tracks `get` and `page`, with a slice for the whole life of each future, and on the
//! threads of the runtime are short slices of the same names, one for each time that a future is polled. Arrows lead
//! from a whole life to its polls. Each `page` has the argument `id`, and each `get` the argument `url`. The third
//! `page` is dropped before it is ready: its slice ends with the argument `cancelled`.

use std::future::Future as _;
use std::task::{Context, Waker};
use std::time::Duration;

use tracing_sdk::session::record_to_file;
use tracing_sdk::{Traced, async_slice, categories, traced};

categories! {
    /// Everything on the wire.
    NET = "net";
}

async fn get(url: &str) -> usize {
    tokio::task::yield_now().await;
    url.len()
}

#[traced(NET, name = "page", args(id))]
async fn page(id: u64) -> usize {
    let url = format!("https://example.com/{id}");
    get(&url).traced(async_slice!(NET, "get", url = url)).await
}

async fn run() {
    let pages = [1, 2].map(|id| tokio::spawn(page(id)));
    for page in pages {
        page.await.ok();
    }
    let mut third = Box::pin(page(3));
    // Polled once, and dropped.
    let _ = third.as_mut().poll(&mut Context::from_waker(Waker::noop()));
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let path = std::env::args().nth(1).unwrap_or_else(|| "futures.pftrace".to_owned());
    let runtime = tokio::runtime::Builder::new_multi_thread().build()?;
    record_to_file(&path, &["net"], || runtime.block_on(run()))?;
    runtime.shutdown_timeout(Duration::from_secs(1));
    println!("{path} opens in https://ui.perfetto.dev");
    Ok(())
}
