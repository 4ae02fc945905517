//! The value of a counter.

/// A value of a counter.
///
/// ```
/// use tracing_sdk::CounterValue;
///
/// assert_eq!(CounterValue::from(3_u8), CounterValue::Int(3));
/// assert_eq!(CounterValue::from(0.5), CounterValue::Double(0.5));
/// // Above `i64::MAX`, rounded to the 53 bits of an `f64`.
/// assert_eq!(CounterValue::from(u64::MAX), CounterValue::Double(18_446_744_073_709_551_616.0));
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum CounterValue {
    /// A whole number.
    Int(i64),
    /// A number with a fraction, or a whole one above `i64::MAX`.
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
    Int(i64): u8 u16 u32 i8 i16 i32 i64 isize;
    Double(f64): f32 f64;
}

impl From<u64> for CounterValue {
    fn from(value: u64) -> Self {
        i64::try_from(value).map_or(Self::Double(value as f64), Self::Int)
    }
}

impl From<usize> for CounterValue {
    fn from(value: usize) -> Self {
        Self::from(value as u64)
    }
}
