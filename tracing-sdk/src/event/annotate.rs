//! Annotations: named values of an event.
//!
//! A value writes itself, into the packet at hand, through a [`Value`]: there is no tree in between and no allocation.

use core::fmt::{self, Write as _};

use protos::DebugAnnotationWriter;
use protozero::{Writer as _, rt};

use crate::intern::{Interning, TextKind};

/// A type whose values can be annotations.
///
/// ```
/// use tracing_sdk::{Annotate, Value};
///
/// struct Point { x: f64, y: f64 }
///
/// impl Annotate for Point {
///     fn annotate(&self, value: Value<'_, '_>) {
///         value.map(|map| {
///             map.entry("x", &self.x);
///             map.entry("y", &self.y);
///         });
///     }
/// }
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be an annotation: it does not implement `Annotate`",
    label = "not an annotation",
    note = "derive it: `#[derive(tracing_sdk::Annotate)]` (feature `derive`), or implement `tracing_sdk::Annotate`",
    note = "or format the value: `key = ?value` uses its `Debug`, `key = %value` its `Display`"
)]
pub trait Annotate {
    /// Writes the value.
    fn annotate(&self, value: Value<'_, '_>);

    /// Whether there is nothing to write, as for `None`: then its key is left out, too.
    fn is_absent(&self) -> bool {
        false
    }

    /// The value, if it is of a type that all call sites write with one function.
    #[doc(hidden)]
    #[inline(always)]
    fn simple(&self) -> Option<Simple<'_>> {
        None
    }
}

/// A value of a basic type, as it is written.
#[doc(hidden)]
#[derive(Clone, Copy, Debug)]
pub enum Simple<'a> {
    /// Nothing, not even its key.
    Absent,
    /// The tag and the value of a varint field.
    Varint(u8, u64),
    /// A number with a fraction.
    Double(f64),
    /// A text.
    Str(&'a str),
}

impl Simple<'_> {
    pub(crate) const fn bool(value: bool) -> Self {
        Self::Varint(rt::tag(2, rt::VARINT) as u8, value as u64)
    }

    pub(crate) const fn uint(value: u64) -> Self {
        Self::Varint(rt::tag(3, rt::VARINT) as u8, value)
    }

    pub(crate) const fn int(value: i64) -> Self {
        Self::Varint(rt::tag(4, rt::VARINT) as u8, value.cast_unsigned())
    }

    pub(crate) const fn double(value: f64) -> Self {
        Self::Double(value)
    }

    pub(crate) const fn pointer(value: u64) -> Self {
        Self::Varint(rt::tag(7, rt::VARINT) as u8, value)
    }
}

/// Where a value writes itself, with one of these methods.
///
/// ```
/// use tracing_sdk::{Annotate, Value};
///
/// /// A node of a graph in memory.
/// struct Node { kind: &'static str, address: u64, children: Vec<Node> }
///
/// impl Annotate for Node {
///     fn annotate(&self, value: Value<'_, '_>) {
///         value.map(|map| {
///             // There are few kinds, so each is written once.
///             map.entry_with("kind", |value| value.interned_str(self.kind));
///             map.entry_with("at", |value| value.pointer(self.address));
///             map.entry_with("children", |value| {
///                 value.list(|list| {
///                     for child in &self.children {
///                         list.item(child);
///                     }
///                 });
///             });
///             for (number, child) in self.children.iter().enumerate() {
///                 map.entry_display(&format_args!("kind {number}"), child.kind);
///             }
///         });
///     }
///
///     // Its key is left out then.
///     fn is_absent(&self) -> bool {
///         self.address == 0
///     }
/// }
/// ```
///
/// Each method writes one value:
///
/// ```
/// use std::fmt::Display;
/// use tracing_sdk::{Annotate, Value};
///
/// /// A value of a table.
/// enum Cell { Truth(bool), Count(u64), Change(i64), Share(f64), Name(String), Raw(Vec<u8>), Other(Box<dyn Display>) }
///
/// impl Annotate for Cell {
///     fn annotate(&self, mut value: Value<'_, '_>) {
///         match self {
///             Cell::Truth(truth) => value.bool(*truth),
///             Cell::Count(number) => value.uint(*number),
///             Cell::Change(number) => value.int(*number),
///             Cell::Share(number) => value.double(*number),
///             Cell::Name(text) => value.str(text),
///             Cell::Raw(bytes) if bytes.is_ascii() => value.bytes(bytes),
///             Cell::Raw(bytes) => value.debug(bytes),
///             Cell::Other(other) if other.to_string().is_empty() => {
///                 // Any field of the message.
///                 value.message().string_value("nothing");
///             }
///             Cell::Other(other) => value.display(other),
///         }
///     }
/// }
/// ```
#[must_use = "a value that is not written is shown as nothing"]
pub struct Value<'v, 'i> {
    message: DebugAnnotationWriter<'v>,
    interning: &'i mut Interning,
}

