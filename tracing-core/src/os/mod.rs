//! Every system call this crate makes.
