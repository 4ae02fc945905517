//! The command and its processes as packets.
//!
//! | what | packet |
//! |---|---|
//! | the command | a track with one slice; trace attributes with its command line and exit code |
//! | each process | `ProcessTree`; a track of the process with a slice for each program it runs |

use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;

use protos::{TrackEventType, TrackEventWriter};
use tracing_core::client::write::TraceWriter;

use super::process_tree::{Event, Process};

/// Category of all slices.
const CATEGORY: &str = "process";
/// Key of the attribute with the command line.
const ATTRIBUTE_COMMAND: &str = "tracebox.command";
/// Key of the attribute with the exit code.
const ATTRIBUTE_EXIT_CODE: &str = "tracebox.command.exit_code";
/// Key of the attribute with the signal that ended the command.
const ATTRIBUTE_SIGNAL: &str = "tracebox.command.signal";
/// `TracePacket.sequence_flags`: what came before on this sequence is not needed.
const INCREMENTAL_STATE_CLEARED: u32 = 1;

/// The command as a slice, before it has ended.
#[derive(Clone, Debug)]
pub(super) struct CommandSlice {
    /// Uuid of its track.
    pub track: u64,
    /// The program and its arguments.
    pub cmdline: Vec<String>,
    /// When it was started, boot clock.
    pub start_ns: u64,
}

impl CommandSlice {
    /// Its program, without the directory.
    fn name(&self) -> &str {
        let program = self.cmdline.first().map_or("", String::as_str);
        program.rsplit('/').next().unwrap_or(program)
    }

    pub(super) fn write_begin(&self, writer: &mut TraceWriter) {
        let mut packet = writer.new_packet();
        packet.timestamp(self.start_ns).sequence_flags(INCREMENTAL_STATE_CLEARED);
        packet.track_descriptor().uuid(self.track).name("Command");
        drop(packet);
        let cmdline = self.cmdline.join(" ");
        // `tracebox lint` knows by this whose events come now: they are no program's.
        let mut packet = writer.new_packet();
        packet.timestamp(self.start_ns);
        let mut attributes = packet.trace_attributes();
        attributes.attribute().key(ATTRIBUTE_COMMAND).string_value(&cmdline);
        drop(attributes);
        drop(packet);
        let mut packet = writer.new_packet();
        packet.timestamp(self.start_ns);
        let mut event = packet.track_event();
        begin(&mut event, self.track, self.name());
        event.debug_annotations().name("cmdline").string_value(&cmdline);
    }

    pub(super) fn write_end(&self, writer: &mut TraceWriter, at_ns: u64, status: ExitStatus) {
        write_end(writer, self.track, at_ns, Some(status));
        let mut packet = writer.new_packet();
        packet.timestamp(at_ns);
        let mut attributes = packet.trace_attributes();
        let (key, value) = match (status.code(), status.signal()) {
            (Some(code), _) => (ATTRIBUTE_EXIT_CODE, code),
            (None, signal) => (ATTRIBUTE_SIGNAL, signal.unwrap_or(0)),
        };
        attributes.attribute().key(key).long_value(value.into());
    }
}

/// Writes a change of the process tree.
pub(super) fn write_event(writer: &mut TraceWriter, event: &Event) {
    match event {
        Event::Began { process } => write_begin(writer, process, process.start_ns),
        Event::Executed { process, at_ns } => {
            write_end(writer, process.track, *at_ns, None);
            write_begin(writer, process, *at_ns);
        }
        Event::Ended { process, at_ns, status } => {
            write_end(writer, process.track, *at_ns, *status);
        }
    }
}

fn begin(event: &mut TrackEventWriter<'_>, track: u64, name: &str) {
    event.r#type(TrackEventType::TYPE_SLICE_BEGIN).track_uuid(track);
    event.categories(CATEGORY).name(name);
}

fn write_begin(writer: &mut TraceWriter, process: &Process, at_ns: u64) {
    describe(writer, process, at_ns);
    let mut packet = writer.new_packet();
    packet.timestamp(at_ns);
    let mut event = packet.track_event();
    begin(&mut event, process.track, &process.image.name);
    event.debug_annotations().name("pid").int_value(process.pid.into());
    event.debug_annotations().name("parent").int_value(process.parent.into());
    let cmdline = process.image.cmdline.join(" ");
    event.debug_annotations().name("cmdline").string_value(&cmdline);
}

fn write_end(writer: &mut TraceWriter, track: u64, at_ns: u64, status: Option<ExitStatus>) {
    let mut packet = writer.new_packet();
    packet.timestamp(at_ns);
    let mut event = packet.track_event();
    event.r#type(TrackEventType::TYPE_SLICE_END).track_uuid(track);
    let Some(status) = status else { return };
    let (name, value) = match (status.code(), status.signal()) {
        (Some(code), _) => ("exit_code", code),
        (None, signal) => ("signal", signal.unwrap_or(0)),
    };
    event.debug_annotations().name(name).int_value(value.into());
}

/// Writes the descriptors that a reader needs to show the slices of a process.
pub(super) fn describe(writer: &mut TraceWriter, process: &Process, at_ns: u64) {
    let Process { pid, parent, track, start_ns, image } = process;
    let mut packet = writer.new_packet();
    packet.timestamp(at_ns);
    let mut tree = packet.process_tree();
    let mut entry = tree.processes();
    entry.pid(*pid).ppid(*parent);
    if image.cmdline.is_empty() {
        entry.cmdline(&image.name).cmdline_is_comm(true);
    }
    for argument in &image.cmdline {
        entry.cmdline(argument);
    }
    entry.uid(image.uid.cast_signed()).process_start_from_boot(*start_ns);
    drop(entry);
    tree.threads().tid(*pid).name(&image.name).tgid(*pid);
    drop(tree);
    drop(packet);

    let mut packet = writer.new_packet();
    packet.timestamp(at_ns);
    let mut descriptor = packet.track_descriptor();
    descriptor.uuid(*track);
    let mut entry = descriptor.process();
    entry.pid(*pid).process_name(&image.name).start_timestamp_ns(start_ns.cast_signed());
    for argument in &image.cmdline {
        entry.cmdline(argument);
    }
}
