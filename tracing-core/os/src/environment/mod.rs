//! Variables of the environment.
//!
//! A program may have more rights than the user who starts it: it is setuid or setgid, or its file has capabilities.
//! That user must not choose where its events go, so no variable counts then, as with `secure_getenv`.

use std::ffi::OsString;

use crate::sys;

/// The value of a variable; none if it is empty, or if this program has more rights than the user who started it.
#[must_use]
pub fn variable(name: &str) -> Option<OsString> {
    allowed(std::env::var_os(name)?, sys::has_more_rights())
}

fn allowed(value: OsString, has_more_rights: bool) -> Option<OsString> {
    (!value.is_empty() && !has_more_rights).then_some(value)
}

#[cfg(test)]
mod tests;
