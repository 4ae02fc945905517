//! What a counter is made of.

#[path = "../../../tracing-sdk/src/event/counter_value.rs"]
pub mod counter_value;
