//! Schemas of the program's own fields in events.
//!
//! A reader knows the fields of `TrackEvent` that it was built with, and those that a packet in front of them describes
//! (`extension_descriptor.proto`). So each opening of a sequence has the schemas of the program.

use std::borrow::Cow;
use std::sync::{Mutex, MutexGuard, Once, OnceLock, PoisonError};

use client::write::TraceWriter;
use protozero::{Reader, Writer as _};

use crate::fields;
use crate::fork::Held;
use crate::on::ON;
use crate::source::registry;

/// `TracePacket.extension_descriptor`
const EXTENSION_DESCRIPTOR: u32 = 72;
/// `ExtensionDescriptor.extension_set`, and `FileDescriptorSet.file`
const SET: u32 = 1;
const FILE: u32 = 1;

pub(crate) type Sets = Vec<&'static [u8]>;

/// The sets of the program, each once.
static SETS: Mutex<Sets> = Mutex::new(Vec::new());

/// Only a program that has schemas has the code that writes them.
static WRITE: OnceLock<fn(&mut TraceWriter)> = OnceLock::new();

fn lock() -> MutexGuard<'static, Sets> {
    SETS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The list, while the process forks.
pub(crate) fn lock_for_fork() -> Held<Sets> {
    lock().into()
}

/// Puts the schema of the program's own fields into traces, so that readers can show them: those of
/// [`Event::extension`](crate::Event::extension).
///
/// `set` is an encoded `google.protobuf.FileDescriptorSet`, as `protoc --descriptor_set_out` writes it. It needs the
/// file that extends `perfetto.protos.TrackEvent` and those of the program's own messages; readers know the files of
/// Perfetto. Each thread writes it once for each session, and again when it begins anew, so it is best small. One that
/// is larger than shared memory ([`Init::shm_kb`](crate::Init::shm_kb)) may be in no trace, and a line on standard
/// error says so.
///
/// Call it early in `main`. The memory of `set` is kept until the program ends. What is no such set is left out, and a
/// line on standard error says so.
///
/// ```
/// # const FRAME_SCHEMA: &[u8] = b"\x0a\x0d\x0a\x0bframe.proto";
/// // In a program: const FRAME_SCHEMA: &[u8] = include_bytes!("frame.binpb");
/// tracing_sdk::register_extensions(FRAME_SCHEMA);
/// ```
pub fn register_extensions(set: impl Into<Cow<'static, [u8]>>) {
    if ON {
        register(set.into());
    }
}

fn register(set: Cow<'static, [u8]>) {
    if !is_set(&set) {
        crate::report::report!(
            "the schema of the program's own fields is left out, because its {} bytes are no encoded \
             `FileDescriptorSet`: take what `protoc --descriptor_set_out` writes",
            set.len()
        );
        return;
    }
    let mut sets = lock();
    if sets.iter().any(|known| **known == *set) {
        return;
    }
    sets.push(match set {
        Cow::Borrowed(set) => set,
        Cow::Owned(set) => set.leak(),
    });
    drop(sets);
    // It is always the same function.
    let _ = WRITE.set(write_sets);
    // Sequences that are open have another opening in front of their next event.
    registry::clear_all();
}

/// Whether it has files, and nothing else.
fn is_set(bytes: &[u8]) -> bool {
    let mut reader = Reader::new(bytes);
    let mut has_files = false;
    loop {
        match reader.next_field() {
            Ok(None) => return has_files,
            Ok(Some(field)) if field.number == FILE && field.value.bytes().is_ok() => {
                has_files = true;
            }
            _ => return false,
        }
    }
}

/// Writes the schemas of the program, if it has any.
#[inline]
pub(crate) fn write(writer: &mut TraceWriter) {
    if let Some(write) = WRITE.get() {
        write(writer);
    }
}

fn write_sets(writer: &mut TraceWriter) {
    // Not under the lock, because a writer may wait for memory.
    for at in 0.. {
        let Some(set) = lock().get(at).copied() else { return };
        let mut packet = writer.new_packet();
        let mut descriptor = packet.scope_mut().nested::<EXTENSION_DESCRIPTOR>();
        fields::text(&mut descriptor, SET, set);
        drop(descriptor);
        drop(packet);
        if writer.is_dropping() {
            return tell_of_loss(set.len());
        }
    }
}

#[cold]
fn tell_of_loss(bytes: usize) {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        crate::report::report!(
            "a schema of the program's own fields, {bytes} bytes, found no room in shared memory, so a trace may lack \
             it: make it smaller, or shared memory larger (`Init::shm_kb`)"
        );
    });
}
