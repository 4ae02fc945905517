//! What the library says to the user of a program.

use core::fmt;
use std::io::Write as _;

/// Prints a line to the standard error output, if that is open.
macro_rules! report {
    ($($line:tt)*) => {
        $crate::report::print(format_args!($($line)*))
    };
}

pub(crate) use report;

/// One function for all lines.
#[cold]
#[inline(never)]
pub(crate) fn print(line: fmt::Arguments<'_>) {
    let _ = writeln!(std::io::stderr(), "tracing-sdk: {line}");
}