macro_rules! opaque {
    ($($name:ident<$($lifetime:lifetime),*>)*) => {$(
        impl fmt::Debug for $name<$($lifetime),*> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(stringify!($name))
            }
        }
    )*};
}

opaque! { Value<'_, '_> List<'_, '_, '_> Map<'_, '_, '_> }

impl<'v, 'i> Value<'v, 'i> {
    pub(crate) fn new(message: DebugAnnotationWriter<'v>, interning: &'i mut Interning) -> Self {
        Self { message, interning }
    }

    /// A truth value.
    #[inline]
    pub fn bool(mut self, value: bool) {
        self.message.bool_value(value);
    }

    /// A number without a sign.
    #[inline]
    pub fn uint(mut self, value: u64) {
        self.message.uint_value(value);
    }

    /// A number with a sign.
    #[inline]
    pub fn int(mut self, value: i64) {
        self.message.int_value(value);
    }

    /// A number with a fraction.
    #[inline]
    pub fn double(mut self, value: f64) {
        self.message.double_value(value);
    }

    /// A text.
    #[inline]
    pub fn str(mut self, value: &str) {
        self.message.string_value(value);
    }

    /// A text that may not be UTF-8. Viewers show what they can.
    pub fn bytes(mut self, value: &[u8]) {
        self.message.scope_mut().bytes::<STRING_VALUE>(value);
    }

    /// A text that repeats: it is written once for each sequence, if it has at most 256 bytes.
    pub fn interned_str(mut self, value: &str) {
        match self.interning.text(TextKind::StringValue, value) {
            Some(iid) => self.message.string_value_iid(iid),
            None => self.message.string_value(value),
        };
    }

    /// A text that is formatted straight into the packet.
    pub fn display(mut self, value: &(impl fmt::Display + ?Sized)) {
        let mut text = Text(self.message.scope_mut().nested::<STRING_VALUE>());
        // An error of the value's own: what was written stays.
        let _ = write!(text, "{value}");
    }

    /// As [`display`](Self::display), with `Debug`.
    pub fn debug(mut self, value: &(impl fmt::Debug + ?Sized)) {
        let mut text = Text(self.message.scope_mut().nested::<STRING_VALUE>());
        let _ = write!(text, "{value:?}");
    }

    /// An address, shown in hexadecimal.
    pub fn pointer(mut self, address: u64) {
        self.message.pointer_value(address);
    }

    /// A list of values.
    pub fn list(mut self, fill: impl FnOnce(&mut List<'_, 'v, '_>)) {
        fill(&mut List { message: &mut self.message, interning: self.interning });
    }

    /// Values with names.
    pub fn map(mut self, fill: impl FnOnce(&mut Map<'_, 'v, '_>)) {
        fill(&mut Map { message: &mut self.message, interning: self.interning });
    }

    /// The message itself, for every other field of `DebugAnnotation`.
    pub fn message(&mut self) -> &mut DebugAnnotationWriter<'v> {
        &mut self.message
    }
}

/// `DebugAnnotation.string_value`.
const STRING_VALUE: u32 = 6;

/// A text field that is open.
struct Text<'t>(protozero::encode::Scope<'t>);

impl fmt::Write for Text<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.0.raw(text.as_bytes());
        Ok(())
    }
}

