//! The names that Rust code declares, with the shape of each.

/// What a name stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// A struct, an enum, a trait, a type alias or a union.
    Type,
    Variant,
    Function,
    /// A closure with a name: `let f = |x| ...`.
    Closure,
    Field,
    /// A variable: `let x`, `for x in`, and what a function takes.
    Local,
}

#[derive(Debug, PartialEq, Eq)]
pub struct Declared<'a> {
    pub shape: Shape,
    pub name: &'a str,
    /// Counted from 0.
    pub line: usize,
}

/// All names in `code`, which has no comments and strings.
pub fn declared(code: &str) -> Vec<Declared<'_>> {
    let tokens = tokens(code);
    let mut found = Vec::new();
    for (at, &(line, token)) in tokens.iter().enumerate() {
        let text = |n: usize| tokens.get(at + n).map_or("", |&(_, text)| text);
        let mut add = |shape, name| found.push(Declared { shape, name, line });
        match token {
            "fn" => {
                add(Shape::Function, text(1));
                parameters(&tokens[at + 1..], &mut found);
            }
            "for" => {
                let name = 1 + usize::from(text(1) == "mut");
                if text(name + 1) == "in" {
                    add(Shape::Local, text(name));
                }
            }
            "struct" | "union" => {
                add(Shape::Type, text(1));
                members(&tokens[at + 1..], Shape::Field, &mut found);
            }
            "enum" => {
                add(Shape::Type, text(1));
                members(&tokens[at + 1..], Shape::Variant, &mut found);
            }
            "trait" | "type" => add(Shape::Type, text(1)),
            "let" => {
                let name = 1 + usize::from(text(1) == "mut");
                let value = name + 2 + usize::from(text(name + 2) == "move");
                let is_closure = text(name + 1) == "=" && text(value) == "|";
                add(if is_closure { Shape::Closure } else { Shape::Local }, text(name));
            }
            _ => {}
        }
    }
    found
}

/// What the function in `tokens` takes: the names before a colon in its parentheses.
fn parameters<'a>(tokens: &[(usize, &'a str)], found: &mut Vec<Declared<'a>>) {
    let Some(open) = tokens.iter().position(|(_, token)| *token == "(") else { return };
    let mut depth = 0_usize;
    for (at, &(line, token)) in tokens.iter().enumerate().skip(open) {
        match token {
            "(" | "[" => depth += 1,
            ")" | "]" => depth -= 1,
            name if depth == 1 && is_word(name) => {
                let text = |n: usize| tokens.get(n).map_or("", |&(_, text)| text);
                let begins = matches!(text(at - 1), "(" | "," | "mut");
                if begins && text(at + 1) == ":" && text(at + 2) != ":" {
                    found.push(Declared { shape: Shape::Local, name, line });
                }
            }
            _ => {}
        }
        if depth == 0 {
            return;
        }
    }
}

/// The members in the braces that follow in `tokens`; none if there are no braces before the declaration ends.
fn members<'a>(tokens: &[(usize, &'a str)], shape: Shape, found: &mut Vec<Declared<'a>>) {
    let Some(open) = tokens.iter().position(|(_, t)| matches!(*t, "{" | ";" | "(")) else { return };
    if tokens[open].1 != "{" {
        return;
    }
    let mut depth = 0_usize;
    let mut begins = false;
    let mut previous = "";
    for (at, &(line, token)) in tokens.iter().enumerate().skip(open) {
        match token {
            "{" if depth == 1 && shape == Shape::Variant => {
                members(&tokens[at..], Shape::Field, found);
                depth += 1;
            }
            ">" if matches!(previous, "-" | "=") => {}
            "{" | "(" | "[" | "<" => {
                depth += 1;
                begins |= depth == 1;
            }
            "}" | ")" | "]" | ">" => {
                depth = depth.saturating_sub(1);
                if depth == 0 {
                    return;
                }
            }
            "," if depth == 1 => begins = true,
            "pub" | "#" => {}
            name if depth == 1 && begins && is_word(name) => {
                found.push(Declared { shape, name, line });
                begins = false;
            }
            _ => {}
        }
        previous = token;
    }
}

/// Words and single characters, with their lines.
fn tokens(code: &str) -> Vec<(usize, &str)> {
    let mut tokens = Vec::new();
    for (number, mut line) in code.lines().enumerate() {
        while let Some(first) = line.trim_start().chars().next() {
            line = line.trim_start();
            let len = match is_part(first) {
                true => line.find(|c| !is_part(c)).unwrap_or(line.len()),
                false => first.len_utf8(),
            };
            let (token, after) = line.split_at(len);
            tokens.push((number, token));
            line = after;
        }
    }
    tokens
}

fn is_part(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

fn is_word(token: &str) -> bool {
    token.starts_with(is_part)
}
