use super::*;

#[test]
fn a_daemon_that_stands_still_is_noticed() {
    let measured =
        |slowest, most_work| Measured::from([("Sync", Answers { count: 1, slowest, most_work })]);
    for is_short in [true, false] {
        let plan = Plan::new(Duration::ZERO, is_short);
        let check = |slowest, work| check(&measured(slowest, work), plan.answer_within, &plan);
        assert_eq!(check(plan.answer_within, plan.work_within), Ok(()));
        let longer = Duration::from_secs(11);
        assert!(check(longer, Duration::ZERO).is_err(), "it slept");
        assert!(check(Duration::ZERO, longer).is_err(), "it worked");
    }
}
