use super::sticky::{Counter, State};
use crate::category::Category;
use crate::event::counter_value::CounterValue;

static NOBODY: Category = Category::new("nobody.records.this");

/// Values that a thread sets one after the other, and what another thread reads meanwhile: each with a time at which it
/// was true.
fn check(set: impl Fn(usize) + Send, settled: impl Fn() -> Option<(u64, usize)>) {
    const COUNT: usize = 20_000;
    set(0);
    let (read, times) = std::thread::scope(|scope| {
        let setter = scope.spawn(move || {
            // Each value is set between two times.
            let mut times = vec![os::clock::boot_ns()];
            for value in 1..=COUNT {
                let before = os::clock::boot_ns();
                set(value);
                times.extend([before, os::clock::boot_ns()]);
            }
            times
        });
        let mut read = Vec::new();
        while !setter.is_finished() {
            read.extend(settled());
        }
        (read, setter.join().expect("no panic"))
    });
    for (time_ns, value) in read {
        let begin = if value == 0 { 0 } else { times[2 * value - 1] };
        let end = times.get(2 * value + 2).copied().unwrap_or(u64::MAX);
        assert!((begin..=end).contains(&time_ns), "{value}: {begin}, {time_ns}, {end}");
    }
}

#[test]
fn a_remembered_counter_has_a_time_at_which_it_was_true() {
    static COUNTER: Counter = Counter::new("counter");
    let number = |value| match value {
        (time_ns, CounterValue::Int(value)) => (time_ns, usize::try_from(value).expect("a value")),
        (_, value) => panic!("{value:?}"),
    };
    check(|value| COUNTER.set(&NOBODY, value), || COUNTER.settled().map(number));
    check(
        |value| match value {
            0 => COUNTER.set(&NOBODY, 0),
            _ => COUNTER.add(&NOBODY, 1),
        },
        || COUNTER.settled().map(number),
    );
}

#[test]
fn a_remembered_state_has_a_time_at_which_it_was_true() {
    static STATE: State = State::new("state");
    let number = |(time_ns, text): (u64, Option<String>)| {
        (time_ns, text.expect("a text").parse().expect("a number"))
    };
    check(|value| STATE.set(&NOBODY, &value.to_string()), || STATE.settled().map(number));
}

#[test]
fn a_counter_that_is_no_number_is_remembered() {
    static COUNTER: Counter = Counter::new("counter");
    COUNTER.set(&NOBODY, f64::NAN);
    let value = COUNTER.settled().map(|(_, value)| value);
    assert!(matches!(value, Some(CounterValue::Double(value)) if value.is_nan()));
}

#[test]
fn a_number_is_added_to_one_with_a_fraction() {
    static COUNTER: Counter = Counter::new("counter");
    let value = || COUNTER.settled().map(|(_, value)| value);
    COUNTER.set(&NOBODY, 1.5);
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| (0..1_000).for_each(|_| COUNTER.add(&NOBODY, 2)));
        }
    });
    assert_eq!(value(), Some(CounterValue::Double(4_001.5)));
    COUNTER.set(&NOBODY, 3);
    COUNTER.add(&NOBODY, -5);
    assert_eq!(value(), Some(CounterValue::Int(-2)));
    COUNTER.set(&NOBODY, 0.25);
    COUNTER.forget();
    COUNTER.add(&NOBODY, 1);
    assert_eq!(value(), Some(CounterValue::Int(1)));
}
