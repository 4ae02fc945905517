//! The choice of the program: which slices a span has.

/// How spans become slices.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum SpanStyle {
    /// A slice on the thread each time a span is entered: for programs without async code.
    Sync,
    /// A slice for the whole life of each span, and one on the thread each time it is entered.
    Async,
    /// As `Sync`, until a span is entered for the second time: it goes on as `Async`, and so do later spans of its call
    /// site. The slice for its whole life then begins when it was made; or when it was entered first, if an earlier
    /// span of the call site ended that was entered once.
    #[default]
    Auto,
}
