//! What was measured, and whether it is what was aimed at.

/// An aim.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Must {
    /// None: the row explains others.
    Anything,
    /// At most so many times what C++ has in this run.
    TimesTheirs(f64),
    AtMost(f64),
    AtLeast(f64),
}

/// A line of the table: `| what | ours | C++ | ratio | must | reached |`.
pub fn row(what: &str, ours: f64, theirs: f64, must: Must) -> String {
    let ratio = if theirs > 0.0 { format!("{:.2}", ours / theirs) } else { String::new() };
    let (aim, is_reached) = match must {
        Must::Anything => (String::new(), None),
        Must::TimesTheirs(times) => (format!("{times:.2}x"), Some(ours <= times * theirs)),
        Must::AtMost(most) => (format!("at most {most}"), Some(ours <= most)),
        Must::AtLeast(least) => (format!("at least {least}"), Some(ours >= least)),
    };
    let reached = is_reached.map_or("", |is_reached| if is_reached { "yes" } else { "**no**" });
    format!("| {what} | {ours:.3} | {theirs:.3} | {ratio} | {aim} | {reached} |\n")
}

#[cfg(test)]
mod tests;
