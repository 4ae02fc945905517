"""Reads the events of a trace with the official schema, and compares them with what our reader reads.

usage: events.py TRACE OURS EXPECTED [--bless]

OURS is what the example `events` of tracing-file prints of the trace: both must have the same lines. EXPECTED has the
events that the trace must have, track by track, without what differs in each run: times, ids of processes, threads and
sequences, and what is computed from them. `-` stands for no such file; --bless writes it. What each run draws is named
by hand then: see `is_alike`.
"""

import collections
import re
import sys
import zlib

from google.protobuf.unknown_fields import UnknownFieldSet
from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as schema

BOOTTIME = 6
OWN_CLOCKS = range(64, 128)
# Times that a program chose are earlier.
LATE = 1_000_000_000
UNITS = {1: "ns", 2: "count", 3: "bytes"}
DRAWN = re.compile(r"\^\*(\w+)")
LONG = re.compile(r"\w{200,}")
KINDS = {1: "BEGIN", 2: "END", 3: "INSTANT", 4: "COUNTER", 5: "STATE"}


class Sequence:
    """What the packets of one writer have said so far."""

    def __init__(self):
        self.clear()
        self.is_valid = False

    def clear(self):
        self.is_valid = True
        self.defaults = schema.TracePacketDefaults()
        self.interned = {}
        self.sums = collections.Counter()

    def learn(self, data):
        for field, entries in data.ListFields():
            for entry in entries:
                self.interned.setdefault((field.name, entry.iid), entry)

    def get(self, kind, iid):
        return self.interned[kind, iid]


class Track:
    def __init__(self, descriptor):
        self.uuid = descriptor.uuid
        self.parent = descriptor.parent_uuid
        which = descriptor.WhichOneof("static_or_dynamic_name")
        self.name = getattr(descriptor, which) if which else ""
        self.unit, self.multiplier, self.is_incremental = "", 1, False
        self.pid = self.tid = self.short_name = None
        if descriptor.HasField("thread"):
            self.kind, self.pid, self.tid = "thread", descriptor.thread.pid, descriptor.thread.tid
            self.name = descriptor.thread.thread_name
        elif descriptor.HasField("process"):
            self.kind, self.pid = "process", descriptor.process.pid
            self.name = descriptor.process.process_name
            self.short_name = self.name.rsplit("/", 1)[-1]
        elif descriptor.HasField("counter"):
            counter = descriptor.counter
            self.kind = "counter"
            self.unit = UNITS.get(counter.unit) or counter.unit_name
            self.multiplier = counter.unit_multiplier or 1
            self.is_incremental = counter.is_incremental
        else:
            self.kind = "state" if descriptor.HasField("state") else "track"

    def shown(self):
        name = self.name if self.short_name is None else self.short_name
        return f"{self.kind} {quoted(name)}" + (f" in {quoted(self.unit)}" if self.unit else "")

    def is_like(self, other):
        return vars(self) == vars(other)


