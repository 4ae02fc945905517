//! Reads the pages of all CPUs of an instance of tracefs: a *pass*.
//!
//! ```text
//! pass      CPU 0 ─> batches ─> CPU 1 ─> batches ─> ...        at most PAGES_MAX pages of each CPU
//! batch     read, read, ... up to 32 pages ─> given to each subscriber
//! ```
//!
//! A pass leaves a CPU at the page that the kernel is writing, as reading on would take each event as a page. Nothing
//! tells which page that is, but two pages in turn that are less than half full do: an event that had no space on the
//! first would fill half of the second. The first page of a pass says nothing, as its first events may have been read
//! before. (Upstream's `cpu_reader.cc` leaves at one such page, also in a flush: what is behind it is lost.)

#[cfg(test)]
mod tests;

use std::io;

use protos::FtraceParseStatus as Status;
use rustix::io::Errno;

use super::page::{Commit, Page};

/// Pages that are read before they are parsed.
pub(crate) const BATCH_PAGES: usize = 32;
/// Pages of a CPU in a pass. If it has more, there is another pass, after the other CPUs.
pub(crate) const PAGES_MAX: usize = 256;

/// Smallest and largest page of a ring buffer that is read.
const PAGE_BYTES: std::ops::RangeInclusive<usize> = 4096..=1 << 20;

/// `per_cpu/cpuN/trace_pipe_raw`, opened without waiting.
pub(crate) trait Pipe {
    /// Takes a page from the ring buffer.
    ///
    /// # Errors
    /// Those of `read`; [`io::ErrorKind::WouldBlock`] if there is none.
    fn read(&mut self, page: &mut [u8]) -> io::Result<usize>;
}

impl<P: Pipe + ?Sized> Pipe for Box<P> {
    fn read(&mut self, page: &mut [u8]) -> io::Result<usize> {
        P::read(self, page)
    }
}

/// The memory of pages begins at a multiple of this, bytes. Some processors copy a page three times as fast to there as
/// to 16 bytes behind it, where an allocator puts it.
const ALIGNMENT: usize = 4096;

/// Pages of a CPU that were read together.
#[derive(Debug)]
pub(crate) struct Batch {
    memory: Box<[u8]>,
    /// Where the first page begins in it.
    start: usize,
    page_bytes: usize,
    len: usize,
}

/// Recognises the page that the kernel is writing.
#[derive(Debug, Default)]
struct Fullness {
    pages: usize,
    /// The last page but the first was less than half full.
    was_small: bool,
}

impl Fullness {
    /// The header of a page, and a record that extends the time: an event may need one on the page where it has no
    /// space, and none at the beginning of the next.
    const HEADER_BYTES: usize = 16 + 8;

    /// A page has records of `filled` bytes. Is it the one that the kernel is writing?
    fn is_being_written(&mut self, filled: usize, page_bytes: usize) -> bool {
        let is_small = filled < (page_bytes - Self::HEADER_BYTES) / 2;
        let is_being_written = is_small && self.was_small;
        self.was_small = is_small && self.pages > 0;
        self.pages += 1;
        is_being_written
    }
}

/// How a batch ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    /// There may be more.
    Full,
    /// The CPU has no more pages worth reading.
    Drained,
    /// The kernel refused, for a reason that is not expected.
    Failed(Status),
}

/// What a pass found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Passed {
    /// A CPU had more pages than a pass reads: the next pass is due at once.
    pub(crate) has_more: bool,
    /// Pages that were read.
    pub(crate) pages: usize,
}

/// What is done with what is read.
pub(crate) trait Take {
    /// Pages of a CPU, in their order.
    fn batch(&mut self, cpu: u32, batch: &Batch);

    /// A read failed, for a reason that is not expected.
    fn failed(&mut self, cpu: u32, status: Status);
}

impl Batch {
    /// Memory for pages of this size, which is rounded into what a kernel has: 4 KiB to 1 MiB.
    pub(crate) fn new(page_bytes: usize) -> Self {
        let page_bytes = page_bytes.clamp(*PAGE_BYTES.start(), *PAGE_BYTES.end());
        let memory: Box<[u8]> = vec![0; BATCH_PAGES * page_bytes + ALIGNMENT].into();
        let start = memory.as_ptr().align_offset(ALIGNMENT).min(ALIGNMENT);
        Self { memory, start, page_bytes, len: 0 }
    }

    /// The size of a page.
    pub(crate) fn page_bytes(&self) -> usize {
        self.page_bytes
    }

    /// The pages.
    pub(crate) fn pages(&self) -> impl Iterator<Item = &[u8]> {
        let memory = self.memory.get(self.start..).unwrap_or_default();
        memory.chunks_exact(self.page_bytes).take(self.len)
    }

    /// Reads up to `max` pages, the next ones of a CPU whose pages in this pass are known to `fullness`.
    fn fill(
        &mut self,
        pipe: &mut dyn Pipe,
        commit: Commit,
        max: usize,
        fullness: &mut Fullness,
    ) -> End {
        self.len = 0;
        let max = max.min(BATCH_PAGES);
        let memory = self.memory.get_mut(self.start..).unwrap_or_default();
        for page in memory.chunks_exact_mut(self.page_bytes).take(max) {
            match pipe.read(page) {
                Ok(0) => return End::Drained,
                Ok(len) if len == page.len() => self.len += 1,
                Ok(_) => return End::Failed(Status::FTRACE_STATUS_PARTIAL_PAGE_READ),
                Err(error) if is_expected(&error) => return End::Drained,
                Err(_) => return End::Failed(Status::FTRACE_STATUS_UNEXPECTED_READ_ERROR),
            }
            // A page that is no page is for the parser to tell.
            let filled = Page::parse(page, commit).map_or(page.len(), |page| page.records.len());
            if fullness.is_being_written(filled, page.len()) {
                return End::Drained;
            }
        }
        End::Full
    }
}

/// Nothing there; no memory, or the ring buffer is being changed; the CPU is off.
fn is_expected(error: &io::Error) -> bool {
    let expected = [Errno::NOMEM, Errno::BUSY, Errno::NODEV];
    error.kind() == io::ErrorKind::WouldBlock
        || Errno::from_io_error(error).is_some_and(|number| expected.contains(&number))
}

/// Reads at most `pages_max` pages of each CPU. A pipe that could not be opened is `None`.
pub(crate) fn pass<P: Pipe>(
    pipes: &mut [Option<P>],
    batch: &mut Batch,
    commit: Commit,
    pages_max: usize,
    take: &mut dyn Take,
) -> Passed {
    let mut passed = Passed { has_more: false, pages: 0 };
    for (cpu, pipe) in (0..).zip(pipes) {
        let Some(pipe) = pipe else { continue };
        let (mut left, mut fullness) = (pages_max, Fullness::default());
        loop {
            let end = batch.fill(pipe, commit, left, &mut fullness);
            left -= batch.len;
            passed.pages += batch.len;
            if batch.len > 0 {
                take.batch(cpu, batch);
            }
            if let End::Failed(status) = end {
                take.failed(cpu, status);
            }
            if end != End::Full {
                break;
            }
            if left == 0 {
                passed.has_more = true;
                break;
            }
        }
    }
    passed
}
