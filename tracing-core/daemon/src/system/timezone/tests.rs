//! Zones as files and as rules.

use super::*;

/// 2026-01-01 00:00 UTC.
const NEW_YEAR: i64 = 1_767_225_600;

fn at(days: i64, hours: i64) -> i64 {
    NEW_YEAR + days * DAY + hours * HOUR
}

#[test]
fn rules() {
    const BERLIN: &str = "CET-1CEST,M3.5.0,M10.5.0/3";
    for (rule, unix_s, minutes) in [
        ("UTC0", at(0, 0), Some(0)),
        ("<+0330>-3:30", at(0, 0), Some(210)),
        ("<-03>3", at(0, 0), Some(-180)),
        (BERLIN, at(0, 0), Some(60)),
        // The 29th of March at one o'clock UTC, the 25th of October at one.
        (BERLIN, at(87, 1) - 1, Some(60)),
        (BERLIN, at(87, 1), Some(120)),
        (BERLIN, at(297, 1) - 1, Some(120)),
        (BERLIN, at(297, 1), Some(60)),
        // The 8th of March at seven UTC, without a rule of its own.
        ("EST5EDT", at(66, 7) - 1, Some(-300)),
        ("EST5EDT", at(66, 7), Some(-240)),
        // Summer at the turn of the year.
        ("AEST-10AEDT,M10.1.0,M4.1.0/3", at(0, 0), Some(660)),
        ("AEST-10AEDT,M10.1.0,M4.1.0/3", at(180, 0), Some(600)),
        ("XXX0YYY,J60/0,300/0", at(59, 0), Some(60)),
        ("XXX0YYY,J60/0,300/0", at(58, 23), Some(0)),
        ("", 0, None),
        ("UT", 0, None),
        ("UTC", 0, None),
        ("CET-1CEST,M13.1.0,M10.5.0", 0, None),
        ("CET-1CEST,M3.5.0", 0, None),
        ("CET-1CEST,M3.5.0,M10.5.0/3,", 0, None),
        ("CET-99999999999999999999", 0, None),
    ] {
        assert_eq!(of_rule(rule, unix_s).map(|s| s / MINUTE), minutes, "{rule} {unix_s}");
    }
}

#[test]
fn years_begin_where_they_should() {
    for (year, days) in [(1970, 0), (1971, 365), (1973, 1096), (2000, 10957), (2001, 11323)] {
        assert_eq!(days_before(year), days, "{year}");
    }
    assert_eq!(days_before(2026) * DAY, NEW_YEAR);
}

/// A file: an empty block of version 1, then changes at 1000 (to an hour) and at 2000 (back), and a rule.
fn file(rule: &str) -> Vec<u8> {
    let header = |counts: [u32; 6]| {
        let mut bytes = b"TZif2".to_vec();
        bytes.resize(20, 0);
        counts.iter().for_each(|count| bytes.extend(count.to_be_bytes()));
        bytes
    };
    let mut bytes = header([0; 6]);
    bytes.extend(header([0, 0, 0, 2, 2, 4]));
    bytes.extend([1000_i64, 2000].map(i64::to_be_bytes).concat());
    bytes.extend([1, 0]);
    for offset in [-60_i32, 3600] {
        bytes.extend(offset.to_be_bytes());
        bytes.extend([0, 0]);
    }
    bytes.extend(b"abc\0\n");
    bytes.extend(rule.as_bytes());
    bytes.push(b'\n');
    bytes
}

#[test]
fn files() {
    let zone = file("EST5");
    for (unix_s, seconds) in
        [(0, -60), (999, -60), (1000, 3600), (1999, 3600), (2000, -5 * HOUR), (NEW_YEAR, -5 * HOUR)]
    {
        assert_eq!(of_file(&zone, unix_s), Some(seconds), "{unix_s}");
    }
    assert_eq!(of_file(&file(""), NEW_YEAR), Some(-60));
    for cut in 0..zone.len() {
        // Whatever it says, it says it without a panic.
        let _ = of_file(&zone[..cut], NEW_YEAR);
        let mut forged = zone.clone();
        forged[cut] = 0xff;
        let _ = of_file(&forged, NEW_YEAR);
    }
    assert_eq!(of_file(b"not a zone", 0), None);
}

#[test]
fn names_stay_in_their_folder() {
    assert_eq!(path_of("../../etc/shadow"), None);
    assert_eq!(path_of(""), None);
    assert_eq!(path_of("Europe/Berlin"), Some("/usr/share/zoneinfo/Europe/Berlin".into()));
}