class Trace:
    def __init__(self, path):
        self.sequences = collections.defaultdict(Sequence)
        self.tracks = {}
        # By sequence and clock: the clock's time, and by how much that of the trace is later.
        self.clocks = {}
        self.units = {}
        # Lines, and for each the time and track.
        self.events = []
        self.faults = []
        with open(path, "rb") as file:
            trace = schema.Trace.FromString(file.read())
        for packet in trace.packet:
            if packet.HasField("compressed_packets"):
                unpacked = schema.Trace.FromString(zlib.decompress(packet.compressed_packets))
                for inner in unpacked.packet:
                    self.packet(inner)
            else:
                self.packet(packet)

    def packet(self, packet):
        if unknown := [field.field_number for field in UnknownFieldSet(packet)]:
            self.faults.append(f"unknown fields {unknown}")
        sequence = self.sequences[packet.trusted_packet_sequence_id]
        if packet.sequence_flags & packet.SEQ_INCREMENTAL_STATE_CLEARED:
            sequence.clear()
        elif packet.previous_packet_dropped:
            sequence.is_valid = False
        if packet.HasField("trace_packet_defaults"):
            sequence.defaults = packet.trace_packet_defaults
        sequence.learn(packet.interned_data)
        if packet.HasField("clock_snapshot"):
            self.snapshot(packet)
            if packet.HasField("track_event") or packet.HasField("track_descriptor"):
                self.faults.append("an event beside a clock snapshot")
            return
        if packet.sequence_flags & packet.SEQ_NEEDS_INCREMENTAL_STATE and not sequence.is_valid:
            self.faults.append(f"sequence {packet.trusted_packet_sequence_id} is used before its state is there")
        # An incremental clock goes on with each packet.
        time = self.time(packet, sequence) if packet.HasField("timestamp") else None
        if packet.HasField("track_descriptor"):
            track = Track(packet.track_descriptor)
            known = self.tracks.setdefault(track.uuid, track)
            if not known.is_like(track):
                self.faults.append(f"track {track.uuid:x} is described in two ways")
        if packet.HasField("track_event"):
            self.event(packet, sequence, time)

    def snapshot(self, packet):
        clocks = {clock.clock_id: clock for clock in packet.clock_snapshot.clocks}
        if BOOTTIME not in clocks:
            return
        for clock in clocks.values():
            unit = clock.unit_multiplier_ns or 1
            key = self.clock_key(packet, clock.clock_id)
            now = clock.timestamp * unit
            self.clocks[key] = now, clocks[BOOTTIME].timestamp - now
            self.units[key] = unit, clock.is_incremental

    def clock_key(self, packet, clock):
        return (packet.trusted_packet_sequence_id if clock in OWN_CLOCKS else 0), clock

    def time(self, packet, sequence):
        clock = packet.timestamp_clock_id or sequence.defaults.timestamp_clock_id
        if clock in (0, BOOTTIME):
            return packet.timestamp
        key = self.clock_key(packet, clock)
        unit, is_incremental = self.units[key]
        now, offset = self.clocks[key]
        time = packet.timestamp * unit
        if is_incremental:
            time += now
            self.clocks[key] = time, offset
        return time + offset

    def event(self, packet, sequence, time):
        event, defaults = packet.track_event, sequence.defaults.track_event_defaults
        if time is None:
            self.faults.append("an event without a time")
            time = 0
        uuid = event.track_uuid if event.HasField("track_uuid") else defaults.track_uuid
        described = list(self.describe(event, sequence, uuid))
        self.events.append((time, packet.trusted_packet_sequence_id, uuid, described))

    def describe(self, event, sequence, uuid):
        """What happened. Flows are numbers."""
        yield KINDS[event.type]
        if event.type == event.TYPE_COUNTER:
            yield self.value(event, sequence, self.tracks[uuid])
        if event.name_iid:
            yield quoted(sequence.get("event_names", event.name_iid).name)
        elif event.HasField("name"):
            yield quoted(event.name)
        for iid in event.category_iids:
            yield "#" + quoted(sequence.get("event_categories", iid).name)
        for category in event.categories:
            yield "#" + quoted(category)
        for annotation in event.debug_annotations:
            yield annotated(annotation, sequence)
        for flow in event.flow_ids:
            yield ">", flow
        for flow in event.terminating_flow_ids:
            yield "|", flow
        if event.HasField("source_location_iid"):
            yield "at " + place(sequence.get("source_locations", event.source_location_iid))
        if event.HasField("log_message"):
            log = event.log_message
            body = sequence.get("log_message_body", log.body_iid).body
            text = f"log {log.prio or 4} {quoted(body)}"
            if log.source_location_iid:
                text += " at " + place(sequence.get("source_locations", log.source_location_iid))
            yield text
        if event.HasField("correlation_id"):
            yield f"correlation {quoted(str(event.correlation_id))}"
        if event.HasField("correlation_id_str"):
            yield f"correlation {quoted(event.correlation_id_str)}"
        if event.correlation_id_str_iid:
            text = sequence.get("correlation_id_str", event.correlation_id_str_iid).str
            yield f"correlation {quoted(text.decode())}"
        defaults = sequence.defaults.track_event_defaults
        extra = event.extra_counter_track_uuids or defaults.extra_counter_track_uuids
        for uuid, value in zip(extra, event.extra_counter_values):
            yield f"{uuid:x}={self.sum(value, sequence, self.tracks[uuid])}"

    def value(self, event, sequence, track):
        is_double = event.HasField("double_counter_value")
        return self.sum(event.double_counter_value if is_double else event.counter_value, sequence, track)

    def sum(self, value, sequence, track):
        value *= track.multiplier
        if track.is_incremental:
            sequence.sums[track.uuid] += value
            value = float(sequence.sums[track.uuid])
        return str(value)

    def chain(self, uuid):
        chain = []
        while uuid in self.tracks and len(chain) < 100:
            track = self.tracks[uuid]
            chain.insert(0, track)
            uuid = 0 if track.kind in ("process", "thread") else track.parent
        if uuid:
            self.faults.append(f"track {uuid:x} is not described")
        return chain

    def lines(self):
        """The events as the example prints them."""
        for time, sequence, uuid, described in self.events:
            words = [f"{time} {sequence} {uuid:x}"]
            for track in self.chain(uuid):
                ids = [str(number) for number in (track.pid, track.tid) if number is not None]
                unit = [quoted(track.unit)] if track.kind == "counter" else []
                words.append(" ".join([track.kind, *ids, *unit, quoted(track.name)]))
            words.extend(p if isinstance(p, str) else f"{p[0]}{p[1]:x}" for p in described)
            yield " ".join(words)

    def normal(self):
        """Events track by track, with nothing that differs in each run."""
        by_track = collections.defaultdict(list)
        for time, _, uuid, described in self.events:
            by_track[uuid].append((time, described))
        tables = []
        for uuid, events in by_track.items():
            chain = self.chain(uuid)
            process = self.process_of(chain)
            # By time: two sequences may have written them.
            events.sort(key=lambda event: event[0])
            lines = []
            for time, described in events:
                at = f"{time}: " if time < LATE else ""
                words = [p if isinstance(p, str) else p[0] + self.number(p[1], process) for p in described]
                lines.append("    " + at + LONG.sub(lambda text: f"{len(text[0])} characters", " ".join(words)))
            shown = " / ".join(t.shown() for t in chain) or "no track"
            is_thread = chain and chain[-1].kind == "thread"
            is_global = not any(track.pid is not None for track in chain)
            number = "" if is_thread else f" {uuid:x}" if is_global else " " + self.number(uuid, process)
            tables.append("\n".join([f"{shown}{number}", *lines]))
        return "\n".join(sorted(tables)) + "\n"

    def process_of(self, chain):
        """The uuid of the process of a track; of the only one, if the track has none."""
        pids = {track.pid for track in chain if track.pid is not None}
        uuids = [t.uuid for t in self.tracks.values() if t.kind == "process" and (not pids or t.pid in pids)]
        return uuids[0] if len(uuids) == 1 else 0

    def number(self, number, process):
        """A uuid or flow, without what the process added to it."""
        # What is computed from the uuid of a process differs from it in all bits, almost surely.
        return f"{number:x}" if number < 1 << 32 else f"process^{number ^ process:x}"


