use proptest::prelude::*;
use protos::FtraceParseStatus as Status;

use super::made::Made;
use super::{Commit, EXTEND, Lost, PADDING, Page, STAMP};

const SIZE: usize = 4096;

/// Times and bytes of all events, or the status that ends them.
fn read(page: &[u8], commit: Commit) -> (Vec<(u64, Vec<u8>)>, Option<Status>) {
    let page = match Page::parse(page, commit) {
        Ok(page) => page,
        Err(status) => return (Vec::new(), Some(status)),
    };
    let (mut events, mut status) = (Vec::new(), None);
    for event in page.events() {
        assert_eq!(status, None, "an event behind an error");
        match event {
            Ok(event) => events.push((event.time, event.bytes.to_vec())),
            Err(error) => status = Some(error),
        }
    }
    (events, status)
}

fn status_of(made: Made) -> Option<Status> {
    let made = Made::new(7).event(1, b"first event.").then(made);
    let (events, status) = read(&made.page(SIZE, Commit::Eight), Commit::Eight);
    assert_eq!(events.first().map(|(time, _)| *time), Some(8), "what is before an error is kept");
    status
}

impl Made {
    fn then(mut self, other: Self) -> Self {
        self.records.extend(other.records);
        self
    }

    fn bytes(mut self, bytes: &[u8]) -> Self {
        self.records.extend_from_slice(bytes);
        self
    }
}

#[test]
fn times_add_up() {
    let made = Made::new(1 << 40)
        .event(5, b"one.")
        .pair(EXTEND, 3, 2)
        .event(0, b"two.")
        .pair(PADDING, 4, 8)
        .bytes(b"skip")
        .event(1, b"four")
        .pair(STAMP, 9, 1 << 13)
        .long_event(1, b"long");
    let (events, status) = read(&made.page(SIZE, Commit::Eight), Commit::Eight);
    let base = 1_u64 << 40;
    let extended = base + 5 + 3 + (2 << 27);
    let want = [
        (base + 5, b"one.".to_vec()),
        (extended, b"two.".to_vec()),
        (extended + 4 + 1, b"four".to_vec()),
        ((1 << 40) + 9 + 1, b"long".to_vec()),
    ];
    assert_eq!((events, status), (want.to_vec(), None));
}

#[test]
fn a_stamp_takes_its_highest_bits_from_the_time_before() {
    let high = 0xa8_u64 << 56;
    let made = Made::new(high | 100).pair(STAMP, 50, 0).event(0, b"less");
    let (events, _) = read(&made.page(SIZE, Commit::Eight), Commit::Eight);
    assert_eq!(events.first().map(|(time, _)| *time), Some((high | 50).wrapping_add(1 << 59)));
    let made = Made::new(high | 100).pair(STAMP, 101, 0).event(0, b"more");
    let (events, _) = read(&made.page(SIZE, Commit::Eight), Commit::Eight);
    assert_eq!(events.first().map(|(time, _)| *time), Some(high | 101));
}

#[test]
fn the_end_of_a_page_says_what_was_lost() {
    for commit in [Commit::Four, Commit::Eight] {
        let mut made = Made::new(1).event(0, b"some");
        for lost in [Lost::Nothing, Lost::Some, Lost::Count(0x771)] {
            made.lost = lost;
            let page = made.page(SIZE, commit);
            let want = if lost == Lost::Some { Lost::Some } else { lost };
            assert_eq!(Page::parse(&page, commit).map(|page| page.lost), Ok(want));
        }
    }
    // A full page has no space for the count.
    let full = vec![0; SIZE - 16];
    let mut page =
        Made { records: full, lost: Lost::Some, ..Made::new(1) }.page(SIZE, Commit::Eight);
    page[11] |= 0x40;
    assert_eq!(Page::parse(&page, Commit::Eight).map(|page| page.lost), Ok(Lost::Some));
}

#[test]
fn each_status() {
    let new = || Made::new(0);
    let cases = [
        (new().bytes(b"ab"), Status::FTRACE_STATUS_ABI_SHORT_EVENT_HEADER),
        (new().head(PADDING, 0), Status::FTRACE_STATUS_ABI_NULL_PADDING),
        (new().head(PADDING, 1), Status::FTRACE_STATUS_ABI_SHORT_PADDING_LENGTH),
        (new().pair(PADDING, 1, 3), Status::FTRACE_STATUS_ABI_INVALID_PADDING_LENGTH),
        (new().head(EXTEND, 1), Status::FTRACE_STATUS_ABI_SHORT_TIME_EXTEND),
        (new().head(STAMP, 1), Status::FTRACE_STATUS_ABI_SHORT_TIME_STAMP),
        (new().head(0, 1), Status::FTRACE_STATUS_ABI_SHORT_DATA_LENGTH),
        (new().pair(0, 1, 0), Status::FTRACE_STATUS_ABI_ZERO_DATA_LENGTH),
        (new().pair(0, 1, 3), Status::FTRACE_STATUS_ABI_INVALID_DATA_LENGTH),
        (new().pair(0, 1, 4), Status::FTRACE_STATUS_ABI_SHORT_EVENT_ID),
        (new().pair(0, 1, 5).bytes(b"x"), Status::FTRACE_STATUS_ABI_SHORT_EVENT_ID),
        (new().head(28, 1), Status::FTRACE_STATUS_ABI_END_OVERFLOW),
        (new().pair(0, 1, 9).bytes(b"four"), Status::FTRACE_STATUS_ABI_END_OVERFLOW),
        (new().pair(0, 1, u32::MAX), Status::FTRACE_STATUS_ABI_END_OVERFLOW),
    ];
    for (made, want) in cases {
        assert_eq!(status_of(made.clone()), Some(want), "{made:?}");
    }
    // Padding may reach beyond the page.
    assert_eq!(status_of(new().pair(PADDING, 1, u32::MAX)), None);
}

