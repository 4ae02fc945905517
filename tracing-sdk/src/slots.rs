//! The running instances of a data source, each in a slot, which is a bit in a word.

use std::sync::Arc;

use client::data_source::Instance;

/// How many sessions can record at the same time (as in the C++ client).
pub(crate) const COUNT: usize = 8;

/// Refuses an instance of the data source `name`, for which there is no slot.
pub(crate) fn refuse(instance: &Instance, name: &str) {
    crate::report::report!(
        "a session is not recorded: {COUNT} sessions with `{name}` run already, and more are not possible; stop one of \
         them"
    );
    // The consumer learns of it by the ledger of its session.
    instance.refuse();
}

/// See the [module](self).
pub(crate) struct Slots<T> {
    entries: [Option<Arc<T>>; COUNT],
    last_serial: u32,
}

impl<T> Slots<T> {
    pub(crate) const fn new() -> Self {
        Self { entries: [const { None }; COUNT], last_serial: 0 }
    }

    /// Puts what `make` makes of `parts` into a free slot; it also gets a serial number, which counts up and wraps.
    /// Gives the parts back if all slots are taken.
    pub(crate) fn put<P>(
        &mut self,
        parts: P,
        make: impl FnOnce(P, u32) -> T,
    ) -> Result<(usize, Arc<T>), P> {
        let Some(slot) = self.entries.iter().position(Option::is_none) else { return Err(parts) };
        self.last_serial = self.last_serial.wrapping_add(1);
        let value = Arc::new(make(parts, self.last_serial));
        if let Some(entry) = self.entries.get_mut(slot) {
            *entry = Some(value.clone());
        }
        Ok((slot, value))
    }

    pub(crate) fn get(&self, slot: usize) -> Option<&Arc<T>> {
        self.entries.get(slot)?.as_ref()
    }

    /// The serial number of the value that was put in last.
    pub(crate) fn last_serial(&self) -> u32 {
        self.last_serial
    }

    pub(crate) fn take(&mut self, slot: usize) -> Option<Arc<T>> {
        self.entries.get_mut(slot)?.take()
    }

    /// All slots at this moment.
    pub(crate) fn all(&self) -> [Option<Arc<T>>; COUNT] {
        self.entries.clone()
    }
}
