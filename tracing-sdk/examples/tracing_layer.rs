//! Two requests at once, recorded through the crate `tracing` by a service inside the program:
//!
//! ```text
//! cargo run -p tracebox-sdk --features in-process,tracing --example tracing_layer -- tracing.pftrace
//! ```
//!
//! The picture: each request has an instant `accepted` on the thread that runs it, also as a line of the log. Its span is
//! entered three times: for two polls, and when the future is dropped. Each time is a slice `request` on a thread. From
//! the second time on the span also has a slice for its whole life, below the track `tracing spans`, and arrows lead from
//! it to the others. The process has a counter `answered`.

use tracing::instrument::Instrument as _;
use tracing_sdk::session::record;
use tracing_subscriber::prelude::*;

async fn request(id: u64) {
    tracing::info!(id, "accepted");
    tokio::task::yield_now().await;
    tracing::info!(counter.answered = id);
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    tracing_subscriber::registry().with(tracing_sdk::layer::layer()).init();
    let runtime = tokio::runtime::Builder::new_multi_thread().build()?;
    let trace = record(&["tracing_layer"], || {
        runtime.block_on(async {
            let spawn =
                |id| tokio::spawn(request(id).instrument(tracing::info_span!("request", id)));
            for task in [1, 2].map(spawn) {
                task.await.ok();
            }
        });
    })?;
    let path = std::env::args().nth(1).unwrap_or_else(|| "tracing.pftrace".to_owned());
    std::fs::write(&path, trace)?;
    println!("{path} opens in https://ui.perfetto.dev");
    Ok(())
}
