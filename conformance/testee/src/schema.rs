//! What `build.rs` made of the runner's `.proto` files: one module each, since they share names.
#![allow(
    dead_code,
    missing_docs,
    non_camel_case_types,
    non_snake_case,
    non_upper_case_globals,
    unused_imports
)]

include!(concat!(env!("OUT_DIR"), "/schema.rs"));
