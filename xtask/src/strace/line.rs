//! One line of a log of `strace -ff -y`.

/// A system call.
#[derive(Debug, PartialEq, Eq)]
pub struct Call<'a> {
    pub name: &'a str,
    /// Its arguments as they are printed. A descriptor has its file behind it: `5<anon_inode:[eventfd]>`.
    pub arguments: Vec<&'a str>,
    /// What it returned, as it is printed.
    pub result: &'a str,
}

/// What a line tells.
#[derive(Debug, PartialEq, Eq)]
pub enum Line<'a> {
    Call(Call<'a>),
    /// A signal, the end of the thread, or a call in which it was killed.
    Other,
}

/// The parts of a line; none if it has another form.
pub fn parse(line: &str) -> Option<Line<'_>> {
    // A thread that was killed made a call that nobody knows.
    let others = ["+++ ", "--- ", "???("];
    if others.iter().any(|other| line.starts_with(other)) || line.ends_with("<unfinished ...>") {
        return Some(Line::Other);
    }
    let (name, rest) = line.split_once('(')?;
    let is_name = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
    if name.is_empty() || !name.chars().all(is_name) {
        return None;
    }
    let (arguments, behind) = arguments(rest)?;
    let result = behind.trim_start().strip_prefix('=')?.trim();
    Some(Line::Call(Call { name, arguments, result }))
}

/// The arguments up to the closing parenthesis, and what is behind that.
fn arguments(text: &str) -> Option<(Vec<&str>, &str)> {
    // Which brackets are open.
    let mut open = Vec::new();
    let (mut found, mut from, mut last) = (Vec::new(), 0, ' ');
    let (mut is_text, mut is_escaped) = (false, false);
    for (at, c) in text.char_indices() {
        if is_text {
            (is_text, is_escaped) = (is_escaped || c != '"', !is_escaped && c == '\\');
            continue;
        }
        match c {
            '>' if open.last() == Some(&'<') => drop(open.pop()),
            // A name of a file may have all of the others.
            _ if open.last() == Some(&'<') => {}
            '"' => is_text = true,
            '(' | '[' | '{' => open.push(c),
            // The file of a descriptor, and not a shift.
            '<' if last.is_ascii_alphanumeric() && !text[at + 1..].starts_with('<') => open.push(c),
            ')' | ']' | '}' if !open.is_empty() => drop(open.pop()),
            ')' => {
                let argument = text[from..at].trim();
                if !argument.is_empty() || !found.is_empty() {
                    found.push(argument);
                }
                return Some((found, &text[at + 1..]));
            }
            ',' if open.is_empty() => {
                found.push(text[from..at].trim());
                from = at + 1;
            }
            _ => {}
        }
        last = c;
    }
    None
}

impl<'a> Call<'a> {
    pub fn argument(&self, index: usize) -> &'a str {
        self.arguments.get(index).copied().unwrap_or_default()
    }
}

/// The file of a descriptor, such as `anon_inode:[eventfd]`.
pub fn file(descriptor: &str) -> Option<&str> {
    let (_, file) = descriptor.split_once('<')?;
    Some(file.trim_end_matches("(deleted)").trim_end_matches('>'))
}

/// Whether an argument of flags has one of these.
pub fn has_flag(argument: &str, flags: &[&str]) -> bool {
    argument.split('|').any(|word| flags.contains(&word.trim()))
}
