use super::*;
use crate::config::light::{self, Light};

#[test]
fn what_cannot_be_recorded_is_told() {
    let words = ["sched", "freq", "a/b"].map(str::to_owned).to_vec();
    let config = light::config(&Light { words, ..Light::default() });
    let obstacle = Obstacle::Rights("no rights".to_owned());
    let line = "Not recorded: events of the kernel (sched, freq, a/b), because no rights";
    let mut left = config.clone();
    assert!(wants_events(&left));
    assert_eq!(leave_out(&mut left, &obstacle, false).unwrap(), line);
    assert!(!wants_events(&left));
    assert_eq!(left.data_sources.len(), config.data_sources.len() - 1);
    let mut strict = config.clone();
    let failure = leave_out(&mut strict, &obstacle, true).unwrap_err();
    assert_eq!((failure.code, failure.text.as_str(), strict == config), (EXIT_LOST, line, true));
}
