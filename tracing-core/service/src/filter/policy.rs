//! What a rule for strings does.

/// What a rule does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Policy {
    /// Overwrites the groups, if the expression matches the whole string.
    MatchRedactGroups,
    /// The same, for atrace lines whose payload has the right prefix.
    AtraceMatchRedactGroups,
    /// Keeps the string as it is, and ends the chain, if the expression matches the whole string.
    MatchBreak,
    /// The same, for atrace lines whose payload has the right prefix.
    AtraceMatchBreak,
    /// Overwrites the groups of every match inside an atrace line.
    AtraceRepeatedSearchRedactGroups,
}

impl Policy {
    /// The policy with a number of `TraceConfig.TraceFilter.StringFilterPolicy`; none for 0 and unknown numbers.
    #[must_use]
    pub const fn from_number(number: i32) -> Option<Self> {
        Some(match number {
            1 => Self::MatchRedactGroups,
            2 => Self::AtraceMatchRedactGroups,
            3 => Self::MatchBreak,
            4 => Self::AtraceMatchBreak,
            5 => Self::AtraceRepeatedSearchRedactGroups,
            _ => return None,
        })
    }

    pub(super) const fn is_atrace(self) -> bool {
        matches!(
            self,
            Self::AtraceMatchRedactGroups
                | Self::AtraceMatchBreak
                | Self::AtraceRepeatedSearchRedactGroups
        )
    }
}
