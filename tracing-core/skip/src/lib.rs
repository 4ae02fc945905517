//! How a test tells that it cannot run on this machine, or not in full: by a line that `cargo xtask ci` repeats at its
//! end. Without it, a test that returns early looks like one that found everything right.

use std::io::Write as _;

/// Tells that `test` does not run, and why. A part of a test is named behind a comma: `name, of another user`.
///
/// # Panics
/// Stderr cannot be written to.
pub fn test(test: &str, why: &str) {
    // The harness captures what `eprintln!` writes, and does not show it where the test passes.
    std::io::stderr().write_all(line(test, why).as_bytes()).expect("stderr");
}

/// Whether this process does not run as root, so that it cannot be another user. It then tells that `test`, which needs
/// one, does not run. To be asked by a thread that is still root, if the process is.
///
/// # Panics
/// Stderr cannot be written to.
pub fn without_root(test: &str) -> bool {
    let is_root = rustix::process::geteuid().is_root();
    if !is_root {
        self::test(test, "only root can be another user");
    }
    !is_root
}

/// A line of its own, whatever other tests write meanwhile.
fn line(test: &str, why: &str) -> String {
    format!("\nSKIPPED {test}: {why}\n")
}

#[cfg(test)]
mod tests;
