//! The examples of embedding, run as they are.

#![allow(dead_code, missing_docs, reason = "whole programs as modules")]

#[path = "../examples/custom_transport.rs"]
mod custom_transport;
#[path = "../examples/embedded.rs"]
mod embedded;

#[test]
fn one_thread_has_all_of_it() {
    embedded::main().unwrap();
}

#[test]
fn an_ipc_of_ones_own_carries_a_recording() {
    custom_transport::main().unwrap();
}
