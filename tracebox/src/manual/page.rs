//! One manual page: the options from clap, and texts around them.

use clap::Command;
use clap_mangen::Man;
use clap_mangen::roff::{Inline, Roff, bold, italic, roman};

use crate::version::VERSION;

/// A manual page, before it is rendered.
#[derive(Debug)]
pub(super) struct Page {
    pub name: &'static str,
    pub section: u8,
    pub command: Command,
    /// The forms of the command line; arguments are in capitals.
    pub synopsis: &'static [&'static str],
    /// The texts before the options.
    pub description: &'static [Block],
    /// The sections after the options.
    pub sections: &'static [(&'static str, &'static [Block])],
}

/// A block of text.
#[derive(Debug)]
pub(super) enum Block {
    /// A paragraph.
    Text(&'static str),
    /// Terms and their meanings.
    List(&'static [(&'static str, &'static str)]),
    /// Lines that are not reflowed.
    Code(&'static str),
}

impl Page {
    /// The page as roff.
    pub(super) fn render(self) -> String {
        let section = self.section.to_string();
        let title = self.name.to_uppercase();
        let man = Man::new(self.command.clone().name(self.name))
            .title(title)
            .section(section)
            .source(VERSION)
            .manual("Tracing");
        let mut out = Vec::new();
        // Writing into memory does not fail.
        let _ = man.render_title(&mut out);
        let _ = man.render_name_section(&mut out);
        synopsis(&mut out, self.synopsis);
        write(&mut out, "DESCRIPTION", self.description);
        let _ = man.render_options_section(&mut out);
        for (title, blocks) in self.sections {
            write(&mut out, title, blocks);
        }
        String::from_utf8_lossy(&out).into_owned()
    }
}

fn write(out: &mut Vec<u8>, title: &str, blocks: &[Block]) {
    let mut roff = Roff::new();
    roff.control("SH", [title]);
    for block in blocks {
        match block {
            Block::Text(text) => {
                roff.control("PP", []);
                roff.text(marked(text));
            }
            Block::List(items) => {
                for (term, meaning) in *items {
                    roff.control("TP", []);
                    roff.text([bold(*term)]);
                    roff.text(marked(meaning));
                }
            }
            Block::Code(code) => {
                roff.control("PP", []);
                roff.control("nf", []);
                code.lines().for_each(|line| {
                    roff.text([roman(line)]);
                });
                roff.control("fi", []);
            }
        }
    }
    let _ = roff.to_writer(out);
}

/// A line for each form.
fn synopsis(out: &mut Vec<u8>, ways: &[&str]) {
    let mut roff = Roff::new();
    roff.control("SH", ["SYNOPSIS"]);
    for (number, way) in ways.iter().enumerate() {
        if number != 0 {
            roff.control("br", []);
        }
        let mut inlines = Vec::new();
        for word in way.split_inclusive([' ', '=']) {
            let argument = word.chars().any(|c| c.is_ascii_uppercase()) && !word.starts_with('-');
            inlines.push(if argument { italic(word) } else { bold(word) });
        }
        roff.text(inlines);
    }
    let _ = roff.to_writer(out);
}

/// Words, of which `*word*` is bold and `_word_` is italic. An underscore within a word is printed.
fn marked(text: &str) -> Vec<Inline> {
    let mut inlines = Vec::new();
    for (number, word) in text.split_whitespace().enumerate() {
        if number != 0 {
            inlines.push(roman(" "));
        }
        let (word, open) = match word.strip_prefix('(') {
            Some(rest) => (rest, "("),
            None => (word, ""),
        };
        inlines.push(roman(open));
        let stripped = |mark: char| {
            let rest = word.strip_prefix(mark)?;
            let end = rest.rfind(mark)?;
            Some((rest[..end].to_owned(), rest[end + 1..].to_owned()))
        };
        if let Some((inner, tail)) = stripped('*') {
            inlines.extend([bold(inner), roman(tail)]);
        } else if let Some((inner, tail)) = stripped('_') {
            inlines.extend([italic(inner), roman(tail)]);
        } else {
            inlines.push(roman(word));
        }
    }
    inlines
}
