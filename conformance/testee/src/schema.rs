//! Code that `build.rs` generated for the runner's `.proto` files: one module each, because they use the same names. No
//! lint is disabled here, because generated code must not cause warnings in any program.

include!(concat!(env!("OUT_DIR"), "/schema.rs"));
