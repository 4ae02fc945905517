//! The memory of a buffer: reserved when it is made, taken as it is written.
//!
//! Either version fills it with records, back to back, each with a header of its own making. Clones are copied
//! out of it while it changes ([`snapshot`](super::snapshot)), so every change of what was written says first
//! where it will be.

use core::mem::MaybeUninit;

use super::snapshot::{Snapshot, SnapshotLimits};

/// Gets memory from the system that is about to be written for the first time, in one go: page by page,
/// as it is met, that takes a third longer.
pub type FaultIn = fn(&mut [MaybeUninit<u8>]);

/// Bytes of a record's header, and what records are aligned to.
pub(super) const HEADER: usize = 16;

/// Bytes that come from memory together, on most machines.
const CACHE_LINE: usize = 64;

/// How far beyond what was written memory is taken, if there is a way to take it in one go, bytes. More at a
/// time is not faster.
const AHEAD_BYTES: usize = 128 * 1024;

/// One allocation. Little beyond what was written is ever touched, and nothing before anything was, so an idle
/// buffer of a gigabyte costs nothing.
#[derive(Debug)]
pub(super) struct Memory {
    data: Vec<u8>,
    size: usize,
    fault_in: Option<FaultIn>,
    /// What ends before here need not ask for memory.
    faulted: usize,
    /// Copies on their way.
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

    /// Memory that was written, and will not be any more.
    fn of(data: Vec<u8>) -> Self {
        let (size, snapshots) = (data.len(), Vec::new());
        Self { data, size, fault_in: None, faulted: usize::MAX, snapshots, last_snapshot: 0 }
    }

    /// From now on memory is taken by `fault_in`, some way ahead.
    pub(super) fn set_fault_in(&mut self, fault_in: FaultIn) {
        self.fault_in = Some(fault_in);
        self.faulted = self.data.len();
    }

    #[cold]
    fn take_ahead(&mut self) {
        let Some(fault_in) = self.fault_in else { return };
        let len = self.data.len();
        let spare = self.data.spare_capacity_mut();
        let ahead = spare.len().min(AHEAD_BYTES);
        fault_in(spare.get_mut(..ahead).unwrap_or_default());
        self.faulted = len.saturating_add(ahead);
    }

    /// A copy to be read: what was never written takes no memory there.
    pub(super) fn try_clone(&self) -> Option<Self> {
        let mut data = Vec::new();
        data.try_reserve_exact(self.data.len()).ok()?;
        data.extend_from_slice(&self.data);
        Some(Self { size: self.size, ..Self::of(data) })
    }

    /// Begins a copy of what is here now; returns its number, and the memory that will hold it.
    pub(super) fn begin_snapshot(&mut self, limits: SnapshotLimits) -> Option<(u64, Self)> {
        let number = self.last_snapshot.wrapping_add(1);
        self.snapshots.push(Snapshot::new(number, self.data.len(), limits, self.fault_in)?);
        self.last_snapshot = number;
        Some((number, Self { size: self.size, ..Self::of(Vec::new()) }))
    }

    /// Copies about so many bytes more of a copy. Returns how many are left.
    pub(super) fn continue_snapshot(&mut self, number: u64, bytes: usize) -> usize {
        let Some(snapshot) = self.snapshots.iter_mut().find(|s| s.number == number) else {
            return 0;
        };
        snapshot.copy_more(&self.data, bytes);
        snapshot.left()
    }

    /// Ends a copy, whole or not.
    pub(super) fn take_snapshot(&mut self, number: u64) -> Option<Snapshot> {
        let at = self.snapshots.iter().position(|s| s.number == number)?;
        Some(self.snapshots.swap_remove(at))
    }

    /// Gives a memory that was made for a copy what is in it.
    pub(super) fn fill(&mut self, snapshot: Snapshot) -> Option<()> {
        self.data = snapshot.into_bytes()?;
        Some(())
    }

    /// Copies on their way.
    pub(super) fn snapshots(&self) -> usize {
        self.snapshots.len()
    }

    /// These bytes are about to change.
    #[inline]
    fn touch(&mut self, start: usize, end: usize) {
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

    /// Bytes ever written: the highest end of a record.
    #[inline]
    pub(super) fn used(&self) -> usize {
        self.data.len()
    }

    /// Bytes between two absolute positions; none if they lie outside or the wrong way round.
    #[inline]
    pub(super) fn between(&self, start: usize, end: usize) -> &[u8] {
        self.data.get(start..end).unwrap_or_default()
    }

    /// Brings all of it near in one go, which costs less than meeting it line by line.
    #[inline]
    pub(super) fn prefetch(&self, start: usize, end: usize) {
        let lines = self.between(start, end).iter().step_by(CACHE_LINE);
        core::hint::black_box(lines.fold(0, |all, byte| all | byte));
    }

    /// The same, to be changed.
    #[inline]
    pub(super) fn between_mut(&mut self, start: usize, end: usize) -> Option<&mut [u8]> {
        self.touch(start, end);
        self.data.get_mut(start..end)
    }

    /// Replaces bytes that were written before.
    #[inline]
    pub(super) fn overwrite(&mut self, off: u32, bytes: &[u8]) {
        let Ok(off) = usize::try_from(off) else { return };
        self.touch(off, off.saturating_add(bytes.len()));
        match self.data.get_mut(off..).and_then(|place| place.get_mut(..bytes.len())) {
            Some(place) => place.copy_from_slice(bytes),
            None => debug_assert!(false, "outside of what was written"),
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
        self.touch(off, off.saturating_add(HEADER));
        match self.data.get_mut(off..).and_then(|place| place.first_chunk_mut()) {
            Some(place) => *place = header.to_le_bytes(),
            None => debug_assert!(false, "outside of what was written"),
        }
    }

    /// Writes a record of `len` bytes at `off`, which is at most [`used`](Self::used). What is left behind
    /// the body is zero.
    pub(super) fn put(&mut self, off: usize, len: usize, header: u128, body: &[u8]) {
        let end = off.saturating_add(len);
        if end > self.size || off > self.data.len() || body.len() > len.saturating_sub(HEADER) {
            debug_assert!(false, "a record outside of the buffer");
            return;
        }
        if off == self.data.len() {
            if end > self.faulted {
                self.take_ahead();
            }
            self.data.extend_from_slice(&header.to_le_bytes());
            self.data.extend_from_slice(body);
            self.data.resize(end, 0);
            return;
        }
        self.touch(off, end);
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
