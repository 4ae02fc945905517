//! How far local time is from UTC: `TZ`, else `/etc/localtime`.
//!
//! A zone is a file of tzdata (RFC 9636: a list of changes, and behind it a rule for the time after the last
//! of them) or such a rule by itself (POSIX, `CET-1CEST,M3.5.0,M10.5.0/3`). Files and variables are what
//! they are: whatever cannot be read means UTC, as it does to the C library.

use std::path::{Path, PathBuf};

const MINUTE: i64 = 60;
const HOUR: i64 = 60 * MINUTE;
const DAY: i64 = 24 * HOUR;
/// More than any zone file has.
const FILE_BYTES_MAX: u64 = 1024 * 1024;

/// Minutes that local time is ahead of UTC at `unix_s`, seconds since 1970.
#[must_use]
pub fn offset_mins(unix_s: i64) -> i32 {
    let variable = std::env::var("TZ").ok();
    let seconds = match variable.as_deref() {
        None => read(Path::new("/etc/localtime")).and_then(|file| of_file(&file, unix_s)),
        Some(text) => {
            let text = text.strip_prefix(':').unwrap_or(text);
            let file = path_of(text).and_then(|path| read(&path));
            file.and_then(|file| of_file(&file, unix_s)).or_else(|| of_rule(text, unix_s))
        }
    };
    i32::try_from(seconds.unwrap_or(0) / MINUTE).unwrap_or(0)
}

/// Where the zone of that name is kept, if it is a name.
fn path_of(name: &str) -> Option<PathBuf> {
    let is_name = !name.is_empty() && name.split('/').all(|part| part != "..");
    is_name.then(|| Path::new("/usr/share/zoneinfo").join(name))
}

fn read(path: &Path) -> Option<Vec<u8>> {
    let file = std::fs::File::open(path).ok()?;
    let mut bytes = Vec::new();
    std::io::Read::read_to_end(&mut std::io::Read::take(file, FILE_BYTES_MAX), &mut bytes).ok()?;
    Some(bytes)
}

// ---------------------------------------------------------------- files

/// The counts in the header of a block.
struct Header {
    version: u8,
    changes: usize,
    kinds: usize,
    /// Bytes behind the changes and kinds.
    rest: usize,
}

impl Header {
    const BYTES: usize = 44;

    /// `word` is the length of a point in time: 4 in the first block, 8 in the second.
    fn parse(bytes: &[u8], word: usize) -> Option<Self> {
        let (magic, counts) = (bytes.get(..4)?, bytes.get(20..Self::BYTES)?);
        if magic != b"TZif" {
            return None;
        }
        let counts: Vec<usize> = counts
            .chunks_exact(4)
            .map(|count| big_endian(count).and_then(|count| usize::try_from(count).ok()))
            .collect::<Option<_>>()?;
        let &[utc, standard, leaps, changes, kinds, letters] = counts.as_slice() else {
            return None;
        };
        let rest = letters + leaps.checked_mul(word + 4)? + standard + utc;
        Some(Self { version: *bytes.get(4)?, changes, kinds, rest })
    }

    fn body(&self, word: usize) -> Option<usize> {
        self.changes.checked_mul(word + 1)?.checked_add(self.kinds.checked_mul(6)? + self.rest)
    }
}

/// A number of up to eight bytes.
fn big_endian(bytes: &[u8]) -> Option<i64> {
    let negative = bytes.len() > 4 || bytes.len() == 4;
    let first = *bytes.first()?;
    let start = if negative && first >= 0x80 { -1 } else { 0 };
    Some(bytes.iter().fold(start, |number, byte| (number << 8) | i64::from(*byte)))
}

fn of_file(file: &[u8], unix_s: i64) -> Option<i64> {
    let mut word = 4;
    let mut header = Header::parse(file, word)?;
    let mut block = file.get(Header::BYTES..)?;
    if header.version >= b'2' {
        let second = block.get(header.body(word)?..)?;
        word = 8;
        header = Header::parse(second, word)?;
        block = second.get(Header::BYTES..)?;
    }
    let times = block.get(..header.changes.checked_mul(word)?)?;
    let indices = block.get(times.len()..)?.get(..header.changes)?;
    let kinds = block.get(times.len() + indices.len()..)?.get(..header.kinds.checked_mul(6)?)?;
    let past = times
        .chunks_exact(word)
        .take_while(|time| big_endian(time).is_some_and(|time| time <= unix_s))
        .count();
    if word == 8 && past == header.changes {
        let footer = block.get(header.body(word)?..)?.strip_prefix(b"\n")?;
        let rule = std::str::from_utf8(footer.split(|byte| *byte == b'\n').next()?).ok()?;
        if !rule.is_empty() {
            return of_rule(rule, unix_s);
        }
    }
    // Before the first change the first kind counts.
    let kind = past.checked_sub(1).and_then(|last| indices.get(last)).copied().unwrap_or(0);
    big_endian(kinds.chunks_exact(6).nth(kind.into())?.get(..4)?)
}