#[test]
fn headers_that_are_none() {
    let invalid = Err(Status::FTRACE_STATUS_ABI_INVALID_PAGE_HEADER);
    let empty = Made::new(1).page(SIZE, Commit::Eight);
    assert_eq!(Page::parse(&empty, Commit::Eight), invalid);
    let mut long = Made::new(1).event(0, b"some").page(SIZE, Commit::Eight);
    long[8..12].copy_from_slice(&(SIZE as u32 - 16 + 1).to_le_bytes());
    assert_eq!(Page::parse(&long, Commit::Eight), invalid);
    for len in 0..16 {
        assert_eq!(Page::parse(&long[..len], Commit::Eight), invalid, "{len}");
    }
}

/// What a test writes, and reads back.
#[derive(Clone, Debug)]
enum Step {
    Event(u32, Vec<u8>),
    Long(u32, Vec<u8>),
    Padding(u32, u8),
    Extend(u32, u32),
    Stamp(u32, u32),
}

fn step() -> impl Strategy<Value = Step> {
    let delta = 0_u32..1 << 27;
    let body = |max| prop::collection::vec(any::<u8>(), 2..max);
    prop_oneof![
        4 => (delta.clone(), body(112)).prop_map(|(delta, body)| Step::Event(delta, body)),
        1 => (delta.clone(), body(400)).prop_map(|(delta, body)| Step::Long(delta, body)),
        1 => (1_u32..1 << 27, 0_u8..60).prop_map(|(delta, words)| Step::Padding(delta, words)),
        1 => (delta.clone(), any::<u32>()).prop_map(|(delta, high)| Step::Extend(delta, high)),
        1 => (delta, any::<u32>()).prop_map(|(delta, high)| Step::Stamp(delta, high)),
    ]
}

proptest! {
    #[test]
    fn written_is_read(
        time in 0_u64..1 << 58,
        steps in prop::collection::vec(step(), 0..100),
        wide in any::<bool>(),
        size in prop::sample::select(vec![4096_usize, 8192, 65536]),
        lost in prop::sample::select(vec![Lost::Nothing, Lost::Some, Lost::Count(9)]),
    ) {
        let commit = if wide { Commit::Eight } else { Commit::Four };
        let (mut made, mut now, mut want) = (Made::new(time), time, Vec::new());
        made.lost = lost;
        for step in steps {
            let next = match &step {
                Step::Event(delta, body) => made.clone().event(*delta, body),
                Step::Long(delta, body) => made.clone().long_event(*delta, body),
                Step::Padding(delta, words) => {
                    let filling = vec![0xaa; usize::from(*words) * 4];
                    made.clone().pair(PADDING, *delta, 4 + filling.len() as u32).bytes(&filling)
                }
                Step::Extend(delta, high) => made.clone().pair(EXTEND, *delta, *high),
                Step::Stamp(delta, high) => made.clone().pair(STAMP, *delta, *high),
            };
            if next.records.len() + 24 > size {
                break;
            }
            made = next;
            match step {
                Step::Event(delta, body) | Step::Long(delta, body) => {
                    now = now.wrapping_add(delta.into());
                    want.push((now, body));
                }
                Step::Padding(delta, _) => now = now.wrapping_add(delta.into()),
                Step::Extend(delta, high) => {
                    now = now.wrapping_add(u64::from(delta) + (u64::from(high) << 27));
                }
                Step::Stamp(delta, high) => {
                    let stamp = u64::from(delta) | u64::from(high) << 27;
                    let above = now >> 59 << 59;
                    now = if above != 0 && (above | stamp) < now {
                        (above | stamp).wrapping_add(1 << 59)
                    } else {
                        above | stamp
                    };
                }
            }
        }
        let page = made.page(size, commit);
        if made.records.is_empty() {
            prop_assert!(Page::parse(&page, commit).is_err());
            return Ok(());
        }
        let parsed = Page::parse(&page, commit).map_err(|s| TestCaseError::fail(format!("{s:?}")))?;
        prop_assert_eq!(parsed.lost, lost);
        let (events, status) = read(&page, commit);
        prop_assert_eq!(status, None);
        prop_assert_eq!(events.len(), want.len());
        for ((time, bytes), (want_time, body)) in events.iter().zip(&want) {
            prop_assert_eq!(time, want_time);
            prop_assert_eq!(bytes.get(..body.len()), Some(body.as_slice()));
        }
    }

    #[test]
    fn any_bytes_end(bytes in prop::collection::vec(any::<u8>(), 0..600), wide in any::<bool>()) {
        let commit = if wide { Commit::Eight } else { Commit::Four };
        let (events, _) = read(&bytes, commit);
        prop_assert!(events.len() <= bytes.len() / 4);
    }
}
