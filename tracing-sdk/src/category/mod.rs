//! Categories: which events a session wants.
//!
//! A category is a static. It holds one word, in which bit `i` says that instance `i` of the data source records this
//! category. A call site loads this word, and does nothing else while it is zero:
//!
//! ```text
//!   31                       8 7             0
//!  [ new |        0           | 8 instances  ]      new: not registered yet, so nobody knows the bits
//! ```
//!
//! A category registers itself when it is used for the first time: the bit `new` leads the call site into the slow
//! path. [`register`] does it earlier, so that consumers see the category before the program uses it.

pub mod rules;
#[cfg(test)]
mod tests;

use core::sync::atomic::AtomicU32;

use crate::bits::Bits;
use crate::on::ON;
use crate::source::registry;

/// The bit of a category that is not registered yet.
const NEW: u32 = 1 << 31;

/// A category of events. Declare it with [`categories!`](crate::categories).
///
/// ```
/// use tracing_sdk::{categories, instant};
///
/// categories! {
///     /// Everything on the wire.
///     pub NET = "net";
///     /// Each frame. Sessions must ask for it, because of its tag.
///     pub FRAMES = "frames", tags: ["slow"];
/// }
///
/// instant!(NET, "connected");
/// assert!(!NET.is_enabled(), "no session records");
/// ```
pub struct Category {
    bits: Bits,
    name: &'static str,
    description: &'static str,
    tags: &'static [&'static str],
    listed: bool,
}

impl Category {
    /// A category called `name`. A name must not be empty, and must not contain `"`, `*`, `,` or a space: patterns of
    /// configs and the separator of groups use these.
    ///
    /// # Panics
    /// If the name is not valid; in a static that is an error of the compiler.
    #[must_use]
    pub const fn new(name: &'static str) -> Self {
        if name.is_empty() {
            refuse("a category needs a name, such as \"net\"");
        }
        if !is_valid(name) {
            refuse(
                "the name of a category must not contain a quote, star, comma or space: use `_` or `.`",
            );
        }
        Self::unlisted(name, &[]).listed()
    }

    const fn listed(mut self) -> Self {
        self.listed = true;
        self
    }

    /// A category that consumers are not told of, with any name.
    pub(crate) const fn unlisted(name: &'static str, tags: &'static [&'static str]) -> Self {
        Self {
            bits: Bits { instances: AtomicU32::new(NEW), iid: AtomicU32::new(0) },
            name,
            description: "",
            tags,
            listed: false,
        }
    }

    /// Sets the tags. Categories with the tag `slow` or `debug` are off unless a config asks for them.
    ///
    /// ```
    /// use tracing_sdk::Category;
    ///
    /// static FRAMES: Category = Category::new("frames").tags(&["slow"]).description("Each frame");
    /// ```
    #[must_use]
    pub const fn tags(mut self, tags: &'static [&'static str]) -> Self {
        self.tags = tags;
        self
    }

    /// Sets the description that consumers show.
    #[must_use]
    pub const fn description(mut self, description: &'static str) -> Self {
        self.description = description;
        self
    }

    /// The category of a name that is known only at run time, such as the module of a log line.
    ///
    /// Equal names and tags give the same category. It stays in memory until the program ends; after 16,384 different
    /// ones, all further names share the category `other`. Consumers are not told of it, as of any dynamic category.
    /// Invalid characters of the name become `_`.
    ///
    /// Keep the result: this looks the name up under a lock.
    #[must_use]
    pub fn dynamic(name: &str) -> &'static Self {
        Self::dynamic_with_tags(name, &[])
    }

    /// As [`dynamic`](Self::dynamic), with tags.
    ///
    /// ```
    /// use tracing_sdk::{Category, instant};
    ///
    /// let plugin = Category::dynamic_with_tags("plugin.audio", &["slow"]);
    /// instant!(plugin, "loaded");
    /// ```
    #[must_use]
    pub fn dynamic_with_tags(name: &str, tags: &'static [&'static str]) -> &'static Self {
        registry::dynamic(name, tags)
    }

    /// Its name.
    #[must_use]
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// Whether a session records it. Ask before expensive preparations of an event; call sites ask by themselves.
    #[inline]
    #[must_use]
    pub fn is_enabled(&'static self) -> bool {
        let bits = self.load();
        bits != 0 && self.instances(bits) != 0
    }

    pub(crate) fn tag_list(&self) -> &'static [&'static str] {
        self.tags
    }

    pub(crate) fn description_text(&self) -> &'static str {
        self.description
    }

    pub(crate) fn is_listed(&self) -> bool {
        self.listed
    }

    #[inline(always)]
    fn load(&self) -> u32 {
        if ON { self.bits.load() } else { 0 }
    }

    /// The instances of `bits`, as they were loaded before. Registers the category if that was not done.
    fn instances(&'static self, bits: u32) -> u32 {
        if bits & NEW == 0 { bits } else { registry::register_one(self) }
    }

    /// Its number in interned data, which is never 0 once it is registered.
    pub(crate) fn iid(&self) -> u32 {
        self.bits.iid()
    }

    /// For the registry, which is locked: registers the category with its number and instances.
    pub(crate) fn set_registered(&self, iid: u32, instances: u32) {
        self.bits.register(iid, instances);
    }

    /// For the registry, which is locked.
    pub(crate) fn is_registered(&self) -> bool {
        self.load() & NEW == 0
    }

    /// For the registry, which is locked: these instances record the category from now on.
    pub(crate) fn switch_on(&self, instances: u32) {
        self.bits.switch_on(instances);
    }

    /// For the registry, which is locked: these instances do not record it any more.
    pub(crate) fn switch_off(&self, instances: u32) {
        self.bits.switch_off(instances);
    }
}

