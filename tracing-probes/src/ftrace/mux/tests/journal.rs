//! The journal against a slow one, which looks at each earlier change.

use proptest::prelude::*;

use super::super::journal::{Transaction, Until};
use super::*;
use crate::ftrace::tracefs::Tracefs;

/// Do both put back the same thing?
fn is_of_same(a: &Change, b: &Change) -> bool {
    match (a, b) {
        (Change::Append { .. } | Change::Truncate { .. }, _)
        | (_, Change::Append { .. } | Change::Truncate { .. }) => a == b,
        _ => a.path() == b.path(),
    }
}

#[derive(Clone, Debug)]
enum Step {
    /// A transaction that remembers these, and is kept or undone.
    Remember(Vec<(usize, usize)>, bool),
    PutBack(usize),
    PutBackAll,
}

const PATHS: [&str; 3] = ["options/overwrite", "options/record-tgid", "set_event"];
const KINDS: usize = 6;

fn change(kind: usize, path: usize) -> Change {
    let path = PATHS[path].to_owned();
    match kind {
        0 => Change::write(path, "0"),
        1 => Change::write(path, "1"),
        2 => Change::fill(path, "0"),
        3 => Change::append(path, ""),
        4 => Change::append(path, "\n"),
        _ => Change::Truncate { path },
    }
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let changes = proptest::collection::vec((0..KINDS, 0..PATHS.len()), 0..8);
    let step = prop_oneof![
        6 => (changes, any::<bool>()).prop_map(|(changes, keeps)| Step::Remember(changes, keeps)),
        2 => (0..PATHS.len()).prop_map(Step::PutBack),
        1 => Just(Step::PutBackAll),
    ];
    proptest::collection::vec(step, 1..20)
}

proptest! {
    #[test]
    fn as_a_slow_journal(steps in steps()) {
        let (fake, memory) = (Fake::new(), Memory::default());
        let mut journal = Journal::new(Some(Box::new(memory.clone())));
        let (mut slow, mut notes) = (Vec::<Change>::new(), Vec::new());
        for step in steps {
            match step {
                Step::Remember(changes, keeps) => {
                    let before = slow.clone();
                    let mut transaction = Transaction::new(&fake, &mut journal);
                    for (kind, path) in changes {
                        let undo = change(kind, path);
                        if !slow.iter().any(|other| is_of_same(other, &undo)) {
                            slow.push(undo.clone());
                        }
                        transaction.remember(undo, Until::LastSession).unwrap();
                    }
                    if keeps {
                        transaction.keep();
                    } else {
                        transaction.roll_back(&mut notes);
                        slow = before;
                    }
                }
                Step::PutBack(path) => {
                    journal.put_back(&fake, &[PATHS[path].to_owned()], &mut notes);
                    slow.retain(|change| change.path() != PATHS[path]);
                }
                Step::PutBackAll => {
                    journal.put_back_all(&fake, &mut notes);
                    slow.clear();
                }
            }
            let record: String = slow.iter().map(line).collect();
            let lines = memory.lines.borrow();
            prop_assert_eq!(str::from_utf8(&lines).unwrap(), record);
        }
    }
}

/// As many events as a kernel can have, and as many again: each looked at all before it, four thousand million in all.
#[test]
fn a_journal_of_all_events() {
    let (fake, memory) = (Fake::new(), Memory::default());
    let mut journal = Journal::new(Some(Box::new(memory.clone())));
    let mut transaction = Transaction::new(&fake, &mut journal);
    for turn in 0..2 {
        for event in 0..1 << 16 {
            let undo = Change::write(format!("events/group/event_{event}/enable"), "0");
            transaction.remember(undo, Until::LastSession).unwrap();
        }
        assert_eq!(
            memory.lines.borrow().iter().filter(|byte| **byte == b'\n').count(),
            1 << 16,
            "{turn}"
        );
    }
    transaction.keep();
    assert!(!fake.exists("events/group"));
}
