//! An event as a line of text (columns: `console_interceptor.cc`).
//!
//! ```text
//!   [seconds] track             cat   -  -  name {(key:value, key:value) +12ms
//!   7.3       15 of 18          5     depth    ^ a slice begins; `} name`: it ends
//! ```

use core::fmt::Write as _;

use protozero::Value;

use super::names::Names;
use super::numbers;
use super::numbers::annotation::{
    ARRAY_VALUES, BOOL_VALUE, DICT_ENTRIES, DOUBLE_VALUE, INT_VALUE, LEGACY_JSON_VALUE,
    POINTER_VALUE, STRING_VALUE, STRING_VALUE_IID, UINT_VALUE,
};
use super::packet::{all, fields};
use super::tracks::{Kind, Printed};
use crate::hash::fnv1a;

/// Letters of a track's title, and the width of its column.
const TITLE_LETTERS: usize = 15;
const TITLE_COLUMN: usize = 18;
/// Letters of a category.
const CATEGORY_LETTERS: usize = 5;
/// Levels of lists and maps in an annotation that are printed.
const LEVELS_MAX: usize = 64;
/// Shorter slices have no duration in their line, ns.
const DURATION_MIN_NS: u64 = 10_000_000;

const DIM: &str = "\x1b[90m";
const DEFAULT: &str = "\x1b[39m";
const RESET: &str = "\x1b[0m";

/// Red, green, blue.
#[derive(Clone, Copy)]
struct Color([u8; 3]);

impl Color {
    /// The colour at an angle of the circle of hues, degrees.
    fn of_hue(degrees: u32) -> Self {
        let rise = u8::try_from(degrees % 60 * 255 / 60).unwrap_or(u8::MAX);
        let fall = 255 - rise;
        Self(match degrees / 60 % 6 {
            0 => [255, rise, 0],
            1 => [fall, 255, 0],
            2 => [0, 255, rise],
            3 => [0, fall, 255],
            4 => [rise, 0, 255],
            _ => [255, 0, fall],
        })
    }

    /// Half way to white.
    fn lighter(self) -> Self {
        Self(self.0.map(|part| part / 2 + 128))
    }
}

struct Line {
    text: String,
    has_colors: bool,
}

impl Line {
    fn push(&mut self, text: &str) {
        for letter in text.chars() {
            // One line for each event, and no commands for the terminal.
            if letter.is_control() {
                self.text.extend(letter.escape_default());
            } else {
                self.text.push(letter);
            }
        }
    }

    /// At most `letters` of `text`, then spaces up to `column`.
    fn push_column(&mut self, text: &str, letters: usize, column: usize) {
        let end = text.char_indices().nth(letters).map_or(text.len(), |(at, _)| at);
        let text = text.get(..end).unwrap_or_default();
        self.push(text);
        let width = text.chars().count();
        self.text.extend(core::iter::repeat_n(' ', column.saturating_sub(width)));
    }

    fn style(&mut self, style: &str) {
        if self.has_colors {
            self.text.push_str(style);
        }
    }

    fn color(&mut self, Color([red, green, blue]): Color) {
        if self.has_colors {
            self.write(format_args!("\x1b[38;2;{red};{green};{blue}m"));
        }
    }

    fn write(&mut self, text: core::fmt::Arguments<'_>) {
        // A `String` takes anything.
        let _ = self.text.write_fmt(text);
    }

    /// `(key:value, key:value)`
    fn annotations(&mut self, event: &[u8], names: &Names, color: Color) {
        let mut is_first = true;
        for annotation in all(event, numbers::event::DEBUG_ANNOTATIONS) {
            self.color(color);
            self.push(if is_first { "(" } else { ", " });
            is_first = false;
            self.push(&names.key(annotation));
            self.push(":");
            self.color(color.lighter());
            self.value(annotation, names, LEVELS_MAX);
        }
        if !is_first {
            self.color(color);
            self.push(")");
        }
    }

    /// The value of a `DebugAnnotation`, with at most so many levels inside it.
    fn value(&mut self, annotation: &[u8], names: &Names, levels: usize) {
        for field in fields(annotation) {
            match (field.number, field.value) {
                (BOOL_VALUE, Value::Varint(value)) => self.write(format_args!("{}", value != 0)),
                (UINT_VALUE, Value::Varint(value)) => self.write(format_args!("{value}")),
                (INT_VALUE, Value::Varint(value)) => {
                    self.write(format_args!("{}", value.cast_signed()))
                }
                (DOUBLE_VALUE, Value::Fixed64(bits)) => {
                    self.write(format_args!("{:.6}", f64::from_bits(bits)));
                }
                (STRING_VALUE | LEGACY_JSON_VALUE, Value::Len(text)) => {
                    self.push(&String::from_utf8_lossy(text))
                }
                (POINTER_VALUE, Value::Varint(value)) => self.write(format_args!("{value:#x}")),
                (STRING_VALUE_IID, Value::Varint(iid)) => self.push(names.string(iid)),
                _ => continue,
            }
            return;
        }
        let is_map = all(annotation, ARRAY_VALUES).next().is_none();
        let (begin, field, end) =
            if is_map { ("{", DICT_ENTRIES, "}") } else { ("[", ARRAY_VALUES, "]") };
        self.push(begin);
        for (number, value) in all(annotation, field).filter(|_| levels > 0).enumerate() {
            if number != 0 {
                self.push(", ");
            }
            if is_map {
                self.push(&names.key(value));
                self.push(":");
            }
            self.value(value, names, levels.saturating_sub(1));
        }
        self.push(end);
    }
}

/// The line of an event, with its end.
pub(super) fn line(
    has_colors: bool,
    since_start_ns: i128,
    printed: &Printed,
    event: &[u8],
    names: &Names,
) -> String {
    let mut line = Line { text: String::new(), has_colors };
    line.style(DIM);
    // Microseconds are exact in it for two centuries.
    #[expect(clippy::cast_precision_loss, reason = "three digits of it are printed")]
    let seconds = since_start_ns as f64 / 1e9;
    line.write(format_args!("[{seconds:7.3}] "));
    if has_colors {
        // Successive tracks are far from each other on the circle.
        let Color([red, green, blue]) = Color::of_hue(printed.track.wrapping_mul(137) % 360);
        line.write(format_args!("\x1b[48;2;{red};{green};{blue}m {RESET}{DIM} "));
        line.push_column(&printed.title, TITLE_LETTERS, TITLE_COLUMN - 2);
    } else {
        line.push_column(&printed.title, TITLE_LETTERS, TITLE_COLUMN);
    }
    line.push_column(&printed.category, CATEGORY_LETTERS, CATEGORY_LETTERS + 1);
    for _ in 0..printed.depth {
        line.push("-  ");
    }
    let hue = fnv1a(printed.name.as_bytes()) % 360;
    let color = Color::of_hue(u32::try_from(hue).unwrap_or(0));
    if printed.kind == Kind::End {
        line.style(DEFAULT);
        line.push("} ");
    }
    line.color(color.lighter());
    line.push(&printed.name);
    line.style(RESET);
    if printed.kind == Kind::Begin {
        line.style(DEFAULT);
        line.push(" {");
    }
    line.annotations(event, names, color);
    if printed.duration_ns >= DURATION_MIN_NS {
        line.style(DIM);
        line.write(format_args!(" +{}ms", printed.duration_ns / 1_000_000));
    }
    line.style(RESET);
    line.text.push('\n');
    line.text
}
