//! Files that want to keep the writer busy: what it looks at, unpacks and makes has limits.

use super::*;
use crate::limits::SHOWN_CHARS_MAX;
use crate::testing::text_bytes;
use crate::timeline::work::WorkLimits;
use crate::timeline::writer::write_within;

/// A name of 32 KiB, 512 begins that have it, and ends of another category, which no slice fits.
fn ends_that_fit_nothing(ends: usize) -> Vec<u8> {
    let long = "x".repeat(32 << 10);
    let event = |at: usize, of: &str, category: u8| {
        format!(
            "packet {{ timestamp: {at} trusted_packet_sequence_id: 1
                       track_event {{ type: TYPE_SLICE_{of} track_uuid: 1 name_iid: 1 category_iids: {category} }} }}"
        )
    };
    let mut trace = format!(
        "packet {{ trusted_packet_sequence_id: 1 sequence_flags: 1 interned_data {{
             event_names {{ iid: 1 name: '{long}' }} event_categories {{ iid: 1 name: 'b' }}
             event_categories {{ iid: 2 name: 'c' }} }} }}"
    );
    trace.extend((0..512).map(|at| event(at, "BEGIN", 1)));
    trace.extend((512..512 + ends).map(|at| event(at, "END", 2)));
    trace_bytes(&trace)
}

#[test]
fn open_slices_are_not_compared_by_their_texts() {
    let bytes = ends_that_fit_nothing(300);
    let mut written = String::new();
    let work = text_bytes(|| written = json(&bytes));
    assert_eq!(written.lines().filter(|line| line.contains("\"depth\":512")).count(), 300);
    // Read twice.
    assert!(work <= 2 * 3 * bytes.len(), "{work} for {}", bytes.len());
}

#[test]
fn a_filter_looks_at_a_long_name_once() {
    let bytes = ends_that_fit_nothing(300);
    let mut options = Options::default();
    options.filter.names = patterns(&["y", "*x"]);
    let mut lines = 0;
    let work = text_bytes(|| lines = self::lines(&bytes, &options).1.lines);
    assert_eq!(lines, 812);
    assert!(work <= 2 * 3 * bytes.len(), "{work} for {}", bytes.len());
    // What is looked at counts; 16 KiB of each name are kept.
    options.filter.names = patterns(&["y"]);
    let (kept, read) = (812 * 16_400, 100 * bytes.len() as u64);
    assert_eq!(within(&bytes, &options, kept + 100_000 - read, 0), None);
}

/// The error with limits of the work.
fn within(bytes: &[u8], options: &Options, text_bytes: u64, unpacked_bytes: u64) -> Option<String> {
    let limits = WorkLimits { unpacked_bytes, text_bytes };
    let mut out = Vec::new();
    let written = write_within(&mut Cursor::new(bytes), &mut out, options, limits);
    written.err().map(|error| error.to_string())
}

#[test]
fn texts_of_all_lines_have_a_limit() {
    let bytes = ends_that_fit_nothing(2_000);
    // 16 KiB of each name are kept, and 4 KiB are written.
    let texts = 2_512 * 17_000;
    let options = Options::default();
    assert_eq!(within(&bytes, &options, 2 * texts, 0), None);
    let error = within(&bytes, &options, texts / 4, 0).unwrap();
    assert!(error.starts_with("not all events are shown: their texts"), "{error}");
    // What is kept and not shown counts, too.
    let mut options = Options::default();
    options.filter.names = patterns(&["y"]);
    assert!(within(&bytes, &options, texts / 4, 0).is_some());
    // Nothing of it is read again.
    options.filter.from_ns = 1_000_000;
    options.filter.to_ns = Some(0);
    assert_eq!(within(&bytes, &options, 0, 0), None);
}

#[test]
fn lines_of_long_tracks_count_as_texts() {
    let mut bytes = Vec::new();
    let mut trace = TraceFile::create(&mut bytes).unwrap();
    let track = trace.track(TrackSpec::new(&"t".repeat(4096)));
    (0..300).for_each(|at| drop(trace.instant(&track, at, "i")));
    trace.finish().unwrap();
    let read = 100 * bytes.len() as u64;
    let lines = 300 * 4096;
    assert!(lines > read, "{lines} {read}");
    assert!(within(&bytes, &Options::default(), lines - read, 0).is_some());
    assert_eq!(within(&bytes, &Options::default(), 2 * lines, 0), None);
}

#[cfg(feature = "compressed")]
#[test]
fn what_is_unpacked_in_all_passes_has_a_limit() {
    // More than 1 MiB of packets in some KiB, which are read in many passes.
    let times: Vec<u64> = (0..100).rev().collect();
    let padding = [b"\x0a\x84\x80\x40\x32\x80\x80\x40".to_vec(), vec![0; 1 << 20]].concat();
    let packets = [instants(&times), padding].concat();
    let bytes = crate::testing::zlib(&packets);
    let options = Options { rows_bytes_max: 8_000, ..Options::default() };
    let passes = lines(&bytes, &options).1.passes;
    let (all, file) = (u64::from(passes) * packets.len() as u64, 1000 * bytes.len() as u64);
    assert!(all > 2 * file, "{passes} passes, {} bytes", bytes.len());
    assert_eq!(within(&bytes, &options, 1 << 30, all - file), None);
    let error = within(&bytes, &options, 1 << 30, all - file - 1).unwrap();
    assert!(error.starts_with("not all events are shown"), "{error}");
}

/// Each of 100 tracks below each other may have a name of 4096 characters.
#[test]
fn a_path_has_a_bound() {
    let name = "\\001".repeat(4096);
    let track = |uuid: u64| {
        format!(
            "packet {{ track_descriptor {{ uuid: {uuid} parent_uuid: {} name: '{name}' }} }}",
            uuid - 1
        )
    };
    let counter = "packet { track_descriptor { uuid: 99 parent_uuid: 98 name: 'c' counter {} } }";
    let bytes = trace_bytes(&((1..99).map(track).collect::<String>() + counter));
    let mut reader = TraceReader::new(bytes.as_slice());
    while reader.next_packet().unwrap() {}
    for uuid in [1, 2, 98, 99] {
        let path = track_path(reader.tracks(), uuid).unwrap();
        assert_eq!(path.chars().count(), SHOWN_CHARS_MAX + 1, "{uuid}");
        assert!(path.starts_with("\\u0001\\u0001") && path.ends_with('…'));
    }
}
