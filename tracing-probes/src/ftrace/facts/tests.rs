use super::Facts;
use crate::limits::FACTS_MAX;

#[test]
fn each_fact_is_told_once_until_they_are_cleared() {
    let mut facts = Facts::default();
    for _ in 0..2 {
        // 1 and 257 share a place among those noted last.
        for pid in [1, 257, 1, 257, -1] {
            facts.pid(pid);
        }
        assert_eq!(facts.pids.iter().copied().collect::<Vec<_>>(), [-1, 1, 257]);
        facts.clear();
        assert_eq!(facts.pids.iter().next(), None);
    }
}

#[test]
fn facts_have_a_limit() {
    let mut facts = Facts::default();
    for inode in 0..FACTS_MAX as u64 + 10 {
        facts.inode(0, inode);
        // What is there takes no place.
        facts.inode(0, 0);
    }
    assert_eq!(facts.inodes.iter().count(), FACTS_MAX);
}
