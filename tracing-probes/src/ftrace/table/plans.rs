//! The plans of a session's events, found by id.

use super::plan::Plan;
use crate::ftrace::compact::Layout;

/// Plans by id: the events that a session has, each encoded as the session wants it.
#[derive(Debug)]
pub(crate) struct Plans {
    /// For each id one more than an index into `plans`, or 0.
    by_id: Vec<u16>,
    plans: Vec<Plan>,
    /// Offset of `common_pid`, an `i32`.
    pub(crate) pid_offset: u16,
    /// Where the columns of compact sched come from, if the session wants them and the kernel has them as expected.
    pub(crate) compact: Option<Layout>,
}

impl Plans {
    /// No plans yet.
    pub(crate) fn new(pid_offset: u16, compact: Option<Layout>) -> Self {
        Self { by_id: Vec::new(), plans: Vec::new(), pid_offset, compact }
    }

    /// Adds the plan of an id, in place of an older one.
    pub(crate) fn insert(&mut self, id: u16, plan: Plan) {
        let at = usize::from(id);
        if self.by_id.len() <= at {
            self.by_id.resize(at + 1, 0);
        }
        let Some(slot) = self.by_id.get_mut(at) else { return };
        match self.plans.get_mut(usize::from(*slot).wrapping_sub(1)) {
            Some(old) => *old = plan,
            None => {
                self.plans.push(plan);
                // There are at most 65,536 ids, one of which, 0, belongs to no event.
                *slot = u16::try_from(self.plans.len()).unwrap_or(0);
            }
        }
    }

    /// The plan of an id.
    #[inline]
    pub(crate) fn get(&self, id: u16) -> Option<&Plan> {
        self.plans.get(usize::from(*self.by_id.get(usize::from(id))?).wrapping_sub(1))
    }
}