/// The elements of a list.
///
/// ```
/// use tracing_sdk::{Annotate, List, Value};
///
/// /// Those of a tree, from left to right.
/// fn items(tree: &Tree, list: &mut List<'_, '_, '_>) {
///     if let Tree::Node(left, right) = tree {
///         items(left, list);
///         items(right, list);
///     } else {
///         list.item("leaf");
///     }
/// }
///
/// enum Tree { Leaf, Node(Box<Tree>, Box<Tree>) }
///
/// impl Annotate for Tree {
///     fn annotate(&self, value: Value<'_, '_>) {
///         value.list(|list| items(self, list));
///     }
/// }
/// ```
pub struct List<'l, 'v, 'i> {
    message: &'l mut DebugAnnotationWriter<'v>,
    interning: &'i mut Interning,
}

impl List<'_, '_, '_> {
    /// Adds an element. An absent one leaves an empty place, so that the others keep their index.
    pub fn item(&mut self, value: &(impl Annotate + ?Sized)) -> &mut Self {
        let element = Value::new(self.message.array_values(), self.interning);
        match value.is_absent() {
            true => element.str(""),
            false => value.annotate(element),
        }
        self
    }
}

/// The entries of a map.
///
/// ```
/// use tracing_sdk::{Annotate, Map, Value};
///
/// struct Point { x: f64, y: f64 }
///
/// /// For all types that contain one.
/// fn entries(point: &Point, map: &mut Map<'_, '_, '_>) {
///     map.entry("x", &point.x).entry("y", &point.y);
/// }
///
/// struct Circle { centre: Point, radius: f64 }
///
/// impl Annotate for Circle {
///     fn annotate(&self, value: Value<'_, '_>) {
///         value.map(|map| {
///             entries(&self.centre, map);
///             map.entry("radius", &self.radius);
///         });
///     }
/// }
/// ```
pub struct Map<'m, 'v, 'i> {
    message: &'m mut DebugAnnotationWriter<'v>,
    interning: &'i mut Interning,
}

impl Map<'_, '_, '_> {
    /// Adds an entry, unless its value is absent.
    pub fn entry(&mut self, key: &str, value: &(impl Annotate + ?Sized)) -> &mut Self {
        if !value.is_absent() {
            let mut entry = self.message.dict_entries();
            entry.name(key);
            value.annotate(Value::new(entry, self.interning));
        }
        self
    }

    /// Adds an entry whose value `write` writes.
    pub fn entry_with(&mut self, key: &str, write: impl FnOnce(Value<'_, '_>)) -> &mut Self {
        let mut entry = self.message.dict_entries();
        entry.name(key);
        write(Value::new(entry, self.interning));
        self
    }

    /// As [`entry`](Self::entry), with a key that is formatted.
    pub fn entry_display(
        &mut self,
        key: &impl fmt::Display,
        value: &(impl Annotate + ?Sized),
    ) -> &mut Self {
        /// `DebugAnnotation.name`.
        const NAME: u32 = 10;
        if !value.is_absent() {
            let mut entry = self.message.dict_entries();
            let _ = write!(Text(entry.scope_mut().nested::<NAME>()), "{key}");
            value.annotate(Value::new(entry, self.interning));
        }
        self
    }
}

/// `key = ?value` of the macros.
#[doc(hidden)]
#[derive(Debug)]
pub struct ByDebug<'a, T: ?Sized>(pub &'a T);

/// `key = %value` of the macros.
#[doc(hidden)]
#[derive(Debug)]
pub struct ByDisplay<'a, T: ?Sized>(pub &'a T);

/// `key = @value` of the macros.
#[doc(hidden)]
#[derive(Debug)]
pub struct Interned<'a, T: ?Sized>(pub &'a T);

impl<T: fmt::Debug + ?Sized> Annotate for ByDebug<'_, T> {
    fn annotate(&self, value: Value<'_, '_>) {
        value.debug(self.0);
    }
}

impl<T: fmt::Display + ?Sized> Annotate for ByDisplay<'_, T> {
    fn annotate(&self, value: Value<'_, '_>) {
        value.display(self.0);
    }
}

impl<T: AsRef<str> + ?Sized> Annotate for Interned<'_, T> {
    fn annotate(&self, value: Value<'_, '_>) {
        value.interned_str(self.0.as_ref());
    }
}
