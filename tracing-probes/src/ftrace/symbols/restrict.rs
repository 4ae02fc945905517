//! `kptr_restrict`: while it is above 0, `/proc/kallsyms` may show zeros for addresses. It is lowered while the file is
//! read, and put back on every way out, also by a panic; and by the next start, if this process is killed.

use std::io;

/// The setting, and what it does.
pub(crate) trait Restrict {
    /// Whether the operator lets it be lowered.
    fn may_lower(&self) -> bool;

    /// Whether `kallsyms` shows zeros alone.
    ///
    /// # Errors
    /// It cannot be read.
    fn is_hidden(&self) -> io::Result<bool>;

    /// The setting.
    ///
    /// # Errors
    /// It cannot be read, or is no number.
    fn level(&self) -> io::Result<u32>;

    /// Changes the setting.
    ///
    /// # Errors
    /// The kernel's.
    fn set_level(&self, level: u32) -> io::Result<()>;

    /// Keeps the setting where the next start finds it. `None`: it is as it was found.
    ///
    /// # Errors
    /// It cannot be kept: if this process is killed, nobody puts it back.
    fn remember(&self, found: Option<u32>) -> io::Result<()>;
}

/// Addresses show while this lives.
pub(crate) struct Revealed<'a> {
    restrict: &'a dyn Restrict,
    found: Option<u32>,
}

impl<'a> Revealed<'a> {
    /// Lowers the setting step by step until addresses show.
    ///
    /// # Errors
    /// What is in the way, and what to do. The setting is as it was, then.
    pub(crate) fn new(restrict: &'a dyn Restrict) -> Result<Self, String> {
        let failed = |error: io::Error| {
            format!(
                "kernel symbols: /proc/kallsyms hides addresses: {error}; run as root, or see `tracebox doctor`"
            )
        };
        let mut revealed = Self { restrict, found: None };
        if !restrict.is_hidden().map_err(failed)? {
            return Ok(revealed);
        }
        if !restrict.may_lower() {
            return Err(
                "kernel symbols: /proc/kallsyms hides addresses, and kptr_restrict stays as it is \
                 (--keep-kptr-restrict)"
                    .to_owned(),
            );
        }
        let level = restrict.level().map_err(failed)?;
        if level > 0 {
            restrict.remember(Some(level)).map_err(failed)?;
            revealed.found = Some(level);
        }
        for lower in (0..level).rev() {
            if let Err(error) = restrict.set_level(lower) {
                if lower.saturating_add(1) == level {
                    // It is as it was found: nobody has to put anything back.
                    revealed.found = None;
                    _ = restrict.remember(None);
                }
                return Err(failed(error));
            }
            if !restrict.is_hidden().map_err(failed)? {
                return Ok(revealed);
            }
        }
        let why = io::Error::other(format!("kptr_restrict is {level}, and no lower value helps"));
        Err(failed(why))
    }
}

impl Drop for Revealed<'_> {
    fn drop(&mut self) {
        if let Some(found) = self.found {
            // If the kernel refuses what it had, the next start tries again.
            if self.restrict.set_level(found).is_ok() {
                _ = self.restrict.remember(None);
            }
        }
    }
}
