//! The version of these programs.

/// What `--version` prints and the service tells about itself.
pub const VERSION: &str = concat!("Perfetto v", env!("CARGO_PKG_VERSION"), " (Rust)");
