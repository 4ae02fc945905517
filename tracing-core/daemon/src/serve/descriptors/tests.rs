use super::*;

#[test]
fn what_was_opened_makes_it_ask_again() {
    const MANY: u64 = u64::MAX / 2;
    let mut descriptors = Descriptors { left: MANY };
    assert_eq!(descriptors.openable(10), Openable::Any);
    assert_eq!(descriptors.left, MANY - PER_READ - 10);
    let left = descriptors.left - PER_READ - ENOUGH;
    descriptors.openable(left);
    assert_eq!(descriptors.left, ENOUGH, "just enough");
    descriptors.left = MANY;
    descriptors.openable(MANY - PER_READ - ENOUGH + 1);
    assert!(descriptors.left < MANY / 2, "the kernel was asked");
}
