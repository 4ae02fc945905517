use super::late::{LateEnd, LateEnds, ON_TRACKS_MAX};

/// A program can make as many slices on tracks as it likes, so their ends must not fill the memory.
#[test]
fn late_ends_on_tracks_have_a_limit() {
    let end = |track| LateEnd { time_ns: 1, track, had_arguments: false };
    let mut ends = LateEnds::default();
    assert!(ends.push(end(None)));
    assert!((0..ON_TRACKS_MAX).all(|_| ends.push(end(Some(7)))));
    assert!(!ends.push(end(Some(7))), "one too many");
    assert!(ends.push(end(None)), "a thread has as many as guards");
    assert_eq!(ends.len(), ON_TRACKS_MAX + 2);
    // One that is written makes room, if it was on a track.
    ends.remove_first();
    assert!(!ends.push(end(Some(7))));
    ends.remove_first();
    assert!(ends.push(end(Some(7))));
    assert!(!ends.push(end(Some(7))));
}
