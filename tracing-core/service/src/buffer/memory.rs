//! The memory of a buffer: reserved when the buffer is made, and taken from the system when it is written.
//!
//! Each version fills it with records, back to back, with a header of its own format. Clones are copied
//! from it while it changes ([`snapshot`](super::snapshot)), so every function that changes written bytes first
//! lets the snapshots save them.

use super::snapshot::{FaultIn, Snapshot, SnapshotLimits};

/// Bytes of a record's header, and the alignment of records.
pub(super) const HEADER: usize = 16;

/// Bytes of a cache line, on most machines.
const CACHE_LINE: usize = 64;

/// How much memory one call of [`FaultIn`] maps, bytes. More at a time is not faster.
const AHEAD_BYTES: usize = 128 * 1024;

/// One allocation. Only written pages take memory (and a few ahead of them), so an idle buffer of a gigabyte costs
/// nothing.
#[derive(Debug)]
pub(super) struct Memory {
    data: Vec<u8>,
    size: usize,
    fault_in: Option<FaultIn>,
    /// End of the part that [`FaultIn`] has mapped.
    mapped: usize,
    /// Unfinished copies.
    snapshots: Vec<Snapshot>,
    last_snapshot: u64,
}

impl Memory {
    /// Reserves `bytes`, a multiple of 16.
    pub(super) fn new(bytes: usize) -> Option<Self> {
        let mut data = Vec::new();
        data.try_reserve_exact(bytes).ok()?;
        Some(Self { size: bytes, ..Self::of(data) })
    }

    /// Memory that was written and will not change.
    fn of(data: Vec<u8>) -> Self {
        let (size, snapshots) = (data.len(), Vec::new());
        Self { data, size, fault_in: None, mapped: usize::MAX, snapshots, last_snapshot: 0 }
    }

    /// From now on `fault_in` maps memory ahead of the writes.
    pub(super) fn set_fault_in(&mut self, fault_in: FaultIn) {
        self.fault_in = Some(fault_in);
        self.mapped = self.data.len();
    }

    #[cold]
    fn fault_in_ahead(&mut self) {
        let Some(fault_in) = self.fault_in else { return };
        let len = self.data.len();
        let spare = self.data.spare_capacity_mut();
        let ahead = spare.len().min(AHEAD_BYTES);
        fault_in(spare.get_mut(..ahead).unwrap_or_default());
        self.mapped = len.saturating_add(ahead);
    }

    /// A read-only copy, which has only the written part.
    pub(super) fn try_clone(&self) -> Option<Self> {
        let mut data = Vec::new();
        data.try_reserve_exact(self.data.len()).ok()?;
        data.extend_from_slice(&self.data);
        Some(Self { size: self.size, ..Self::of(data) })
    }

    /// Begins a copy of the bytes as they are now. Returns its number, and the memory that will hold it.
    pub(super) fn begin_snapshot(&mut self, limits: SnapshotLimits) -> Option<(u64, Self)> {
        let number = self.last_snapshot.wrapping_add(1);
        self.snapshots.push(Snapshot::new(number, self.data.len(), limits, self.fault_in)?);
        self.last_snapshot = number;
        Some((number, Self { size: self.size, ..Self::of(Vec::new()) }))
    }

    /// Copies about `bytes` more of an unfinished copy. Returns how many bytes are left.
    pub(super) fn continue_snapshot(&mut self, number: u64, bytes: usize) -> usize {
        let Some(snapshot) = self.snapshots.iter_mut().find(|s| s.number == number) else {
            return 0;
        };
        snapshot.copy_more(&self.data, bytes);
        snapshot.left()
    }

    /// Ends a copy, finished or not.
    pub(super) fn take_snapshot(&mut self, number: u64) -> Option<Snapshot> {
        let at = self.snapshots.iter().position(|s| s.number == number)?;
        Some(self.snapshots.swap_remove(at))
    }

    /// Moves a finished copy into the memory that was made for it.
    pub(super) fn fill(&mut self, snapshot: Snapshot) -> Option<()> {
        self.data = snapshot.into_bytes()?;
        Some(())
    }

