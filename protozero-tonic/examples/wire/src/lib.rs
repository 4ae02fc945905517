//! Code of several generators for the tests of this package.

#![deny(warnings)]

include!(concat!(env!("OUT_DIR"), "/mod.rs"));

/// Our code through another path.
pub mod again {
    pub use protozero_tonic as tonic_of_ours;
    include!(concat!(env!("OUT_DIR"), "/clients/mod.rs"));
}

/// With a limit of memory.
pub mod within {
    include!(concat!(env!("OUT_DIR"), "/within/mod.rs"));
}

/// Servers whose methods have bodies, and take an `Arc`.
pub mod stubs {
    include!(concat!(env!("OUT_DIR"), "/stubs/mod.rs"));
}

/// With the names of prost.
pub mod like_prost {
    include!(concat!(env!("OUT_DIR"), "/like_prost/mod.rs"));
}

/// The echo, by prost and tonic's own generator.
#[allow(clippy::all)]
pub mod theirs {
    include!(concat!(env!("OUT_DIR"), "/example.echo.v1.rs"));
}
