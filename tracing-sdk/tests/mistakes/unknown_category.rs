//! No category of this name is declared.
use tracing_sdk::instant;

fn main() {
    instant!(NET, "connected");
}
