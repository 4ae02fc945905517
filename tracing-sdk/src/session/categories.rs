//! Tells the user of a session that names no category of the program: most likely one is misspelt.
//!
//! A category is known once the program has used it. So only the end of a session can tell.

use std::fmt;

use protos::{TraceConfig, TrackEventConfig};

use crate::category::{Category, rules};
use crate::on::ON;
use crate::report::report;
use crate::source::{self, registry};

/// How many names a line has.
const NAMES_MAX: usize = 8;

/// What a session wants of track events, if it names what it wants.
pub(super) fn named(config: &TraceConfig) -> Vec<TrackEventConfig> {
    let sources = config.data_sources.iter().filter_map(|source| source.config.as_ref());
    let events = sources.filter(|config| config.name.as_deref() == Some(source::NAME));
    let all: Vec<_> = events.map(|config| config.track_event_config.clone()).collect();
    let names = |config: &Option<TrackEventConfig>| {
        config.as_ref().is_some_and(|config| !config.enabled_categories.is_empty())
    };
    // One that names nothing may want everything.
    if all.iter().all(names) { all.into_iter().flatten().collect() } else { Vec::new() }
}

/// Says so on standard error if none of the configs enables a category that the program has used.
pub(super) fn tell_if_none(named: &[TrackEventConfig]) {
    if !ON || named.is_empty() {
        return;
    }
    let known = registry::known();
    let is_enabled = |category: &&Category| {
        named.iter().any(|config| rules::is_enabled(config, category.name(), category.tag_list()))
    };
    if known.iter().copied().any(|category| is_enabled(&category)) {
        return;
    }
    let patterns = named.iter().flat_map(|config| &config.enabled_categories);
    let patterns: Vec<&str> = patterns.map(String::as_str).collect();
    let mut names: Vec<&str> = known.iter().map(|category| category.name()).collect();
    // Several statics may have one name.
    names.sort_unstable();
    names.dedup();
    report!(
        "a session has recorded no track event of this program, because it wants the categories {}, and the program \
         has used {}",
        Names(&patterns),
        Used { patterns: &patterns, names: &names }
    );
}

/// A list of names.
struct Names<'a>(&'a [&'a str]);

impl fmt::Display for Names<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, name) in self.0.iter().take(NAMES_MAX).enumerate() {
            let separator = if index == 0 { "" } else { ", " };
            write!(f, "{separator}{name:?}")?;
        }
        if self.0.len() > NAMES_MAX { f.write_str(" and others") } else { Ok(()) }
    }
}

/// What the program has used: the name that is most like a pattern, or all.
struct Used<'a> {
    patterns: &'a [&'a str],
    names: &'a [&'a str],
}

impl fmt::Display for Used<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match nearest(self.patterns, self.names) {
            Some(name) => write!(f, "{name:?}"),
            None if self.names.is_empty() => f.write_str("none"),
            None => Names(self.names).fmt(f),
        }
    }
}

/// The name that differs least from a pattern, if it differs little.
pub(super) fn nearest<'a>(patterns: &[&str], names: &[&'a str]) -> Option<&'a str> {
    let pairs = patterns.iter().flat_map(|pattern| {
        let pattern = pattern.trim_end_matches('*');
        names.iter().map(move |name| (distance(pattern, name), pattern.len(), *name))
    });
    let like = pairs.filter(|(distance, len, _)| *distance <= len / 3 + 1);
    like.min_by_key(|(distance, ..)| *distance).map(|(.., name)| name)
}

/// How many bytes must be changed, put in or taken out to make `a` from `b`; two neighbours that are exchanged are two.
fn distance(a: &str, b: &str) -> usize {
    // `row[j]`: the distance of what was read of `a` to the first `j` bytes of `b`.
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.bytes().enumerate() {
        let mut diagonal = i;
        let mut left = i + 1;
        if let Some(first) = row.first_mut() {
            *first = left;
        }
        for (y, cell) in b.bytes().zip(row.iter_mut().skip(1)) {
            let above = *cell;
            left = (diagonal + usize::from(x != y)).min(above + 1).min(left + 1);
            diagonal = above;
            *cell = left;
        }
    }
    row.last().copied().unwrap_or_default()
}
