//! Whatever comes in, output is a message and not longer than input.
