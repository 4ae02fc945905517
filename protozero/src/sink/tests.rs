//! Specific behaviour of each sink, mainly after errors.

#[cfg(feature = "std")]
use std::io;
use std::vec::Vec;

use super::{AppendSink, FixedSink, RangesSink, WindowError, WindowSink};
use crate::error::WriteError;
use crate::rt;

#[test]
fn a_dropped_stream_leaves_its_finished_roots() {
    let mut buffer = vec![1, 2];
    let mut stream = AppendSink::stream(&mut buffer);
    rt::uint32::<1>(&mut stream.root(), 5);
    rt::bytes::<2>(&mut stream.root(), &[7; 300]);
    drop(stream);
    assert_eq!(buffer.len(), 2 + 2 + 303);
    assert_eq!(buffer[..7], [1, 2, 8, 5, 0x12, 0xac, 2]);
}

#[test]
fn a_failed_root_is_taken_out() {
    let mut buffer = Vec::new();
    let mut stream = AppendSink::stream(&mut buffer);
    rt::uint32::<1>(&mut stream.root(), 5);
    {
        let mut root = stream.root();
        rt::bytes::<2>(&mut root, &[7; 300]);
        too_long(&mut root);
    }
    assert!(matches!(stream.error(), Some(WriteError::TooLong { .. })));
    rt::uint32::<1>(&mut stream.root(), 6);
    assert!(stream.finish().is_err());
    assert_eq!(buffer, [8, 5, 8, 6]);
}

type Appending<'v> = crate::StreamOf<AppendSink<'v, Vec<u8>>>;

