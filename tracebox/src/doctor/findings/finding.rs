//! A finding.

/// What was found out about one thing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::doctor) struct Finding {
    pub(in crate::doctor) check: &'static str,
    pub(in crate::doctor) status: Status,
    /// A sentence without a full stop.
    pub(in crate::doctor) text: String,
    pub(in crate::doctor) remedy: Option<Remedy>,
}

/// How something is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::doctor) enum Status {
    Works,
    /// It is not there, and `tracebox` alone does not need it.
    Absent,
    /// This user may not see it, or something else is in the way of looking.
    Unknown,
    /// Something cannot be recorded.
    Limited,
    /// Something that is there does not do what it should.
    Broken,
}

impl Status {
    pub(in crate::doctor) fn word(self) -> &'static str {
        match self {
            Self::Works => "works",
            Self::Absent => "absent",
            Self::Unknown => "unknown",
            Self::Limited => "limited",
            Self::Broken => "broken",
        }
    }

    /// Does it make the exit code 1?
    pub(in crate::doctor) fn is_bad(self) -> bool {
        matches!(self, Self::Limited | Self::Broken)
    }
}

/// What mends it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::doctor) struct Remedy {
    /// A command for a shell.
    pub(in crate::doctor) command: String,
    /// What the command does.
    pub(in crate::doctor) effect: &'static str,
}

impl Finding {
    pub(super) fn new(check: &'static str, status: Status, text: impl Into<String>) -> Self {
        Self { check, status, text: text.into(), remedy: None }
    }

    pub(super) fn mend(self, command: impl Into<String>, effect: &'static str) -> Self {
        Self { remedy: Some(Remedy { command: command.into(), effect }), ..self }
    }

    /// Of a part that did not answer in time.
    pub(super) fn silent(check: &'static str, what: &str) -> Self {
        Self::new(check, Status::Broken, format!("{what}: the kernel did not answer within 2 s"))
    }
}

/// `a, b and c`.
pub(super) fn list(names: &[impl AsRef<str>]) -> String {
    let names: Vec<&str> = names.iter().map(AsRef::as_ref).collect();
    match names.split_last() {
        Some((last, [])) => (*last).to_owned(),
        Some((last, rest)) => format!("{} and {last}", rest.join(", ")),
        None => "none".to_owned(),
    }
}
