//! The names of types in brackets: `[type.googleapis.com/pkg.Message]`.

/// The message type whose content the text format can show.
pub(crate) const ANY: &str = "google.protobuf.Any";

/// Whether `url` can be printed in brackets and parsed again.
pub(super) fn is_url(url: &str) -> bool {
    let mut parts = url.split('/');
    let part = |part: &str| !part.is_empty() && part.bytes().all(is_url_byte);
    url.contains('/') && parts.all(part)
}

pub(super) fn is_url_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"_.-~!$&()*+,;=%".contains(&byte)
}
