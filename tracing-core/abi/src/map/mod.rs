//! Maps and sets in sorted arrays, with little code: a map of each pair of types is compiled anew.
//!
//! The code of a `BTreeMap` is five times that of a [`SortedMap`] and three times that of a [`BlockMap`], and programs
//! that are traced compile it. The methods are those of `BTreeMap` and `BTreeSet` with the same names, in the same
//! order: by key.
//!
//! | | for | an insertion or removal moves |
//! |---|---|---|
//! | [`SortedMap`], [`SortedSet`] | few entries: sources, instances, sessions | all larger entries |
//! | [`BlockMap`], [`BlockSet`] | as many as a hostile peer likes | at most a block, and the list of blocks |

mod block;
mod sorted;

pub use block::{BlockMap, BlockSet};
pub use sorted::{SortedMap, SortedSet};

#[cfg(test)]
mod tests;