    /// Goes on with memory that another one had, if it is large enough. Nothing may be written yet.
    pub(super) fn reuse(&mut self, mut bytes: Vec<u8>) {
        if bytes.capacity() >= self.size {
            bytes.clear();
            self.data = bytes;
        }
    }

    /// Takes the bytes away, for one who frees them.
    pub(super) fn take_bytes(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.data)
    }

    /// How many copies are unfinished.
    pub(super) fn snapshots(&self) -> usize {
        self.snapshots.len()
    }

    /// These bytes are about to change: lets unfinished copies save them.
    #[inline]
    fn before_write(&mut self, start: usize, end: usize) {
        if !self.snapshots.is_empty() {
            self.save(start, end);
        }
    }

    #[cold]
    #[inline(never)]
    fn save(&mut self, start: usize, end: usize) {
        for snapshot in &mut self.snapshots {
            snapshot.save(&self.data, start, end);
        }
    }

    /// Size, bytes.
    pub(super) fn size(&self) -> usize {
        self.size
    }

    /// Bytes ever written: the highest end of any record.
    #[inline]
    pub(super) fn used(&self) -> usize {
        self.data.len()
    }

    /// The bytes from `start` to `end`; empty if they are outside, or `end` is before `start`.
    #[inline]
    pub(super) fn between(&self, start: usize, end: usize) -> &[u8] {
        self.data.get(start..end).unwrap_or_default()
    }

    /// Loads these bytes into the cache. All lines together take less time than one after the other.
    #[inline]
    pub(super) fn prefetch(&self, start: usize, end: usize) {
        let lines = self.between(start, end).iter().step_by(CACHE_LINE);
        core::hint::black_box(lines.fold(0, |all, byte| all | byte));
    }

    /// The bytes from `start` to `end`, to be changed.
    #[inline]
    pub(super) fn between_mut(&mut self, start: usize, end: usize) -> Option<&mut [u8]> {
        self.before_write(start, end);
        self.data.get_mut(start..end)
    }

    /// Replaces bytes that were written before.
    #[inline]
    pub(super) fn overwrite(&mut self, off: u32, bytes: &[u8]) {
        let Ok(off) = usize::try_from(off) else { return };
        self.before_write(off, off.saturating_add(bytes.len()));
        match self.data.get_mut(off..).and_then(|place| place.get_mut(..bytes.len())) {
            Some(place) => place.copy_from_slice(bytes),
            None => debug_assert!(false, "outside of the written part"),
        }
    }

    /// The header at `off`; none where nothing was ever written.
    #[inline]
    pub(super) fn header(&self, off: usize) -> Option<u128> {
        Some(u128::from_le_bytes(*self.data.get(off..)?.first_chunk()?))
    }

    /// Replaces the header at `off`.
    #[inline]
    pub(super) fn put_header(&mut self, off: usize, header: u128) {
        self.before_write(off, off.saturating_add(HEADER));
        match self.data.get_mut(off..).and_then(|place| place.first_chunk_mut()) {
            Some(place) => *place = header.to_le_bytes(),
            None => debug_assert!(false, "outside of the written part"),
        }
    }

    /// Writes a record of `len` bytes at `off`, which is at most [`used`](Self::used). The bytes after
    /// the body are zero.
    pub(super) fn put(&mut self, off: usize, len: usize, header: u128, body: &[u8]) {
        let end = off.saturating_add(len);
        if end > self.size || off > self.data.len() || body.len() > len.saturating_sub(HEADER) {
            debug_assert!(false, "a record outside of the buffer");
            return;
        }
        if off == self.data.len() {
            if end > self.mapped {
                self.fault_in_ahead();
            }
            self.data.extend_from_slice(&header.to_le_bytes());
            self.data.extend_from_slice(body);
            self.data.resize(end, 0);
            return;
        }
        self.before_write(off, end);
        if self.data.len() < end {
            self.data.resize(end, 0);
        }
        let place = self.data.get_mut(off..end).and_then(|p| p.split_first_chunk_mut::<HEADER>());
        let Some((head, rest)) = place else { return };
        *head = header.to_le_bytes();
        let Some((used, slack)) = rest.split_at_mut_checked(body.len()) else { return };
        used.copy_from_slice(body);
        slack.fill(0);
    }
}