def quoted(text):
    if isinstance(text, bytes):
        text = text.decode(errors="replace")
    out = []
    for char in text:
        if char in '"\\':
            out.append("\\" + char)
        elif ord(char) < 32 or 127 <= ord(char) < 160:
            out.append(f"\\u{ord(char):04x}")
        else:
            out.append(char)
    return '"' + "".join(out) + '"'


def place(location):
    return f"{quoted(location.file_name)} {quoted(location.function_name)} {location.line_number}"


def annotated(annotation, sequence):
    if annotation.name_iid:
        name = sequence.get("debug_annotation_names", annotation.name_iid).name
    else:
        name = annotation.name
    return f"{quoted(name)}={value_of(annotation, sequence)}"


def value_of(annotation, sequence):
    if annotation.dict_entries:
        return "{" + "".join(" " + annotated(a, sequence) for a in annotation.dict_entries) + " }"
    if annotation.array_values:
        return "[" + "".join(" " + annotated(a, sequence) for a in annotation.array_values) + " ]"
    which = annotation.WhichOneof("value")
    value = getattr(annotation, which)
    if which == "bool_value":
        return "true" if value else "false"
    if which == "string_value_iid":
        return quoted(sequence.get("debug_annotation_string_values", value).str)
    if which == "string_value":
        return quoted(value)
    return f"0x{value:x}" if which == "pointer_value" else str(value)


def is_alike(found, expected, drawn):
    """Numbers that each run draws have a name in `expected`: `^*name`. `drawn` has those that were found."""
    text, *rest = DRAWN.split(expected)
    names, texts = rest[::2], rest[1::2]
    pattern = re.escape(text) + "".join(r"\^([0-9a-f]+)" + re.escape(text) for text in texts)
    match = re.fullmatch(pattern, found)
    return bool(match) and all(drawn.setdefault(*pair) == pair[1] for pair in zip(names, match.groups()))


def compare(what, found, expected):
    """The first line that differs."""
    drawn = {}
    for number, (left, right) in enumerate(zip(found, expected), 1):
        if not is_alike(left, right, drawn):
            return [f"{what}, line {number}:\n  {left[:300]}\nnot {right[:300]}"]
    if len(found) != len(expected):
        return [f"{what}: {len(found)} lines, not {len(expected)}"]
    return []


def main():
    path, ours, expected = sys.argv[1:4]
    trace = Trace(path)
    with open(ours, encoding="utf-8") as file:
        faults = compare("the official schema reads otherwise than our reader", list(trace.lines()), file.read().splitlines())
    if expected != "-":
        normal = trace.normal()
        if "--bless" in sys.argv:
            with open(expected, "w", encoding="utf-8") as file:
                file.write(normal)
        with open(expected, encoding="utf-8") as file:
            faults += compare(expected, normal.splitlines(), file.read().splitlines())
    faults = list(dict.fromkeys(trace.faults + faults))
    if faults:
        print("\n".join(faults[:12]))
        sys.exit(1)
    print(f"{len(trace.events)} events on {len(trace.tracks)} tracks")


main()
