//! Which events a timeline shows.

use super::labels::Label;
use super::pattern::Pattern;

/// Which events are shown: those that fit one pattern of each list that is not empty.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Filter {
    /// Name or id of the process.
    pub processes: Vec<Pattern>,
    /// Name or id of the thread.
    pub threads: Vec<Pattern>,
    /// Name of the track or of one above it, the names joined by ` / `, or the track's uuid. A name may have the number
    /// that lines show where several tracks of one parent have it, such as `job #2`.
    pub tracks: Vec<Pattern>,
    /// One of its categories.
    pub categories: Vec<Pattern>,
    /// Its name. For a value, that of its counter; for the end of a slice, that of the slice.
    pub names: Vec<Pattern>,
    /// Not before this time in ns, which counts from the first event unless the times shown are absolute.
    pub from_ns: u64,
    /// Not after this time.
    pub to_ns: Option<u64>,
}

impl Filter {
    pub(super) fn is_for_tracks(&self) -> bool {
        !(self.processes.is_empty() && self.threads.is_empty() && self.tracks.is_empty())
    }

    pub(super) fn track_fits(&self, label: &Label, uuid: u64) -> bool {
        let process = |pattern: &Pattern| {
            label.process.as_ref().is_some_and(|process| {
                let name = process.name.as_deref();
                name.is_some_and(|name| pattern.matches(name)) || pattern.is_number(process.id)
            })
        };
        let thread = |pattern: &Pattern| {
            label.thread.as_ref().is_some_and(|thread| {
                let name = thread.name.as_deref();
                name.is_some_and(|name| pattern.matches(name)) || pattern.is_number(thread.id)
            })
        };
        let track = |pattern: &Pattern| {
            let process = label.process.as_ref().and_then(|process| process.name.as_ref());
            let thread = label.thread.as_ref().and_then(|thread| thread.name.as_ref());
            let mut names = process.into_iter().chain(thread).chain(&label.path);
            let fits_numbered = || {
                let numbered: Vec<_> = label.numbered_path().collect();
                numbered.iter().any(|name| pattern.matches(name))
                    || pattern.matches(&numbered.join(" / "))
            };
            names.any(|name| pattern.matches(name))
                || pattern.is_number(uuid)
                || (label.path.len() > 1 && pattern.matches(&label.path.join(" / ")))
                || (label.has_numbers() && fits_numbered())
        };
        let fits = |patterns: &[Pattern], fits: &dyn Fn(&Pattern) -> bool| {
            patterns.is_empty() || patterns.iter().any(fits)
        };
        fits(&self.processes, &process)
            && fits(&self.threads, &thread)
            && fits(&self.tracks, &track)
    }

    pub(super) fn names_fit<'n>(
        &self,
        name: Option<&str>,
        mut categories: impl Iterator<Item = impl AsRef<str> + 'n>,
    ) -> bool {
        let name_fits = self.names.is_empty()
            || name.is_some_and(|name| self.names.iter().any(|pattern| pattern.matches(name)));
        name_fits
            && (self.categories.is_empty()
                || categories.any(|category| {
                    self.categories.iter().any(|pattern| pattern.matches(category.as_ref()))
                }))
    }
}
