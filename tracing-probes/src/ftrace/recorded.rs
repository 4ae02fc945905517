//! All formats of Linux 6.18 on x86-64, for tests: `tests/data/formats.gz`.
//!
//! The text is `== GROUP/NAME` and the format behind it, without what it prints, for each event. As root, this writes
//! those of another kernel:
//!
//! ```sh
//! cd /sys/kernel/tracing/events
//! export LC_ALL=C
//! for f in */*/format; do
//!     echo "== ${f%/format}"
//!     sed 's/^print fmt:.*/print fmt:/' "$f"
//! done | gzip -9n > ~/formats.gz
//! ```

use std::collections::BTreeMap;
use std::io::Read as _;
use std::sync::LazyLock;

/// The text of each format, by group and name.
pub(super) static FORMATS: LazyLock<BTreeMap<(String, String), Vec<u8>>> = LazyLock::new(|| {
    let packed = include_bytes!("../../tests/data/formats.gz");
    let mut text = String::new();
    flate2::read::GzDecoder::new(&packed[..]).read_to_string(&mut text).unwrap();
    let formats = text.split("== ").skip(1).map(|format| {
        let (path, format) = format.split_once('\n').unwrap();
        let (group, name) = path.split_once('/').unwrap();
        ((group.to_owned(), name.to_owned()), format.into())
    });
    formats.collect()
});

/// As a table reads them.
pub(super) fn read(group: &str, name: &str) -> Option<Vec<u8>> {
    FORMATS.get(&(group.to_owned(), name.to_owned())).cloned()
}
