//! A recording in one line.

use super::{Config, Session, SessionError};

/// Records what `work` does, and returns the trace, as the bytes of a trace file: for tests and small tools.
///
/// ```
/// # fn main() -> Result<(), tracing_sdk::session::SessionError> {
/// use tracing_sdk::{categories, instant, session};
///
/// categories! { NET = "net"; }
///
/// let trace = session::record(&["net"], || instant!(NET, "hello"))?;
/// std::fs::write(std::env::temp_dir().join("hello.pftrace"), trace).ok();
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// As [`Session::in_process`].
pub fn record(categories: &[&str], work: impl FnOnce()) -> Result<Vec<u8>, SessionError> {
    let mut session = Session::in_process(&Config::new().track_events(categories))?;
    session.start()?;
    work();
    session.stop()?;
    let mut trace = Vec::new();
    session.read_into(&mut trace)?;
    Ok(trace)
}
