//! Messages around one value, and the empty message.

use alloc::string::String;
use alloc::vec::Vec;

use crate::google::protobuf::{
    BoolValue, BytesValue, DoubleValue, Empty, FloatValue, Int32Value, Int64Value, StringValue,
    UInt32Value, UInt64Value,
};

macro_rules! wrappers {
    ($($name:ident($type:ty),)*) => {$(
        impl From<$type> for $name {
            fn from(value: $type) -> Self {
                Self { value, ..Self::default() }
            }
        }

        impl From<$name> for $type {
            fn from(wrapper: $name) -> Self {
                wrapper.value
            }
        }
    )*};
}

wrappers! {
    BoolValue(bool), BytesValue(Vec<u8>), DoubleValue(f64), FloatValue(f32), Int32Value(i32), Int64Value(i64),
    StringValue(String), UInt32Value(u32), UInt64Value(u64),
}

impl From<&str> for StringValue {
    fn from(value: &str) -> Self {
        String::from(value).into()
    }
}

impl From<&[u8]> for BytesValue {
    fn from(value: &[u8]) -> Self {
        value.to_vec().into()
    }
}

impl From<()> for Empty {
    fn from((): ()) -> Self {
        Self::default()
    }
}

impl From<Empty> for () {
    fn from(_: Empty) {}
}

#[cfg(test)]
mod tests;
