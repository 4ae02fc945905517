//! Writes JSON, indented by two blanks. Fields that are absent are left out; lists are always there.
//!
//! ```
//! use tracing_file::json::Json;
//!
//! let mut json = Json::default();
//! json.object(|json| {
//!     json.text("file", Some("a.pftrace"));
//!     json.scalar("losses", None::<u64>);
//!     json.list("kinds", &[("event", 7)], |json, (name, packets)| {
//!         json.text("name", Some(name));
//!         json.scalar("packets", Some(*packets));
//!     });
//!     json.named_object("service", |json| json.text("state", Some("idle")));
//!     json.raw("more", "[1, 2]");
//! });
//! let text = json.finish();
//! assert!(text.starts_with("{\n  \"file\": \"a.pftrace\",\n  \"kinds\": ["), "{text}");
//! ```

use crate::escape;

/// A value that Rust prints as JSON does.
pub trait Scalar: ToString + sealed::Sealed {}

mod sealed {
    pub trait Sealed {}
}

macro_rules! scalars {
    ($($of:ty)*) => {$(
        impl sealed::Sealed for $of {}
        impl Scalar for $of {}
    )*};
}

scalars!(bool i32 i64 u32 u64 usize);

/// The JSON text so far.
#[derive(Debug, Default)]
pub struct Json {
    out: String,
    depth: usize,
    /// The innermost object or list has an element already.
    follows: bool,
}

impl Json {
    /// The text, with a line feed at its end.
    #[must_use]
    pub fn finish(mut self) -> String {
        self.out.push('\n');
        self.out
    }

    fn line(&mut self) {
        self.out.push('\n');
        self.out.extend(std::iter::repeat_n("  ", self.depth));
    }

    /// Begins a line, after a comma if it is not the first one.
    fn element(&mut self) {
        if std::mem::replace(&mut self.follows, true) {
            self.out.push(',');
        }
        self.line();
    }

    fn enclosed(&mut self, brackets: [char; 2], fill: impl FnOnce(&mut Self)) {
        self.out.push(brackets[0]);
        self.depth += 1;
        self.follows = false;
        fill(self);
        self.depth -= 1;
        if self.follows {
            self.line();
        }
        self.out.push(brackets[1]);
        self.follows = true;
    }

    /// An object of what `fill` adds.
    pub fn object(&mut self, fill: impl FnOnce(&mut Self)) {
        self.enclosed(['{', '}'], fill);
    }

    fn name(&mut self, name: &str) {
        self.element();
        self.quoted(name);
        self.out.push_str(": ");
    }

    /// A value that is JSON already.
    pub fn raw(&mut self, name: &str, value: &str) {
        self.name(name);
        self.out.push_str(value);
    }

    /// A number or a truth value, if there is one.
    pub fn scalar(&mut self, name: &str, value: Option<impl Scalar>) {
        if let Some(value) = value {
            self.raw(name, &value.to_string());
        }
    }

    /// A text, if there is one.
    pub fn text(&mut self, name: &str, value: Option<&str>) {
        if let Some(value) = value {
            self.name(name);
            self.quoted(value);
        }
    }

    /// An object of what `fill` adds, as a value.
    pub fn named_object(&mut self, name: &str, fill: impl FnOnce(&mut Self)) {
        self.name(name);
        self.object(fill);
    }

    /// A list of objects.
    pub fn list<T>(&mut self, name: &str, values: &[T], fill: impl Fn(&mut Self, &T)) {
        self.name(name);
        self.enclosed(['[', ']'], |json| {
            for value in values {
                json.element();
                json.object(|json| fill(json, value));
            }
        });
    }

    fn quoted(&mut self, text: &str) {
        escape::json(&mut self.out, text);
    }
}
