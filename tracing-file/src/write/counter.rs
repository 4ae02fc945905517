//! Values of counters.

/// A value of a counter.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum CounterValue {
    /// An integer.
    Int(i64),
    /// A real number.
    Double(f64),
}

impl From<i64> for CounterValue {
    fn from(value: i64) -> Self {
        Self::Int(value)
    }
}

impl From<i32> for CounterValue {
    fn from(value: i32) -> Self {
        Self::Int(value.into())
    }
}

impl From<u32> for CounterValue {
    fn from(value: u32) -> Self {
        Self::Int(value.into())
    }
}

impl From<f64> for CounterValue {
    fn from(value: f64) -> Self {
        Self::Double(value)
    }
}
