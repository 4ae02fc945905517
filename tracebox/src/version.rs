//! The version of these programs.

/// The version that `--version` prints and the service reports.
pub const VERSION: &str = concat!("Perfetto v", env!("CARGO_PKG_VERSION"), " (Rust)");
