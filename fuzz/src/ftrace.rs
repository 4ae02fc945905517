//! Pages of the kernel's ring buffer. The body is also a test of `tracing-probes`.

#[path = "../../tracing-probes/tests/it/pages/mod.rs"]
mod pages;

/// Any formats with any pages: nothing panics, and what is read is what a slow decoder reads.
pub fn ftrace_pages(input: &[u8]) {
    pages::check(input);
}
