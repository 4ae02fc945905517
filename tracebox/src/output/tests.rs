use super::*;

fn read(path: &Path) -> Vec<u8> {
    std::fs::read(path).unwrap()
}

fn open(path: &Path) -> Output {
    Output::open(path.as_os_str(), false).unwrap()
}

#[test]
fn packets_with_lengths_at_varint_borders() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("trace");
    let mut output = open(&path);
    let mut expected = Vec::new();
    for (len, head) in [
        (0_usize, &b"\x0a\x00"[..]),
        (127, b"\x0a\x7f"),
        (128, b"\x0a\x80\x01"),
        (16_383, b"\x0a\xff\x7f"),
        (16_384, b"\x0a\x80\x80\x01"),
        (2 << 20, b"\x0a\x80\x80\x80\x01"),
    ] {
        let packet = [head, &vec![7; len]].concat();
        output.write_packet(&packet).unwrap();
        expected.extend_from_slice(&packet);
    }
    let written = output.finish().unwrap();
    assert_eq!(written, Written { bytes: expected.len() as u64, packets: Some(6) });
    assert!(read(&path) == expected);
    assert_eq!(output.measure(), Some(written.bytes));
    let searched = output.search(LossScanner::default(), |_| true).unwrap();
    assert_eq!((Some(searched.packets), searched.gaps), (written.packets, 0));
}

#[test]
fn an_empty_file_of_ours_goes_away() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("trace");
    let output = open(&path);
    assert!(path.exists());
    assert_eq!(output.abandon(), Kept::Nothing);
    assert!(!path.exists());
}

#[test]
fn the_file_of_others_stays_until_there_is_a_packet() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("trace");
    std::fs::write(&path, "old and longer than what comes").unwrap();
    open(&path).abandon();
    assert_eq!(read(&path), b"old and longer than what comes");
    let mut output = open(&path);
    output.write_packet(b"\x0a\x03abc").unwrap();
    output.finish().unwrap();
    assert_eq!(read(&path), b"\x0a\x03abc");
}

#[test]
fn whole_packets_are_kept() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("trace");
    let mut output = open(&path);
    output.write_packet(b"\x0a\x03abc").unwrap();
    assert_eq!(output.abandon(), Kept::Packets(5));
    assert_eq!(read(&path), b"\x0a\x03abc");
}

#[test]
fn what_the_service_wrote_is_measured_and_cut_to_whole_packets() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("trace");
    let mut output = open(&path);
    let lent = output.lend().unwrap().unwrap();
    File::from(lent).write_all(b"\x0a\x03abc\x0a\x01d\x0a\x09cut").unwrap();
    assert_eq!(output.measure(), Some(13));
    let not_searched = output.search(LossScanner::default(), |_| true).unwrap_err();
    assert!(not_searched.is_failure && not_searched.why.starts_with("it cannot be read: "));
    assert_eq!(output.abandon(), Kept::Packets(8));
    assert_eq!(read(&path), b"\x0a\x03abc\x0a\x01d");
}

#[test]
fn no_clobber() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("trace");
    std::fs::write(&path, "old").unwrap();
    let failure = Output::open(path.as_os_str(), true).unwrap_err();
    assert!(failure.text.contains("File exists"), "{failure}");
    assert_eq!(read(&path), b"old");
    let missing = directory.path().join("no/such/trace");
    let failure = Output::open(missing.as_os_str(), false).unwrap_err();
    assert!(failure.text.contains("No such file"), "{failure}");
}

#[test]
fn forged_lengths_end_the_file() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("trace");
    for (bytes, packets, end) in [
        (&b""[..], 0, 0),
        (b"\x0a", 0, 0),
        (b"\x0a\x00", 1, 2),
        (b"\x0a\x00\x12\x00", 1, 2),
        (b"\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 0, 0),
        (b"\x0a\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01", 0, 0),
    ] {
        std::fs::write(&path, bytes).unwrap();
        let mut found = 0;
        let found_end = file_packets::for_each_packet(&File::open(&path).unwrap(), || found += 1);
        assert_eq!((found, found_end), (packets, end), "{bytes:x?}");
    }
}

/// The earlier content of the file is neither changed nor counted.
#[test]
fn an_older_trace_is_not_what_is_left() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("trace");
    std::fs::write(&path, b"\x0a\x03abc").unwrap();
    let failure = open(&path).abandoned(Failure::new("no"));
    assert_eq!(failure.text, "no");
    assert_eq!(read(&path), b"\x0a\x03abc");
}

#[test]
fn one_recording_per_file() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("trace");
    let refused = |opened: Result<Output, Failure>| {
        let failure = opened.expect_err("another recording writes to it");
        assert!(failure.text.ends_with("another recording writes to it"), "{failure}");
    };
    let mut first = open(&path);
    first.write_packet(b"\x0a\x00").unwrap();
    refused(Output::open(path.as_os_str(), false));
    refused(Output::replace(path.as_os_str(), false, true));
    // A service that was lent the file may still write to it.
    let lent = first.lend().unwrap();
    drop(first);
    refused(Output::open(path.as_os_str(), false));
    drop(lent);
    // A process that another test starts has a copy until its `exec`.
    let mut last = loop {
        match Output::open(path.as_os_str(), false) {
            Ok(output) => break output,
            Err(_) => std::thread::yield_now(),
        }
    };
    last.finish().unwrap();
    let names: Vec<_> = std::fs::read_dir(directory.path()).unwrap().collect();
    assert_eq!(names.len(), 1, "nothing is left of the refused ones: {names:?}");
}