impl core::fmt::Debug for Category {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Category").field("name", &self.name).field("tags", &self.tags).finish()
    }
}

/// As a function, so that the compiler's message leads to its caller.
#[track_caller]
const fn refuse(reason: &'static str) -> ! {
    panic!("{}", reason)
}

const fn is_valid(name: &str) -> bool {
    let bytes = name.as_bytes();
    let mut at = 0;
    while at < bytes.len() {
        if is_reserved(bytes[at]) {
            return false;
        }
        at += 1;
    }
    true
}

/// Whether configs give `byte` a meaning.
pub(crate) const fn is_reserved(byte: u8) -> bool {
    matches!(byte, b'"' | b'*' | b',' | b' ')
}

/// Several categories for one event, which is recorded if any of them is on.
///
/// ```
/// use tracing_sdk::{Group, categories, instant};
/// categories! { NET = "net"; GPU = "gpu"; }
/// static BOTH: Group = Group::new(&[&NET, &GPU]);
/// instant!(BOTH, "texture received");
/// ```
#[derive(Debug)]
pub struct Group(&'static [&'static Category]);

impl Group {
    /// A group of `members`.
    #[must_use]
    pub const fn new(members: &'static [&'static Category]) -> Self {
        Self(members)
    }
}

/// Whatever a call site can name as its category: a [`Category`], a [`Group`], or a reference to one.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a category",
    label = "not a category",
    note = "declare one, `categories! {{ NET = \"net\"; }}`, and name it, `instant!(NET, ..)`; or write `cat!(\"net\")`"
)]
pub trait CategoryRef: Copy {
    /// The bits of all members; zero if no session records and all are registered.
    #[doc(hidden)]
    fn bits(self) -> u32;

    /// The members.
    #[doc(hidden)]
    fn members(self) -> Members;

    /// Whether a session records it. Registers members that are new.
    #[doc(hidden)]
    #[inline(always)]
    fn is_on(self) -> bool {
        let bits = self.bits();
        bits != 0 && (bits & NEW == 0 || self.members().instances() != 0)
    }
}

/// The categories of one event.
#[doc(hidden)]
#[derive(Clone, Copy, Debug)]
pub enum Members {
    /// Almost every event.
    One(&'static Category),
    /// Those of a group.
    Many(&'static [&'static Category]),
}

impl Members {
    #[inline(always)]
    pub(crate) fn as_slice(&self) -> &[&'static Category] {
        match self {
            Self::One(category) => std::slice::from_ref(category),
            Self::Many(members) => members,
        }
    }

    /// The instances that record the event. Registers members that are new.
    pub(crate) fn instances(self) -> u32 {
        match self {
            Self::One(category) => category.instances(category.load()),
            Self::Many(members) => {
                members.iter().fold(0, |bits, member| bits | member.instances(member.load()))
            }
        }
    }
}

impl Members {
    /// As [`instances`](Self::instances), of the members that are registered. Takes no lock.
    pub(crate) fn known_instances(self) -> u32 {
        self.as_slice().iter().fold(0, |bits, member| bits | member.load()) & !NEW
    }
}

impl CategoryRef for &'static Category {
    #[inline(always)]
    fn bits(self) -> u32 {
        self.load()
    }

    #[inline(always)]
    fn members(self) -> Members {
        Members::One(self)
    }
}

impl CategoryRef for &'static Group {
    #[inline(always)]
    fn bits(self) -> u32 {
        self.0.iter().fold(0, |bits, member| bits | member.load())
    }

    #[inline(always)]
    fn members(self) -> Members {
        Members::Many(self.0)
    }
}

impl<T: CategoryRef> CategoryRef for &T {
    #[inline(always)]
    fn bits(self) -> u32 {
        (*self).bits()
    }

    #[inline(always)]
    fn members(self) -> Members {
        (*self).members()
    }
}

/// Registers categories before their first use, so that consumers can list them.
pub fn register(categories: &[&'static Category]) {
    if ON {
        registry::register(categories);
    }
}
