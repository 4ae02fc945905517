//! A packet as slices, and its validation.
