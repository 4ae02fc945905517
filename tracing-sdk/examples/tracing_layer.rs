//! Two requests at once, recorded by a service inside the program: `cargo run -p tracing-sdk --features
//! in-process,tracing --example tracing_layer`. Open `tracing.pftrace` with <https://ui.perfetto.dev>.

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
    std::fs::write("tracing.pftrace", trace)?;
    Ok(())
}