/// Memory is zeroed about as often as it is written, also for failed messages.
#[test]
fn memory_is_zeroed_once() {
    let cost = |head: usize, roots: fn(&mut Appending<'_>)| {
        let mut buffer = Vec::new();
        let mut stream = AppendSink::stream(&mut buffer);
        rt::bytes::<1>(&mut stream.root(), &vec![7; head]);
        for _ in 0..if cfg!(miri) { 30 } else { 1000 } {
            roots(&mut stream);
        }
        let cost = stream.sink().zeroed_count;
        drop(stream);
        cost as f64 / buffer.len() as f64
    };
    let failing = |stream: &mut Appending<'_>| {
        rt::uint32::<1>(&mut stream.root(), 1);
        rt::uint32::<1>(&mut stream.root().nested_sized::<2>(9), 1);
        assert!(stream.error().is_some());
    };
    let forgotten = |stream: &mut Appending<'_>| {
        rt::uint32::<1>(&mut stream.root(), 1);
        core::mem::forget(stream.root());
    };
    let whole = |stream: &mut Appending<'_>| rt::bytes::<1>(&mut stream.root(), &[7; 500]);
    let roots: [fn(&mut Appending<'_>); 4] =
        [failing, forgotten, whole, |stream| drop(stream.root())];
    for head in [0, 1 << 16, 1 << 20].map(|len| if cfg!(miri) { len >> 6 } else { len }) {
        for (at, roots) in roots.into_iter().enumerate() {
            // An empty buffer also has a first range.
            let cost = cost(head.max(100), roots);
            assert!(cost < 4.0, "{at} behind {head}: each byte {cost} times");
        }
    }
}

/// Appends a string of 4 GiB: the same small slice, many times.
fn too_long(scope: &mut crate::Scope<'_>) {
    let piece = vec![0; 1 << 20];
    let pieces: Vec<&[u8]> = (0..4096).map(|_| &piece[..]).collect();
    rt::bytes_gather::<3>(scope, &pieces);
}

#[test]
fn a_slice_and_uninitialised_memory_are_full_alike() {
    let mut memory = [core::mem::MaybeUninit::uninit(); 20];
    let mut stream = FixedSink::stream_uninit(&mut memory);
    rt::bytes::<1>(&mut stream.root(), &[7; 30]);
    assert_eq!(stream.finish(), Err(WriteError::Full { capacity: 20 }));
    let mut stream = FixedSink::stream_uninit(&mut memory);
    rt::bytes::<1>(&mut stream.root(), b"hi");
    assert_eq!(stream.finish().unwrap(), b"\x0a\x02hi");
}

#[test]
fn pieces_from_a_closure() {
    let mut memory = [0; 64];
    let mut rest = &mut memory[..];
    let pieces = core::iter::from_fn(move || {
        let (piece, tail) = core::mem::take(&mut rest).split_at_mut_checked(16)?;
        rest = tail;
        Some(piece)
    });
    let mut stream = RangesSink::iter(pieces);
    rt::bytes::<2>(&mut stream.root().nested::<1>(), &[7; 30]);
    let pieces = stream.finish().unwrap();
    assert_eq!(pieces.len(), 3);
    assert_eq!(pieces.concat()[..8], [0x0a, 0xa0, 0x80, 0x80, 0, 0x12, 30, 7]);
}

#[cfg(feature = "std")]
/// An output that accepts `left` bytes and then fails.
#[derive(Debug)]
struct Disk {
    taken: Vec<u8>,
    left: usize,
}

#[cfg(feature = "std")]
impl io::Write for Disk {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let n = bytes.len().min(self.left);
        if n == 0 && !bytes.is_empty() {
            return Err(io::Error::from(io::ErrorKind::StorageFull));
        }
        self.left -= n;
        self.taken.extend_from_slice(&bytes[..n]);
        Ok(n)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(feature = "std")]
#[test]
fn an_io_error_is_kept_and_returned() {
    let disk = Disk { taken: Vec::new(), left: 100 };
    let mut stream = WindowSink::framed_with_window::<1>(64, super::IoOutput(disk));
    for _ in 0..10 {
        rt::bytes::<1>(&mut stream.root(), &[7; 20]);
    }
    assert_eq!(stream.error(), Some(WriteError::Output));
    assert_eq!(stream.sink().output_error().unwrap().kind(), io::ErrorKind::StorageFull);
    assert_eq!(stream.sink().output().0.taken.len(), 100);
    assert_eq!(io::Error::from(stream.finish().unwrap_err()).kind(), io::ErrorKind::StorageFull);
}

#[cfg(feature = "std")]
#[test]
fn a_trace_longer_than_its_window() {
    let mut stream = WindowSink::framed_with_window::<1>(64, super::IoOutput(Vec::new()));
    for _ in 0..100 {
        rt::bytes::<1>(&mut stream.root(), &[7; 20]);
    }
    let file = stream.finish().unwrap().0;
    assert_eq!(file.len(), 100 * 24);
    assert_eq!(file[..6], [0x0a, 22, 0x0a, 20, 7, 7]);
}

#[test]
fn strings_and_groups_pass_a_small_window() {
    let mut out = Vec::new();
    let mut window = [0; 64];
    let mut stream = WindowSink::stream(&mut window, |bytes: &[u8]| {
        out.extend_from_slice(bytes);
        Ok::<(), ()>(())
    });
    {
        let mut root = stream.root();
        rt::bytes::<1>(&mut root, &[7; 1000]);
        let mut group = root.group::<2>();
        rt::bytes::<3>(&mut group, &[8; 1000]);
    }
    assert!(stream.finish().is_ok());
    assert_eq!(out.len(), 1003 + 1 + 1003 + 1);
}

#[test]
fn a_lost_message_is_empty_and_the_next_whole() {
    let mut out = Vec::new();
    let mut window = [0; 64];
    let mut stream = WindowSink::stream(&mut window, |bytes: &[u8]| {
        out.extend_from_slice(bytes);
        Ok::<(), ()>(())
    });
    {
        let mut root = stream.root();
        rt::uint32::<1>(&mut root, 1);
        rt::bytes::<3>(&mut root.nested::<2>().nested::<2>(), &[7; 100]);
        rt::uint32::<1>(&mut root, 2);
    }
    rt::uint32::<1>(&mut stream.root(), 3);
    let error = stream.finish().err().unwrap();
    assert_eq!(error, WindowError::Write(WriteError::WindowFull { len: 64 }));
    assert_eq!(out, [8, 1, 0x12, 0x80, 0x80, 0x80, 0, 8, 3]);
}

#[test]
fn too_small_a_window() {
    let mut window = [0; 63];
    let mut stream = WindowSink::stream(&mut window, |_: &[u8]| Ok::<(), ()>(()));
    rt::uint32::<1>(&mut stream.root(), 1);
    let error = stream.finish().err().unwrap();
    assert_eq!(error, WindowError::Write(WriteError::RangeTooShort { len: 63 }));
}

#[test]
fn flush_writes_finished_roots() {
    let mut out = Vec::new();
    let mut window = [0; 64];
    let mut stream = WindowSink::framed::<1>(&mut window, |bytes: &[u8]| {
        out.push(bytes.to_vec());
        Ok::<(), ()>(())
    });
    rt::uint32::<1>(&mut stream.root(), 1);
    stream.flush().unwrap();
    rt::uint32::<1>(&mut stream.root(), 2);
    core::mem::forget(stream.root());
    stream.flush().unwrap();
    let error = stream.finish().err().unwrap();
    assert_eq!(error, WindowError::Write(WriteError::Forgotten));
    assert_eq!(out, [[0x0a, 2, 8, 1], [0x0a, 2, 8, 2]]);
}

#[cfg(feature = "bytes")]
#[test]
fn a_buf_mut_behind_a_window() {
    let mut memory = [0; 40];
    let mut stream = WindowSink::framed_with_window::<1>(64, super::BufMutOutput(&mut memory[..]));
    rt::bytes::<1>(&mut stream.root(), &[7; 20]);
    rt::bytes::<1>(&mut stream.root(), &[7; 20]);
    assert_eq!(stream.finish().err(), Some(WindowError::Output(8)));
}

#[test]
fn a_message_lost_inside_a_group_takes_the_end_tag_along() {
    let mut out = Vec::new();
    let mut window = [0; 64];
    let mut stream = WindowSink::stream(&mut window, |bytes: &[u8]| {
        out.extend_from_slice(bytes);
        Ok::<(), ()>(())
    });
    {
        let mut root = stream.root();
        let mut group = root.group::<1>();
        rt::bytes::<3>(&mut group.nested::<2>(), &[7; 100]);
    }
    assert!(stream.finish().is_err());
    assert_eq!(out, [0x0b, 0x12, 0x80, 0x80, 0x80, 0]);
}

#[test]
fn a_forgotten_root_is_taken_out() {
    let mut buffer = vec![1];
    let mut stream = AppendSink::stream(&mut buffer);
    rt::uint32::<1>(&mut stream.root(), 5);
    for _ in 0..2 {
        let mut root = stream.root();
        // In several ranges.
        rt::bytes::<2>(&mut root, &[7; 3000]);
        core::mem::forget(root);
    }
    assert_eq!(stream.finish(), Err(WriteError::Forgotten));
    assert_eq!(buffer, [1, 8, 5]);
}
