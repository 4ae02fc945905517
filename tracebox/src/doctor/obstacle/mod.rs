//! Whether events of the kernel can be recorded now: what recorders ask before they begin.

use super::facts::{Process, Records, TRACEFS, Tracefs};
use super::gather;

/// Why events of the kernel cannot be recorded now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Obstacle {
    /// The kernel or its rights: nothing changes that while a program runs.
    Rights(String),
    /// A recording of one of our programs, which a second one would disturb.
    InUse(String),
    /// The settings of another program, which records or has left them.
    Foreign(String),
}

impl Obstacle {
    /// The reason, and what to do.
    #[must_use]
    pub fn text(&self) -> &str {
        match self {
            Self::Rights(text) | Self::InUse(text) | Self::Foreign(text) => text,
        }
    }
}

/// Looks at tracefs. `None`: nothing is in the way. Changes nothing, and does not wait longer than a few seconds.
#[must_use]
pub fn ftrace_obstacle() -> Option<Obstacle> {
    match gather::tracefs() {
        Some(tracefs) => obstacle(&tracefs),
        None => {
            Some(Obstacle::Rights("tracefs does not answer (see `tracebox doctor`)".to_owned()))
        }
    }
}

/// The command that mounts tracefs.
pub(super) fn mount() -> String {
    format!("sudo mount -t tracefs tracefs {TRACEFS}")
}

/// The command that makes it writable.
pub(super) fn remount(path: &str) -> String {
    format!("sudo mount -o remount,rw {path}")
}

fn obstacle(tracefs: &Tracefs) -> Option<Obstacle> {
    let advice = "use sudo, or see `tracebox doctor`";
    let Some(path) = &tracefs.path else {
        let text = match tracefs.is_in_kernel {
            true => format!("tracefs is not mounted; `{}` mounts it", mount()),
            false => "this kernel, or this container, has no tracefs".to_owned(),
        };
        return Some(Obstacle::Rights(text));
    };
    if tracefs.is_read_only {
        let text = format!(
            "tracefs is mounted read-only; `{}` changes that, if this is no container",
            remount(path)
        );
        return Some(Obstacle::Rights(text));
    }
    if !tracefs.closed.is_empty() {
        return Some(Obstacle::Rights(format!("this user has no rights to {path}; {advice}")));
    }
    let state = tracefs.state.as_ref()?;
    let is_idle = state.enabled_count == 0 && matches!(state.tracer.as_str(), "" | "nop");
    if is_idle {
        return None;
    }
    Some(match &tracefs.records {
        Records::Seen { holder: Some(Process { pid, name, .. }), .. } => Obstacle::InUse(format!(
            "{name} (pid {pid}) records them now; end that first, or see `tracebox doctor`"
        )),
        // What a recording has left that was killed: the next one puts it back before it begins.
        Records::Seen { files, .. } if !files.is_empty() => return None,
        _ => {
            Obstacle::Foreign("another program records them now; see `tracebox doctor`".to_owned())
        }
    })
}

#[cfg(test)]
mod tests;
