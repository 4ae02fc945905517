use super::*;

#[test]
fn an_attack_that_does_not_reach_something_is_none() {
    let mut seen = Seen { counts: [1; KINDS.len()] };
    assert_eq!(seen.check(), Ok(()));
    for (index, kind) in KINDS.iter().enumerate() {
        seen.counts[index] = 0;
        assert!(seen.check().unwrap_err().contains(&format!("no {kind};")));
        seen.counts[index] = 1;
    }
}

#[test]
fn counts_survive_a_pipe() {
    let mut seen = Seen { counts: std::array::from_fn(|index| index as u64) };
    assert_eq!(Seen::parse(&seen.line()), Some(seen));
    assert_eq!(Seen::parse("1 2"), None);
    seen.add(&seen.clone());
    assert_eq!(seen.counts[3], 6);
}
