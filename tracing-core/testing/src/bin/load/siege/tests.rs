use super::*;

#[test]
fn memory_that_no_mapping_shows_is_not_kept() {
    let held = |rss_kb, charged| Held {
        resources: Resources { rss_kb, descriptors: 1, threads: 1 },
        charged,
    };
    let check = |before: &Held, after: &Held| check_memory(before, after, None);
    let before = held(1000, Some(1 << 20));
    assert_eq!(check(&before, &held(1000 + SLACK_KB, Some(17 << 20))), Ok(()));
    assert!(check(&before, &held(1001 + SLACK_KB, Some(0))).is_err());
    assert!(check(&before, &held(1000, Some(18 << 20))).is_err());
    assert_eq!(check(&held(1000, None), &held(1000, None)), Ok(()));
}

/// Each limit of time, at it and beyond it.
#[test]
fn answers_have_limits_of_time() {
    let ms = Duration::from_millis;
    let plan = |is_short, is_timed| Plan {
        time: ms(1),
        producers: 0,
        writers: 0,
        hostile: 0,
        is_short,
        answer_within: ms(1),
        work_within: ms(1),
        is_timed,
    };
    let report = |p999, seen_p999, most| {
        let mut report = Report::default();
        (report.p999, report.seen_p999, report.most) = (ms(p999), ms(seen_p999), ms(most));
        report
    };
    let passes = |quiet, times: (u64, u64, u64), plan: &Plan| {
        let (p999, seen_p999, most) = times;
        check_times(&report(quiet, 0, 0), &report(p999, seen_p999, most), plan).is_ok()
    };
    let long = plan(false, true);
    assert!(passes(3, (30, 100, 5000), &long));
    // Ten times the quiet run, but never above 100 ms; and two are no difference.
    assert!(!passes(3, (31, 100, 5000), &long) && !passes(20, (101, 101, 200), &long));
    assert!(passes(0, (2, 2, 2), &long) && !passes(0, (3, 3, 3), &long));
    assert!(!passes(3, (30, 101, 5000), &long), "without a processor");
    assert!(!passes(3, (30, 100, 5001), &long), "stood still");
    let short = plan(true, true);
    assert!(passes(3, (500, 9999, 5000), &short) && !passes(3, (501, 9999, 5000), &short));
    assert!(passes(3, (9999, 9999, 9999), &plan(true, false)));
}
