//! The value of a counter.

/// A value of a counter.
///
/// ```
/// use tracing_sdk::CounterValue;
///
/// assert_eq!(CounterValue::from(3_u8), CounterValue::Int(3));
/// assert_eq!(CounterValue::from(0.5), CounterValue::Double(0.5));
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum CounterValue {
    /// A whole number.
    Int(i64),
    /// A number with a fraction.
    Double(f64),
}

macro_rules! counter_values {
    ($($variant:ident($as:ty): $($type:ty)*;)*) => {$($(
        impl From<$type> for CounterValue {
            fn from(value: $type) -> Self {
                Self::$variant(value as $as)
            }
        }
    )*)*};
}

counter_values! {
    Int(i64): u8 u16 u32 u64 usize i8 i16 i32 i64 isize;
    Double(f64): f32 f64;
}
