use super::*;

const LIMITS: Limits = Limits { trigger_names_max: 4, ..Limits::DEFAULT };

/// What is known of names of users, after these activations.
fn counts(activations: &[(u32, &str)], of: &[(u32, &str)]) -> Vec<usize> {
    let mut history = TriggerHistory::default();
    for (at_ns, (uid, name)) in (0..).zip(activations) {
        history.note(*uid, name, at_ns, &LIMITS);
        assert!(history.len() <= LIMITS.trigger_names_max);
    }
    of.iter().map(|(uid, name)| history.count(*uid, name, 100)).collect()
}

#[test]
fn each_user_has_its_own_numbers() {
    assert_eq!(counts(&[(1, "a"), (1, "a"), (2, "a")], &[(1, "a"), (2, "a"), (3, "a")]), [2, 1, 0]);
}

/// One that takes more and more names forgets its own.
#[test]
fn a_user_keeps_its_part_of_the_names() {
    let many = [(1, "a"), (2, "b"), (2, "c"), (2, "d"), (2, "e"), (2, "f"), (2, "g")];
    let known = [(1, "a"), (2, "d"), (2, "e"), (2, "f"), (2, "g")];
    assert_eq!(counts(&many, &known), [1, 0, 1, 1, 1]);
    // Then the other one takes its part.
    let more = [many.as_slice(), &[(1, "h"), (1, "i")]].concat();
    let known = [(1, "a"), (1, "h"), (1, "i"), (2, "f"), (2, "g")];
    assert_eq!(counts(&more, &known), [0, 1, 1, 1, 1]);
}
