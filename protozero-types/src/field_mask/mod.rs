//! Paths of fields: as sets, and applied to messages.

#[cfg(feature = "reflect")]
mod apply;

use alloc::string::String;
use alloc::vec::Vec;
use core::cmp::Ordering;

#[cfg(feature = "reflect")]
pub use self::apply::{MaskError, MergeOptions};
use crate::google::protobuf::FieldMask;

impl FieldMask {
    /// A mask of these paths: names of fields as in the schema, joined by dots, such as `user.display_name`.
    pub fn new(paths: impl IntoIterator<Item: Into<String>>) -> Self {
        Self { paths: paths.into_iter().map(Into::into).collect(), ..Self::default() }
    }

    /// The same fields, sorted, without paths that occur twice or lie inside others.
    ///
    /// ```
    /// use protozero_types::FieldMask;
    ///
    /// let mask = FieldMask::new(["b", "a.c", "a", "b"]);
    /// assert_eq!(mask.normalized().paths, ["a", "b"]);
    /// ```
    #[must_use]
    pub fn normalized(&self) -> Self {
        Self::new(normal([self]))
    }

    /// The fields of this mask and those of `other`, in normal form.
    #[must_use]
    pub fn union(&self, other: &Self) -> Self {
        Self::new(normal([self, other]))
    }

    /// The fields that are in both masks, in normal form.
    ///
    /// ```
    /// use protozero_types::FieldMask;
    ///
    /// let (a, b) = (FieldMask::new(["user.name", "id"]), FieldMask::new(["user", "title"]));
    /// assert_eq!(a.intersection(&b).paths, ["user.name"]);
    /// ```
    #[must_use]
    pub fn intersection(&self, other: &Self) -> Self {
        let (a, b) = (normal([self]), normal([other]));
        let in_b = a.iter().filter(|path| covers(&b, path));
        let in_a = b.iter().filter(|path| covers(&a, path));
        Self::new(in_b.chain(in_a).copied()).normalized()
    }

    /// Whether a path of this mask is `path` or contains it.
    #[must_use]
    pub fn covers(&self, path: &str) -> bool {
        self.paths.iter().any(|outer| is_inside(path, outer))
    }
}

/// The order of paths by their parts: what is inside a path directly follows it.
fn order(a: &str, b: &str) -> Ordering {
    a.split('.').cmp(b.split('.'))
}

/// Whether `path` is `outer`, or inside it.
fn is_inside(path: &str, outer: &str) -> bool {
    path.strip_prefix(outer).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}

/// The paths of the masks, sorted, without those inside others.
fn normal<'m>(masks: impl IntoIterator<Item = &'m FieldMask>) -> Vec<&'m str> {
    let all = masks.into_iter().flat_map(|mask| &mask.paths);
    let mut paths: Vec<&str> = all.map(String::as_str).collect();
    paths.sort_unstable_by(|a, b| order(a, b));
    paths.dedup_by(|path, outer| is_inside(path, outer));
    paths
}

/// Whether one of the normal paths contains `path`: then it is the last one that is not behind it.
fn covers(paths: &[&str], path: &str) -> bool {
    let behind = paths.partition_point(|other| order(other, path).is_le());
    behind.checked_sub(1).is_some_and(|at| is_inside(path, paths[at]))
}

#[cfg(all(test, feature = "std"))]
mod tests;
