//! What can go wrong, sorted by who is to blame.
