//! Into the messages and out of them.

use super::*;

#[test]
fn values_go_around() {
    assert_eq!(i64::from(Int64Value::from(-5)), -5);
    assert_eq!(String::from(StringValue::from("x")), "x");
    assert_eq!(Vec::from(BytesValue::from(&b"\0"[..])), b"\0");
    assert_eq!(Empty::from(()), Empty::default());
}
