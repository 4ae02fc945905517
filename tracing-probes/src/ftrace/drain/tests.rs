use std::collections::VecDeque;
use std::io;

use protos::FtraceParseStatus as Status;
use rustix::io::Errno;

use super::super::page::Commit;
use super::super::page::made::Made;
use super::{BATCH_PAGES, Batch, PAGES_MAX, Passed, Pipe, Take, pass};

const PAGE: usize = 4096;

/// What a read gives.
#[derive(Clone, Debug)]
enum Read {
    Page(Vec<u8>),
    Short(usize),
    Fail(Errno),
}

/// Plays reads, and then has nothing.
#[derive(Clone, Debug, Default)]
struct Script(VecDeque<Read>);

impl Pipe for Script {
    fn read(&mut self, page: &mut [u8]) -> io::Result<usize> {
        match self.0.pop_front().unwrap_or(Read::Fail(Errno::AGAIN)) {
            Read::Page(bytes) => {
                page.copy_from_slice(&bytes);
                Ok(bytes.len())
            }
            Read::Short(len) => Ok(len),
            Read::Fail(number) => Err(number.into()),
        }
    }
}

/// A page with this time; full, or with one event.
fn page(time: u64, is_full: bool) -> Read {
    let mut made = Made::new(time);
    for _ in 0..if is_full { 30 } else { 1 } {
        made = made.event(1, &[7; 100]);
    }
    Read::Page(made.page(PAGE, Commit::Eight))
}

fn script(reads: impl IntoIterator<Item = Read>) -> Option<Script> {
    Some(Script(reads.into_iter().collect()))
}

/// The CPUs and times of all pages, batch by batch, and what failed.
#[derive(Debug, Default, PartialEq)]
struct Log {
    batches: Vec<(u32, Vec<u64>)>,
    failed: Vec<(u32, Status)>,
}

impl Take for Log {
    fn batch(&mut self, cpu: u32, batch: &Batch) {
        let time = |page: &[u8]| page.first_chunk().map_or(0, |time| u64::from_le_bytes(*time));
        self.batches.push((cpu, batch.pages().map(time).collect()));
    }

    fn failed(&mut self, cpu: u32, status: Status) {
        self.failed.push((cpu, status));
    }
}

fn run(pipes: &mut [Option<Script>], pages_max: usize) -> (Passed, Log) {
    let (mut batch, mut log) = (Batch::new(PAGE), Log::default());
    let passed = pass(pipes, &mut batch, Commit::Eight, pages_max, &mut log);
    (passed, log)
}

#[test]
fn cpus_take_turns_and_batches_are_bounded() {
    let many = |from: u64, count: u64| script((from..from + count).map(|time| page(time, true)));
    let mut pipes = [many(0, 300), None, many(1000, 40), script([])];
    let (passed, log) = run(&mut pipes, PAGES_MAX);
    assert_eq!(passed, Passed { has_more: true, pages: 256 + 40 });
    let lens: Vec<_> = log.batches.iter().map(|(cpu, pages)| (*cpu, pages.len())).collect();
    assert_eq!(lens, [[(0, BATCH_PAGES); 8].as_slice(), &[(2, 32), (2, 8)]].concat());
    let times: Vec<u64> = log.batches.iter().flat_map(|(_, pages)| pages.clone()).collect();
    assert_eq!(times, (0..256).chain(1000..1040).collect::<Vec<_>>());
    let (passed, log) = run(&mut pipes, PAGES_MAX);
    assert_eq!(passed, Passed { has_more: false, pages: 44 });
    assert_eq!(log.failed, []);
}

#[test]
fn a_page_that_is_being_written_ends_a_pass() {
    // The first page may be the rest of one.
    let reads = [(1, false), (2, false), (3, true), (4, false), (5, false), (6, true)];
    let mut pipes = [script(reads.map(|(time, is_full)| page(time, is_full)))];
    let (passed, log) = run(&mut pipes, PAGES_MAX);
    assert_eq!((passed.pages, log.batches), (5, vec![(0, vec![1, 2, 3, 4, 5])]));
    // The two pages that are less than half full are in two batches.
    let full = (0..31).map(|time| page(time, true));
    let reads = full.chain([page(31, false), page(32, false), page(33, true)]);
    let (passed, log) = run(&mut [script(reads)], PAGES_MAX);
    assert_eq!((passed.pages, log.batches.len()), (33, 2));
}

