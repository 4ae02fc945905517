//! Random messages of the largest schemas: what we write has the value and the bytes that prost wrote.

/// Types of messages, of both schemas together. There are more.
const TYPES_MIN: usize = 2000;

#[test]
fn values_survive_our_code() {
    values::check(large::MESSAGES, large::SETS, TYPES_MIN);
}
