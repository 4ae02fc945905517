//! Which prints of `ftrace/print` a session keeps: rules over the text, of which the first that matches decides.

use protos::{
    FtraceConfigPrintFilter, FtraceConfigPrintFilterRule, FtraceConfigPrintFilterRuleMatch,
};

/// The rules of a session. Without rules all prints are kept.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct PrintFilter {
    rules: Vec<Rule>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Rule {
    pattern: Pattern,
    keeps: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Pattern {
    /// The text begins with these bytes.
    Prefix(Vec<u8>),
    /// The text is a message of atrace, `KIND|PID|TEXT`, and begins so.
    Atrace { kind: Vec<u8>, prefix: Vec<u8> },
}

impl PrintFilter {
    /// The rules of a config. A rule that names no text matches each print; one that does not allow drops.
    pub(crate) fn new(filter: &FtraceConfigPrintFilter) -> Self {
        Self { rules: filter.rules.iter().map(Rule::new).collect() }
    }

    /// Are there no rules?
    pub(crate) fn is_empty(&self) -> bool {
        self.rules.is_empty()
    }

    /// Is a print with this text kept? `text` has the bytes from the begin of the text to the end of the record; it
    /// ends at the first NUL.
    pub(crate) fn keeps(&self, text: &[u8]) -> bool {
        let end = text.iter().position(|b| *b == 0).unwrap_or(text.len());
        let text = text.get(..end).unwrap_or_default();
        self.rules.iter().find(|rule| rule.pattern.matches(text)).is_none_or(|rule| rule.keeps)
    }
}

impl Rule {
    fn new(rule: &FtraceConfigPrintFilterRule) -> Self {
        let bytes = |text: &Option<String>| text.clone().unwrap_or_default().into_bytes();
        let pattern = match &rule.r#match {
            None => Pattern::Prefix(Vec::new()),
            Some(FtraceConfigPrintFilterRuleMatch::Prefix(prefix)) => {
                Pattern::Prefix(prefix.clone().into_bytes())
            }
            Some(FtraceConfigPrintFilterRuleMatch::AtraceMsg(message)) => {
                Pattern::Atrace { kind: bytes(&message.r#type), prefix: bytes(&message.prefix) }
            }
        };
        Self { pattern, keeps: rule.allow.unwrap_or(false) }
    }
}

impl Pattern {
    fn matches(&self, text: &[u8]) -> bool {
        match self {
            Self::Prefix(prefix) => text.starts_with(prefix),
            Self::Atrace { kind, prefix } => {
                text_of_atrace(text, kind).is_some_and(|text| text.starts_with(prefix))
            }
        }
    }
}

/// What follows `KIND|PID|`, whose PID may be empty.
fn text_of_atrace<'a>(text: &'a [u8], kind: &[u8]) -> Option<&'a [u8]> {
    let after = text.strip_prefix(kind)?.strip_prefix(b"|")?;
    let digits = after.iter().take_while(|b| b.is_ascii_digit()).count();
    after.get(digits..)?.strip_prefix(b"|")
}
