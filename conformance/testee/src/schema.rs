//! What `build.rs` made of the runner's `.proto` files: one module each, since they share names.
//! No lint is allowed here: what is generated draws no warning in a program of anybody.

include!(concat!(env!("OUT_DIR"), "/schema.rs"));