/// The pages of events of these sizes as the kernel writes them. An event that has no space left begins a page. Some
/// events have a record before them that extends the time, except at the beginning of a page.
fn written(sizes: &[(usize, bool)]) -> Vec<Read> {
    const CAPACITY: usize = PAGE - 16;
    let mut pages = Vec::new();
    let mut made = Made::new(0);
    for (time, (size, extends_time)) in (1..).zip(sizes) {
        let body = vec![7; *size];
        let extension = if *extends_time { 8 } else { 0 };
        if made.records.len() + extension + 8 + size.next_multiple_of(4) > CAPACITY {
            pages.push(made.page(PAGE, Commit::Eight));
            made = Made::new(time);
        } else if *extends_time {
            made = made.pair(30, 0, 1);
        }
        made = made.long_event(0, &body);
    }
    pages.push(made.page(PAGE, Commit::Eight));
    pages.into_iter().map(Read::Page).collect()
}

proptest::proptest! {
    /// A flush finds everything that was written before, however large the events are.
    #[test]
    fn no_page_is_left(
        sizes in proptest::collection::vec(
            (proptest::prop_oneof![4usize..200, 1900usize..2100, 4usize..4060], proptest::bool::ANY),
            1..60,
        ),
        is_first_read_before in proptest::bool::ANY,
    ) {
        let mut pages = written(&sizes);
        if is_first_read_before {
            pages.insert(0, page(0, false));
        }
        let all = pages.len();
        let (passed, _) = run(&mut [script(pages)], all + 1);
        proptest::prop_assert_eq!(passed, Passed { has_more: false, pages: all });
    }
}

#[test]
fn reads_that_give_nothing() {
    for number in [Errno::AGAIN, Errno::NOMEM, Errno::BUSY, Errno::NODEV] {
        let mut pipes =
            [script([page(1, true), Read::Fail(number), page(2, true)]), script([page(3, true)])];
        let (passed, log) = run(&mut pipes, PAGES_MAX);
        assert_eq!((passed.pages, log.failed), (2, vec![]), "{number}");
        assert_eq!(log.batches, [(0, vec![1]), (1, vec![3])]);
    }
    let (passed, log) = run(&mut [script([Read::Short(0), page(1, true)])], PAGES_MAX);
    assert_eq!((passed.pages, log), (0, Log::default()));
}

#[test]
fn reads_that_fail() {
    for (read, status) in [
        (Read::Short(100), Status::FTRACE_STATUS_PARTIAL_PAGE_READ),
        (Read::Fail(Errno::IO), Status::FTRACE_STATUS_UNEXPECTED_READ_ERROR),
    ] {
        let (passed, log) =
            run(&mut [script([page(1, true), read, page(2, true)]), script([page(3, true)])], 99);
        assert_eq!(log.failed, [(0, status)]);
        assert_eq!((passed.pages, log.batches), (2, vec![(0, vec![1]), (1, vec![3])]));
    }
}

#[test]
fn pages_that_are_none_are_given_on() {
    let mut pipes = [script([Read::Page(vec![0; PAGE]), page(2, true)])];
    let (passed, _) = run(&mut pipes, PAGES_MAX);
    assert_eq!(passed.pages, 2);
}

#[test]
fn a_bound_below_a_batch() {
    let mut pipes = [script((0..9).map(|time| page(time, true)))];
    let (passed, log) = run(&mut pipes, 5);
    assert_eq!((passed.has_more, log.batches), (true, vec![(0, (0..5).collect())]));
    assert_eq!(run(&mut pipes, 0).0, Passed { has_more: true, pages: 0 });
}

/// The kernel copies them faster. An allocator alone leaves 16 bytes for itself at the beginning.
#[test]
fn pages_are_where_pages_of_memory_are() {
    struct Aligned(usize);
    impl Take for Aligned {
        fn batch(&mut self, _: u32, batch: &Batch) {
            let addresses = batch.pages().map(|page| page.as_ptr().addr());
            self.0 += addresses.filter(|address| address.is_multiple_of(PAGE)).count();
        }

        fn failed(&mut self, _: u32, _: Status) {}
    }
    let (mut batch, mut aligned) = (Batch::new(PAGE), Aligned(0));
    let reads = (0..BATCH_PAGES as u64 + 3).map(|time| page(time, true));
    let passed = pass(&mut [script(reads)], &mut batch, Commit::Eight, PAGES_MAX, &mut aligned);
    assert_eq!(aligned.0, passed.pages);
    assert_eq!(passed.pages, BATCH_PAGES + 3);
}
