use super::*;

#[test]
fn as_many_users_are_remembered_as_there_may_be() {
    let mut refusals = Refusals::default();
    let users = REFUSED_USERS_MAX as u32;
    for user in 0..=users {
        refusals.note(user);
        refusals.note(0);
    }
    assert_eq!((refusals.of(0), refusals.of(users - 1)), (u64::from(users) + 2, 1));
    assert_eq!((refusals.of(users), refusals.users().count()), (0, REFUSED_USERS_MAX));
}
