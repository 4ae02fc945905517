//! The tracefs of this machine.
