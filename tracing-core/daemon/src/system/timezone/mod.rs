//! How far local time is from UTC: the variable `TZ`, else `/etc/localtime`.

use std::error::Error;
use std::io::Read as _;

use tz::timezone::TimeZoneSettings;

/// More than any zone file has, bytes.
const FILE_BYTES_MAX: u64 = 1024 * 1024;

const ZONES: TimeZoneSettings<'_> =
    TimeZoneSettings::new(TimeZoneSettings::DEFAULT_DIRECTORIES, read);

/// Minutes that local time is ahead of UTC at `unix_s`, seconds since 1970. Zero where the zone cannot be read, as
/// in the C library.
#[must_use]
pub fn offset_mins(unix_s: i64) -> i32 {
    let variable = std::env::var("TZ").ok();
    offset_of(variable.as_deref().unwrap_or("localtime"), unix_s).unwrap_or(0)
}

/// `zone` is the name of a zone file or a rule of POSIX (`CET-1CEST,M3.5.0,M10.5.0/3`).
fn offset_of(zone: &str, unix_s: i64) -> Option<i32> {
    let zone = ZONES.parse_posix_tz(zone).ok()?;
    Some(zone.find_local_time_type(unix_s).ok()?.ut_offset() / 60)
}

fn read(path: &str) -> Result<Vec<u8>, Box<dyn Error + Send + Sync>> {
    let mut bytes = Vec::new();
    std::fs::File::open(path)?.take(FILE_BYTES_MAX).read_to_end(&mut bytes)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests;
