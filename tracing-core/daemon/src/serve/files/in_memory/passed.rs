//! What users may still have of what was written into pipes and sockets of this machine.
//!
//! That somebody has read a pipe says nothing: `splice` and `tee` move its pages into other pipes, or sockets, where
//! they stay memory of this process. Only the kernel knows how many pages there are, and not who has them. So a user
//! has at most what was written for it, and at most what the kernel's count has grown meanwhile:
//!
//! ```text
//!   written for a user     ██████ 6            ██████ 6            ██ 2
//!   the kernel counts   10          10 (+0)             14 (+4)            12 (less)
//!   on its account         ██████ 6   0        ██████ 6   ████ 4   ██████ 6   ████ 4
//! ```
//!
//! What grows counts for each user for whom something was written meanwhile, and all together have no more than the
//! kernel counts.

use abi::map::SortedMap;

/// See the [module](self).
#[derive(Default)]
pub(super) struct Passed {
    users: SortedMap<u32, Of>,
    /// What the kernel counted last.
    counted: u64,
    /// How often it was asked.
    asked: u64,
}

#[derive(Clone, Copy, Default)]
struct Of {
    /// What may be left of what was written before the kernel was asked last.
    left: u64,
    /// What was written since then.
    since: u64,
    /// Of that, what is being written: the kernel may not count it yet.
    writing: u64,
}

/// What the kernel counts if it is asked now.
pub(super) struct Written {
    users: SortedMap<u32, u64>,
    asked: u64,
}

impl Of {
    fn held(&self) -> u64 {
        self.left.saturating_add(self.since)
    }
}

impl Passed {
    /// What a user may have.
    pub(super) fn of(&self, uid: u32) -> u64 {
        self.users.get(&uid).map_or(0, Of::held)
    }

    /// The users that may have some.
    pub(super) fn users(&self) -> impl Iterator<Item = u32> + '_ {
        self.users.keys().copied()
    }

    /// What all may have.
    pub(super) fn sum(&self) -> u64 {
        self.users.values().map(Of::held).fold(0, u64::saturating_add)
    }

    /// So much is being written for a user.
    pub(super) fn begin(&mut self, uid: u32, more: u64) {
        let of = self.users.get_or_insert_with(uid, Of::default);
        of.since = of.since.saturating_add(more);
        of.writing = of.writing.saturating_add(more);
    }

    /// So much was written.
    pub(super) fn end(&mut self, uid: u32, bytes: u64) {
        if let Some(of) = self.users.get_mut(&uid) {
            of.writing = of.writing.saturating_sub(bytes);
        }
    }

    /// Before the kernel is asked.
    pub(super) fn written(&self) -> Written {
        let written = |(uid, of): (&u32, &Of)| (*uid, of.since.saturating_sub(of.writing));
        Written { users: self.users.iter().map(written).collect(), asked: self.asked }
    }

    /// It counts so many bytes, of what was `written` before the question.
    pub(super) fn settle(&mut self, counted: u64, written: &Written) {
        if written.asked != self.asked {
            // It was asked meanwhile.
            return;
        }
        self.asked = self.asked.wrapping_add(1);
        let grown = counted.saturating_sub(std::mem::replace(&mut self.counted, counted));
        for (uid, of) in self.users.iter_mut() {
            let written = written.users.get(uid).copied().unwrap_or(0);
            of.since = of.since.saturating_sub(written);
            of.left = of.left.saturating_add(written.min(grown));
        }
        shrink(self.users.iter_mut().map(|(_, of)| &mut of.left), counted);
        self.users.retain(|_, of| of.held() > 0);
    }
}

/// Shrinks numbers by the same part, so that the sum is at most `most`.
pub(super) fn shrink<'a>(numbers: impl Iterator<Item = &'a mut u64>, most: u64) {
    let numbers: Vec<&mut u64> = numbers.collect();
    let all = numbers.iter().map(|number| **number).fold(0, u64::saturating_add);
    if most >= all {
        return;
    }
    for number in numbers {
        let part = u128::from(*number).saturating_mul(most.into()).checked_div(all.into());
        *number = part.and_then(|part| u64::try_from(part).ok()).unwrap_or(*number);
    }
}
