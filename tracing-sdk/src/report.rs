//! What the library says to the user of a program.

/// Prints a line to the standard error output, if that is open.
macro_rules! report {
    ($($line:tt)*) => {{
        use std::io::Write as _;
        let _ = writeln!(std::io::stderr(), "tracing-sdk: {}", format_args!($($line)*));
    }};
}

pub(crate) use report;
