//! Values of counters, and their differences, which are written for an incremental counter.

/// A value of a counter.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum CounterValue {
    /// An integer.
    Int(i64),
    /// A real number.
    Double(f64),
}

impl CounterValue {
    /// Where an incremental counter begins.
    pub(super) const ZERO: Self = Self::Int(0);

    /// The difference to `other`: an integer if both are, and it has 64 bits.
    pub(super) fn minus(self, other: Self) -> Self {
        if let (Self::Int(minuend), Self::Int(subtrahend)) = (self, other)
            && let Some(difference) = minuend.checked_sub(subtrahend)
        {
            return Self::Int(difference);
        }
        Self::Double(self.as_f64() - other.as_f64())
    }

    /// The sum that a reader has after `difference`. Of real numbers it is rounded, so that it is not always the value
    /// from which the difference comes.
    pub(super) fn after(self, difference: Self) -> Self {
        if let (Self::Int(sum), Self::Int(difference)) = (self, difference)
            && let Some(sum) = sum.checked_add(difference)
        {
            return Self::Int(sum);
        }
        Self::Double(self.as_f64() + difference.as_f64())
    }

    const fn as_f64(self) -> f64 {
        match self {
            Self::Int(value) => value as f64,
            Self::Double(value) => value,
        }
    }
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
