//! Each row of the tables in docs/coming-from.md as code that is compiled and run: see [`rows`](../src/rows.rs).

#![deny(warnings)]

/// The default.
pub mod schema {
    include!(concat!(env!("OUT_DIR"), "/mod.rs"));
}

/// Names and structs as prost has them.
pub mod like_prost {
    include!(concat!(env!("OUT_DIR"), "/like_prost/mod.rs"));
}

/// With the traits of serde by the option.
pub mod by_option {
    include!(concat!(env!("OUT_DIR"), "/by_option/mod.rs"));
}

/// With attributes.
pub mod with_serde {
    include!(concat!(env!("OUT_DIR"), "/with_serde/mod.rs"));
}

/// With most other options.
pub mod elsewhere {
    include!(concat!(env!("OUT_DIR"), "/elsewhere/mod.rs"));
}

/// What is derived in `derived`.
pub mod described {
    include!(concat!(env!("OUT_DIR"), "/described/mod.rs"));
}

#[cfg(test)]
mod check;
#[cfg(test)]
mod derived;
#[cfg(test)]
mod rows;
