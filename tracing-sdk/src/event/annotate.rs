//! Annotations: named values of an event.
//!
//! A value writes itself, into the packet at hand, through a [`Value`]: there is no tree in between and no allocation.

use core::fmt::{self, Write as _};
use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use protos::DebugAnnotationWriter;
use protozero::{Writer as _, rt};

use crate::intern::{Interning, Kind};

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
        match self.interning.text(Kind::StringValue, value) {
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

macro_rules! scalars {
    ($($method:ident($as:ty): $($type:ty)*;)*) => {$($(
        impl Annotate for $type {
            fn annotate(&self, value: Value<'_, '_>) {
                value.$method(*self as $as);
            }

            #[inline(always)]
            fn simple(&self) -> Option<Simple<'_>> {
                Some(Simple::$method(*self as $as))
            }
        }
    )*)*};
}

scalars! {
    bool(bool): bool;
    uint(u64): u8 u16 u32 u64 usize;
    int(i64): i8 i16 i32 i64 isize;
    double(f64): f32 f64;
}

macro_rules! non_zero {
    ($($method:ident($as:ty): $($type:ident)*;)*) => {$($(
        impl Annotate for std::num::$type {
            fn annotate(&self, value: Value<'_, '_>) {
                value.$method(self.get() as $as);
            }

            #[inline(always)]
            fn simple(&self) -> Option<Simple<'_>> {
                Some(Simple::$method(self.get() as $as))
            }
        }
    )*)*};
}

non_zero! {
    uint(u64): NonZeroU8 NonZeroU16 NonZeroU32 NonZeroU64 NonZeroUsize;
    int(i64): NonZeroI8 NonZeroI16 NonZeroI32 NonZeroI64 NonZeroIsize;
}

macro_rules! displayed {
    ($($type:ty)*) => {$(
        impl Annotate for $type {
            fn annotate(&self, value: Value<'_, '_>) {
                value.display(self);
            }
        }
    )*};
}

// The format has no numbers of 128 bits.
displayed!(char u128 i128 fmt::Arguments<'_> std::net::IpAddr std::net::SocketAddr std::path::Display<'_>);

impl Annotate for str {
    fn annotate(&self, value: Value<'_, '_>) {
        value.str(self);
    }

    #[inline(always)]
    fn simple(&self) -> Option<Simple<'_>> {
        Some(Simple::Str(self))
    }
}

impl Annotate for String {
    fn annotate(&self, value: Value<'_, '_>) {
        value.str(self);
    }

    #[inline(always)]
    fn simple(&self) -> Option<Simple<'_>> {
        Some(Simple::Str(self))
    }
}

impl Annotate for std::ffi::CStr {
    fn annotate(&self, value: Value<'_, '_>) {
        value.bytes(self.to_bytes());
    }
}

impl Annotate for std::ffi::OsStr {
    fn annotate(&self, value: Value<'_, '_>) {
        value.bytes(self.as_encoded_bytes());
    }
}

impl Annotate for std::path::Path {
    fn annotate(&self, value: Value<'_, '_>) {
        self.as_os_str().annotate(value);
    }
}

impl Annotate for std::path::PathBuf {
    fn annotate(&self, value: Value<'_, '_>) {
        self.as_os_str().annotate(value);
    }
}

/// Nanoseconds.
impl Annotate for Duration {
    fn annotate(&self, value: Value<'_, '_>) {
        value.uint(u64::try_from(self.as_nanos()).unwrap_or(u64::MAX));
    }
}

impl Annotate for () {
    fn annotate(&self, _: Value<'_, '_>) {}

    fn is_absent(&self) -> bool {
        true
    }
}

impl<T: Annotate> Annotate for Option<T> {
    fn annotate(&self, value: Value<'_, '_>) {
        if let Some(inner) = self {
            inner.annotate(value);
        }
    }

    fn is_absent(&self) -> bool {
        self.as_ref().is_none_or(Annotate::is_absent)
    }

    #[inline(always)]
    fn simple(&self) -> Option<Simple<'_>> {
        self.as_ref().map_or(Some(Simple::Absent), Annotate::simple)
    }
}

impl<T> Annotate for *const T {
    fn annotate(&self, value: Value<'_, '_>) {
        value.pointer(self.addr() as u64);
    }

    #[inline(always)]
    fn simple(&self) -> Option<Simple<'_>> {
        Some(Simple::pointer(self.addr() as u64))
    }
}

impl<T> Annotate for *mut T {
    fn annotate(&self, value: Value<'_, '_>) {
        self.cast_const().annotate(value);
    }

    #[inline(always)]
    fn simple(&self) -> Option<Simple<'_>> {
        Some(Simple::pointer(self.addr() as u64))
    }
}

macro_rules! by_reference {
    ($([$($generics:tt)*] $type:ty;)*) => {$(
        impl<$($generics)*> Annotate for $type {
            #[inline]
            fn annotate(&self, value: Value<'_, '_>) {
                (**self).annotate(value);
            }

            #[inline]
            fn is_absent(&self) -> bool {
                (**self).is_absent()
            }

            #[inline(always)]
            fn simple(&self) -> Option<Simple<'_>> {
                (**self).simple()
            }
        }
    )*};
}

by_reference! {
    [T: Annotate + ?Sized] &T;
    [T: Annotate + ?Sized] &mut T;
    [T: Annotate + ?Sized] Box<T>;
    [T: Annotate + ?Sized] Rc<T>;
    [T: Annotate + ?Sized] Arc<T>;
    [T: Annotate + ToOwned + ?Sized] Cow<'_, T>;
}

impl<T: Annotate> Annotate for [T] {
    fn annotate(&self, value: Value<'_, '_>) {
        value.list(|list| {
            self.iter().for_each(|item| {
                list.item(item);
            })
        });
    }
}

impl<T: Annotate, const N: usize> Annotate for [T; N] {
    fn annotate(&self, value: Value<'_, '_>) {
        self.as_slice().annotate(value);
    }
}

impl<T: Annotate> Annotate for Vec<T> {
    fn annotate(&self, value: Value<'_, '_>) {
        self.as_slice().annotate(value);
    }
}

impl<K: fmt::Display, V: Annotate, S> Annotate for HashMap<K, V, S> {
    fn annotate(&self, value: Value<'_, '_>) {
        value.map(|map| {
            self.iter().for_each(|(key, value)| {
                map.entry_display(key, value);
            })
        });
    }
}

impl<K: fmt::Display, V: Annotate> Annotate for BTreeMap<K, V> {
    fn annotate(&self, value: Value<'_, '_>) {
        value.map(|map| {
            self.iter().for_each(|(key, value)| {
                map.entry_display(key, value);
            })
        });
    }
}

macro_rules! tuples {
    ($(($($name:ident $at:tt)*))*) => {$(
        impl<$($name: Annotate),*> Annotate for ($($name,)*) {
            fn annotate(&self, value: Value<'_, '_>) {
                value.list(|list| { $(list.item(&self.$at);)* });
            }
        }
    )*};
}

tuples! { (A 0) (A 0 B 1) (A 0 B 1 C 2) (A 0 B 1 C 2 D 3) (A 0 B 1 C 2 D 3 E 4) (A 0 B 1 C 2 D 3 E 4 F 5) }
