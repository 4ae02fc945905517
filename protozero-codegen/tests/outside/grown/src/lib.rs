//! Programs that were written while their schemas had fewer messages, fields, files and packages. That they compile is
//! the test.

include!(concat!(env!("OUT_DIR"), "/all.rs"));

/// Whether two texts are equal.
const fn same(a: &str, b: &str) -> bool {
    let (a, b) = (a.as_bytes(), b.as_bytes());
    let mut at = 0;
    while at < a.len() && at < b.len() && a[at] == b[at] {
        at += 1;
    }
    at == a.len() && at == b.len()
}
