//! The words of light mode: which of them mean something.

use tracing_probes::ftrace_categories;

use crate::failure::Failure;
use crate::spelling::near;

#[cfg(test)]
mod tests;

/// Words with another meaning than that of a category.
const OTHERS: [&str; 2] = ["hyp", "hypervisor"];

/// Checks words: categories, and names of events with a slash, which the kernel may have or not.
///
/// # Errors
/// The first word that is no name of an event, or no category, with those that are.
pub(super) fn check(words: &[String]) -> Result<(), Failure> {
    if let Some(word) = words.iter().find(|word| word.contains('/') && !is_event(word)) {
        return Err(Failure::new(format_args!(
            "{word:?} is no event: the name of an event is GROUP/NAME, as in sched/sched_switch"
        )));
    }
    let categories = ftrace_categories();
    let names: Vec<&str> = categories.iter().map(|category| category.name).collect();
    let is_known = |word: &str| names.contains(&word) || OTHERS.contains(&word);
    let Some(word) = words.iter().find(|word| !word.contains('/') && !is_known(word)) else {
        return Ok(());
    };
    let event =
        categories.iter().flat_map(|category| &category.events).find(|(_, name)| name == word);
    let hint = match (event, &near(word, names.iter().copied())[..]) {
        (Some((group, name)), _) => format!("; the event is {group}/{name}."),
        (None, []) => ".".to_owned(),
        (None, near) => format!("; did you mean {}?", near.join(" or ")),
    };
    Err(Failure::new(format_args!(
        "{word:?} is no category of events{hint} Categories: {}. A word with a slash is an event, as in \
         sched/sched_switch",
        names.join(", ")
    )))
}

fn is_event(word: &str) -> bool {
    let parts = word.split_once('/');
    parts.is_some_and(|(group, name)| !group.is_empty() && !name.is_empty() && !name.contains('/'))
}
