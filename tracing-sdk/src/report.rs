//! What the library says to the user of a program.

use core::fmt;
use std::io::Write as _;
use std::sync::OnceLock;

use crate::inside;

/// Tells a line: see [`print()`].
macro_rules! report {
    ($($line:tt)*) => {
        $crate::report::print(format_args!($($line)*))
    };
}

pub(crate) use report;

type Take = Box<dyn Fn(fmt::Arguments<'_>) + Send + Sync>;

static TAKE: OnceLock<Take> = OnceLock::new();

/// Gives what the library tells of mistakes and failures to `take`, a line each, in place of the standard error output.
/// The first call decides.
///
/// ```
/// let (send, lines) = std::sync::mpsc::channel();
/// tracing_sdk::on_report(move |line| {
///     let _ = send.send(line.to_string());
/// });
/// std::thread::spawn(move || {
///     for line in lines {
///         println!("in the log of the program: {line}");
///     }
/// });
/// ```
///
/// `take` is called on any thread, maybe under a lock of the library. So it must not call the library, nor record an
/// event: give the line to another thread. A panic of it is ignored.
pub fn on_report(take: impl Fn(fmt::Arguments<'_>) + Send + Sync + 'static) {
    let _ = TAKE.set(Box::new(take));
}

/// Gives a line to the program, or prints it to the standard error output, if that is open. One function for all lines.
#[cold]
#[inline(never)]
pub(crate) fn print(line: fmt::Arguments<'_>) {
    match TAKE.get() {
        Some(take) => drop(inside::catch(|| take(line))),
        None => {
            let _ = writeln!(std::io::stderr(), "tracing-sdk: {line}");
        }
    }
}