// ---------------------------------------------------------------- rules

/// Takes a text apart from its beginning.
struct Text<'a>(&'a str);

impl<'a> Text<'a> {
    fn take(&mut self, is: impl Fn(char) -> bool) -> &'a str {
        let end = self.0.find(|c| !is(c)).unwrap_or(self.0.len());
        let (taken, rest) = self.0.split_at(end);
        self.0 = rest;
        taken
    }

    fn eat(&mut self, c: char) -> bool {
        let rest = self.0.strip_prefix(c);
        self.0 = rest.unwrap_or(self.0);
        rest.is_some()
    }

    fn number(&mut self) -> Option<i64> {
        self.take(|c| c.is_ascii_digit()).parse().ok().filter(|number| *number < 1000)
    }

    fn name(&mut self) -> Option<()> {
        let name = if self.eat('<') {
            let name = self.take(|c| c != '>');
            self.eat('>').then_some(name)?
        } else {
            self.take(|c| c.is_ascii_alphabetic())
        };
        (name.len() >= 3).then_some(())
    }

    /// `[+-]hh[:mm[:ss]]`, seconds.
    fn time(&mut self) -> Option<i64> {
        let negative = self.eat('-');
        let _ = !negative && self.eat('+');
        let mut seconds = self.number()? * HOUR;
        for unit in [MINUTE, 1] {
            if self.eat(':') {
                seconds += self.number()? * unit;
            }
        }
        Some(if negative { -seconds } else { seconds })
    }

    /// `DATE[/TIME]`: the moment of local time in a year, seconds from its beginning.
    fn change(&mut self, year: i64) -> Option<i64> {
        let day = if self.eat('M') {
            let month = self.number()?;
            let week = self.eat('.').then(|| self.number()).flatten()?;
            let weekday = self.eat('.').then(|| self.number()).flatten()?;
            nth_weekday(year, month, week, weekday)?
        } else if self.eat('J') {
            // The 29th of February is never counted.
            let day = self.number()?.checked_sub(1)?;
            day + i64::from(is_leap(year) && day >= 59)
        } else {
            self.number()?
        };
        let time = if self.eat('/') { self.time()? } else { 2 * HOUR };
        Some(day * DAY + time)
    }
}

fn is_leap(year: i64) -> bool {
    year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
}

/// Days from 1970 to the beginning of a year.
fn days_before(year: i64) -> i64 {
    let past = year - 1;
    365 * (year - 1970) + (past / 4 - 1969 / 4) - (past / 100 - 1969 / 100) + past / 400
        - 1969 / 400
}

/// The day of a year, from 0, that is the `week`th of its weekday (Sunday is 0) in a month; 5 is the last.
fn nth_weekday(year: i64, month: i64, week: i64, weekday: i64) -> Option<i64> {
    let february = if is_leap(year) { 29 } else { 28 };
    let lengths = [31, february, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
    if !(1..=5).contains(&week) || !(0..=6).contains(&weekday) {
        return None;
    }
    let index = usize::try_from(month.checked_sub(1)?).ok()?;
    let length = *lengths.get(index)?;
    let first: i64 = lengths.get(..index)?.iter().sum();
    // 1970 began on a Thursday.
    let first_weekday = (days_before(year) + first + 4).rem_euclid(7);
    let mut day = (weekday - first_weekday).rem_euclid(7) + 7 * (week - 1);
    while day >= length {
        day -= 7;
    }
    Some(first + day)
}

/// Seconds east of UTC by a rule; none if it is none.
fn of_rule(rule: &str, unix_s: i64) -> Option<i64> {
    let mut text = Text(rule);
    text.name()?;
    // West is positive there.
    let standard = -text.time()?;
    if text.0.is_empty() {
        return Some(standard);
    }
    text.name()?;
    let summer = match text.0.chars().next() {
        None | Some(',') => standard + HOUR,
        Some(_) => -text.time()?,
    };
    if text.0.is_empty() {
        // What the C library takes for everybody's rule.
        text = Text(",M3.2.0,M11.1.0");
    }
    let local_days = (unix_s + standard).div_euclid(DAY);
    let mut year = 1970 + local_days.div_euclid(366);
    while days_before(year + 1) <= local_days {
        year += 1;
    }
    let start = text.eat(',').then(|| text.change(year)).flatten()?;
    let end = text.eat(',').then(|| text.change(year)).flatten()?;
    if !text.0.is_empty() {
        return None;
    }
    // The moments are told in the time that ends with them.
    let since = unix_s - days_before(year) * DAY;
    let (start, end) = (start - standard, end - summer);
    let is_summer =
        if start < end { (start..end).contains(&since) } else { !(end..start).contains(&since) };
    Some(if is_summer { summer } else { standard })
}

#[cfg(test)]
mod tests;
