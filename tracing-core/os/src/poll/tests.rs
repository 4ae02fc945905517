use std::io::{ErrorKind, Read, pipe};
use std::os::fd::OwnedFd;

use super::*;

#[test]
fn a_pipe_that_is_full_does_not_wait() {
    let (mut reader, writer) = pipe().unwrap();
    let writer = File::from(OwnedFd::from(writer));
    if sys::write_now(writer.as_fd(), b"a").is_err() {
        return skip::test("a_pipe_that_is_full_does_not_wait", "it needs Linux 6.4");
    }
    let mut count = 1;
    let error = loop {
        match write_now(&writer, &[b'a'; 4096]) {
            Ok(some) => count += some,
            Err(error) => break error,
        }
    };
    assert_eq!(error.kind(), ErrorKind::WouldBlock);
    drop(writer);
    let mut all = Vec::new();
    reader.read_to_end(&mut all).unwrap();
    assert!(all.len() == count && all.iter().all(|byte| *byte == b'a'));
}

#[test]
fn a_named_pipe_is_written_to() {
    let path = std::env::temp_dir().join(format!("write-now-{}", std::process::id()));
    let (fifo, mode) = (rustix::fs::FileType::Fifo, rustix::fs::Mode::RWXU);
    rustix::fs::mknodat(rustix::fs::CWD, &path, fifo, mode, 0).unwrap();
    let mut fifo = File::options().read(true).write(true).open(&path).unwrap();
    std::fs::remove_file(&path).unwrap();
    assert_eq!(write_now(&fifo, b"abc").unwrap(), 3);
    let mut got = [0; 3];
    fifo.read_exact(&mut got).unwrap();
    assert_eq!(&got, b"abc");
}
