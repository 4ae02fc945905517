//! Zones as rules and as files.

use super::*;

const DAY: i64 = 24 * 3600;
/// 2026-01-01 00:00 UTC.
const NEW_YEAR: i64 = 1_767_225_600;

#[test]
fn rules_give_the_offset_of_their_season() {
    const BERLIN: &str = "CET-1CEST,M3.5.0,M10.5.0/3";
    for (rule, days, minutes) in [
        ("UTC0", 0, Some(0)),
        ("<+0330>-3:30", 0, Some(210)),
        ("<-03>3", 0, Some(-180)),
        (BERLIN, 0, Some(60)),
        (BERLIN, 180, Some(120)),
        ("AEST-10AEDT,M10.1.0,M4.1.0/3", 0, Some(660)),
        ("AEST-10AEDT,M10.1.0,M4.1.0/3", 180, Some(600)),
        ("", 0, None),
        ("CET-1CEST,M13.1.0,M10.5.0", 0, None),
        ("CET-99999999999999999999", 0, None),
        ("no such zone", 0, None),
    ] {
        assert_eq!(offset_of(rule, NEW_YEAR + days * DAY), minutes, "{rule}");
    }
}

/// A file of version 2: an empty block of version 1, then one change at the second 1000, and a rule.
#[test]
fn files_give_the_offset_of_the_time() {
    let header = |changes: u32, kinds: u32| {
        let mut bytes = b"TZif2".to_vec();
        bytes.resize(20, 0);
        for count in [0, 0, 0, changes, kinds, 4] {
            bytes.extend(u32::to_be_bytes(count));
        }
        bytes
    };
    let kind = |seconds: i32| [&seconds.to_be_bytes()[..], &[0, 0]].concat();
    let mut file = header(0, 1);
    file.extend([kind(0), b"abc\0".to_vec()].concat());
    file.extend(header(1, 2));
    file.extend(1000_i64.to_be_bytes());
    file.push(1);
    file.extend([kind(-3600), kind(7200), b"abc\0\nabc-2\n".to_vec()].concat());
    let path = std::env::temp_dir().join(format!("zone-{}", std::process::id()));
    std::fs::write(&path, &file).unwrap();
    let zone = path.to_str().unwrap();
    for (unix_s, minutes) in [(0, -60), (999, -60), (1000, 120), (NEW_YEAR, 120)] {
        assert_eq!(offset_of(zone, unix_s), Some(minutes), "{unix_s}");
    }
    std::fs::write(&path, &file[..60]).unwrap();
    assert_eq!(offset_of(zone, 0), None, "a file that was cut is no zone");
    std::fs::remove_file(&path).unwrap();
}
