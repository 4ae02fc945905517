use super::*;

#[test]
fn sizes() {
    for (bytes, text) in [
        (0, "0 bytes"),
        (1023, "1023 bytes"),
        (1024, "1.0 KiB"),
        (1536, "1.5 KiB"),
        (1024 * 1024 - 1, "1.0 MiB"),
        (5 << 30, "5.0 GiB"),
        (u64::MAX, "16777216.0 TiB"),
    ] {
        assert_eq!(size(bytes), text);
    }
}

#[test]
fn a_reader_that_has_read_enough_is_no_failure() {
    assert_eq!(check_stdout(Ok(())), Ok(()));
    assert_eq!(check_stdout(Err(ErrorKind::BrokenPipe.into())), Ok(()));
    let full = check_stdout(Err(ErrorKind::StorageFull.into()));
    assert_eq!(full, Err(Failure::new("cannot write stdout: no storage space")));
}

#[test]
fn plurals() {
    assert_eq!(count(0, "packet"), "0 packets");
    assert_eq!(count(1, "packet"), "1 packet");
    assert_eq!(count(2, "packet"), "2 packets");
}

#[test]
fn progress_lines_do_not_wrap() {
    for (columns, text) in [(0, "größe"), (1, ""), (4, "grö"), (6, "größe"), (80, "größe")] {
        assert_eq!(fit("größe", columns), text, "{columns}");
    }
    assert_eq!(fit(&"x".repeat(200), 0).len(), 79);
}

#[test]
fn lines() {
    let seconds = Duration::from_secs;
    assert_eq!(recording(seconds(3), None, None), "recording 3 s, Ctrl-C stops");
    assert_eq!(recording(seconds(3), None, Some(0)), "recording 3 s, Ctrl-C stops");
    assert_eq!(
        recording(seconds(3), Some(seconds(10)), Some(2048)),
        "recording 3 s of 10 s, 2.0 KiB, Ctrl-C stops"
    );
}

/// A program that can cause a line can cause many.
#[test]
fn lines_that_others_cause() {
    let told: Vec<usize> = (1..=100).filter(|count| is_told(*count)).collect();
    assert_eq!(told, (1..=16).chain([32, 64]).collect::<Vec<_>>());
    assert_eq!((number(16), number(32)), (String::new(), " (number 32)".to_owned()));
}