/// A file may have any lengths: a packet that is too long is not read.
#[test]
fn a_packet_that_is_too_long() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("trace");
    let search = |len: u64, head: &[u8]| {
        std::fs::write(&path, head).unwrap();
        let file = File::options().write(true).open(&path).unwrap();
        file.set_len(head.len() as u64 - 2 + len).unwrap();
        let searched = open(&path).search(LossScanner::default(), |_| true);
        searched.map(|scanner| (scanner.packets, scanner.gaps))
    };
    // The packet is broken, so it contains no others.
    assert_eq!(search(1 << 10, b"\x0a\x80\x08\x92\x03"), Ok((0, 1)));
    assert!(search((1 << 28) + 1, b"\x0a\x81\x80\x80\x80\x01\x92\x03").is_err());
}

#[test]
fn what_cannot_be_searched() {
    let search = |output: Output| output.search(LossScanner::default(), |_| true).unwrap_err();
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("trace");
    std::fs::write(&path, b"\x0a\x03abc").unwrap();
    let stopped = open(&path).search(LossScanner::default(), |_| false).unwrap_err();
    assert_eq!(stopped, NotSearched::failed("that was interrupted"));
    let nowhere = search(Output::of_service(&directory.path().join("none")));
    assert!(nowhere.is_failure && nowhere.why.contains("No such file"), "{nowhere:?}");
    let device = search(open(Path::new("/dev/null")));
    assert_eq!(device, NotSearched::impossible("its output is no regular file"));
}

/// A part of a copy is worth less than an older copy.
#[test]
fn a_copy_that_fails_leaves_the_older_one() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("trace");
    let names = || std::fs::read_dir(directory.path()).unwrap().count();
    std::fs::write(&path, "an older copy").unwrap();
    let copy = || {
        let mut copy = Output::replace(path.as_os_str(), false, true).unwrap();
        copy.write_packet(b"\x0a\x03abc").unwrap();
        copy
    };
    assert_eq!(copy().abandoned(Failure::new("no")).text, "no");
    assert_eq!((read(&path), names()), (b"an older copy".to_vec(), 1));

    // It is whole, but cannot be renamed.
    let mut refused = copy();
    std::fs::remove_file(&path).unwrap();
    std::fs::create_dir(&path).unwrap();
    refused.finish().unwrap_err();
    assert_eq!(refused.abandoned(Failure::new("no")).text, "no");
    assert_eq!(names(), 1, "nothing stays under another name");
}

#[test]
fn a_file_that_the_service_still_writes_is_not_cut() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("trace");
    let mut output = open(&path);
    let mut service = File::from(output.lend().unwrap().unwrap());
    service.write_all(b"\x0a\x03a").unwrap();
    let failure = output.abandoned(Failure::new("no"));
    assert!(failure.text.starts_with("no; the service still has "), "{failure}");
    service.write_all(b"bc").unwrap();
    assert_eq!(read(&path), b"\x0a\x03abc");
}

#[test]
fn a_link_to_a_file_that_does_not_exist() {
    let directory = tempfile::tempdir().unwrap();
    let (link, path) = (directory.path().join("link"), directory.path().join("trace"));
    std::os::unix::fs::symlink("trace", &link).unwrap();
    open(&link).abandon();
    assert!(link.is_symlink() && !path.exists());
    for follow in [false, true] {
        let mut output = match follow {
            false => open(&link),
            true => Output::replace(link.as_os_str(), false, true).unwrap(),
        };
        output.write_packet(b"\x0a\x00").unwrap();
        output.finish().unwrap();
        assert_eq!(read(&path), b"\x0a\x00");
        assert!(link.is_symlink());
        std::fs::remove_file(&path).unwrap();
    }
    Output::open(link.as_os_str(), true).unwrap_err();
}

#[test]
fn where_a_service_writes() {
    let directory = tempfile::tempdir().unwrap();
    let [path, first, second] =
        ["trace", "first", "second"].map(|name| directory.path().join(name));
    let open = |path: &Path| Output::open_for_service(path.as_os_str(), false, false).unwrap();
    let lend = |output: &mut Output| {
        let mut service = File::from(output.lend().unwrap().unwrap());
        service.write_all(b"\x0a\x00").unwrap();
    };
    std::fs::write(&path, "old").unwrap();
    let mut beside = open(&path);
    lend(&mut beside);
    assert!(beside.replaces_later());
    assert_eq!(read(&path), b"old");
    beside.put_in_place().unwrap();
    assert_eq!((beside.measure(), read(&path)), (Some(2), b"\x0a\x00".to_vec()));

    // Both names of a file lead to the trace.
    std::fs::write(&first, "old").unwrap();
    std::fs::hard_link(&first, &second).unwrap();
    let mut itself = open(&first);
    assert!(!itself.replaces_later());
    assert_eq!(read(&first), b"old");
    lend(&mut itself);
    assert_eq!((read(&first), read(&second)), (b"\x0a\x00".to_vec(), b"\x0a\x00".to_vec()));
}
