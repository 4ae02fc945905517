//! Clocks of the program: which of their snapshots a sequence has written since its opening.

/// The ids of clocks, and the number of the last snapshot of each.
#[derive(Default)]
pub(super) struct WrittenSnapshots(Vec<(u32, u32)>);

impl WrittenSnapshots {
    /// The number of the last snapshot of clock `id`; 0 if there is none.
    pub(super) fn version(&self, id: u32) -> u32 {
        self.0.iter().find(|(written, _)| *written == id).map_or(0, |(_, version)| *version)
    }

    /// Snapshot `version` of clock `id` is written.
    pub(super) fn set(&mut self, id: u32, version: u32) {
        match self.0.iter_mut().find(|(written, _)| *written == id) {
            Some((_, known)) => *known = version,
            None => self.0.push((id, version)),
        }
    }

    pub(super) fn clear(&mut self) {
        self.0.clear();
    }
}
