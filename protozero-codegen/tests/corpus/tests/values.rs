//! Random messages of every schema: what we write has the value and the bytes that prost wrote.

/// Types of messages, of all schemas together. There are more.
const TYPES_MIN: usize = 2500;

#[test]
fn values_survive_our_code() {
    values::check(corpus::MESSAGES, corpus::SETS, TYPES_MIN);
}
