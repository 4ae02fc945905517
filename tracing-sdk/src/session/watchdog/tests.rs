use super::*;

#[test]
fn work_that_is_due_is_saved_once_the_first_one_first() {
    let now = Instant::now();
    let after = |seconds| now.checked_add(Duration::from_secs(seconds));
    let save = |path: &str| Next::Save(path.into());
    let mut list = List::default();
    assert_eq!(list.next(now), Next::Sleep(None));
    list.add(None, "never".into());
    assert_eq!(list.next(now), Next::Sleep(None));
    list.add(after(3), "three".into());
    let two = list.add(after(2), "two".into());
    list.add(after(1), "one".into());
    assert_eq!(list.next(now), Next::Sleep(Some(Duration::from_secs(1))));
    let now = after(1).expect("a time");
    assert_eq!(list.next(now), save("one"));
    assert_eq!(list.next(now), Next::Sleep(Some(Duration::from_secs(1))));
    // Done in time.
    list.remove(two);
    assert_eq!(list.next(now), Next::Sleep(Some(Duration::from_secs(2))));
    let later = now.checked_add(Duration::from_secs(9)).expect("a time");
    assert_eq!(list.next(later), save("three"));
    assert_eq!(list.next(later), Next::Sleep(None));
}
