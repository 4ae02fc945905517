"""Compares what two services emitted for one script, packet by packet and field by field.

usage: scenario.py CPP_FOLDER OUR_FOLDER DIFFERENCES

The folders are what the test `scenario` of tracebox leaves in SCENARIO_OUT. Times, ids of processes and
UUIDs are replaced by names, the same name for the same value. DIFFERENCES lists what may differ, and why: lines
that begin with a space are patterns, in which `*` stands for anything, of the differences that the lines
above them explain. A difference without a pattern is a fault, and so is a pattern without a difference.
"""

import difflib
import os
import re
import sys
import zlib

from google.protobuf import descriptor as pb
from google.protobuf.unknown_fields import UnknownFieldSet
from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as schema

PACKET = schema.TracePacket.DESCRIPTOR
COMPRESSED = 50
SCALARS = {
    pb.FieldDescriptor.TYPE_INT32: lambda v: (v & (1 << 64) - 1) - (1 << 64) if v >> 63 else v,
    pb.FieldDescriptor.TYPE_BOOL: bool,
}
# Values that differ between any two runs, by the end of their path.
TIMES = re.compile(
    r"(clocks\.timestamp|boot_time_ns|time_taken_ns|start_realtime_ns|^timestamp)$"
)
IDENTITIES = re.compile(r"(uuid\.(msb|lsb)|trace_uuid_(msb|lsb))$")
PROCESSES = re.compile(r"(trusted_pid|producers\.pid)$")
VERSIONS = re.compile(r"tracing_service_version$")
# Messages in which zero is as good as absent.
COUNTERS = re.compile(r"buffer_stats\[\d+\]$")
# Whether a producer patches a chunk itself or has the service do it depends on who is faster.
BY_CHANCE = ["patches_succeeded", "patches_failed"]
# A time that a script would not choose.
LATE = 1_000_000


class Run:
    """One folder, with the names of what is different in each run."""

    def __init__(self, folder):
        self.folder = folder
        with open(os.path.join(folder, "processes"), encoding="utf-8") as file:
            player, service = file.read().split()
        self.processes = {int(player): "the player", int(service): "the service"}
        self.identities = {}
        self.names = sorted(n for n in os.listdir(folder) if n != "processes")

    def read(self, name):
        with open(os.path.join(self.folder, name), "rb") as file:
            data = file.read()
        if name.endswith(".pftrace"):
            return self.packets(data)
        if name == "answers":
            pairs = [line.split(": ", 1) for line in data.decode().splitlines()]
            return [Item(question, [("answer", answer)]) for answer, question in pairs]
        # `SESSION.MessageName`
        message = getattr(schema, name.split(".")[-1])()
        message.ParseFromString(data)
        return [Item("it", list(self.leaves(message, "")))]

    def packets(self, data):
        items = []
        for number, value in fields(data):
            if number != 1:
                items.append(Item(f"field {number} of the trace", []))
                continue
            first = next(fields(value), (0, None))
            if first[0] == COMPRESSED:
                items.append(Item("a compressed packet", [("fields", len(list(fields(value))))]))
                items.extend(self.packets(zlib.decompress(first[1])))
            else:
                items.append(self.packet(value))
        # How many there are in a row depends on how far the clocks went apart meanwhile.
        snapshot = "clock_snapshot"
        return [a for a, b in zip(items, [None, *items]) if not (b and a.kind == b.kind == snapshot)]

    def packet(self, data):
        message = schema.TracePacket.FromString(data)
        leaves = []
        for number, value in fields(data):
            field = PACKET.fields_by_number.get(number)
            if field is None:
                leaves.append((f"field {number}", value))
            elif field.message_type is not None:
                child = schema.TracePacket.FromString(tagged(number, value))
                leaves.extend(self.leaves(getattr(child, field.name), field.name))
            else:
                if field.type in SCALARS:
                    value = SCALARS[field.type](value)
                leaves.append((field.name, self.plain(field.name, value)))
        return Item(kind(message), leaves)

    def leaves(self, message, path):
        """Pairs of a path and a value, in the order of field numbers."""
        listed = message.ListFields()
        unknown = list(UnknownFieldSet(message))
        if COUNTERS.search(path):
            # One service leaves out counters that never moved.
            listed = [(f, v) for f, v in listed if v != 0 and f.name not in BY_CHANCE]
        if not listed and not unknown:
            yield path, "{}"
        for field, value in listed:
            name = f"{path}.{field.name}".lstrip(".")
            if field.message_type is None:
                yield name, self.plain(name, value)
            elif not is_repeated(value):
                yield from self.leaves(value, name)
            else:
                for at, item in enumerate(in_order(field.name, value)):
                    yield from self.leaves(item, f"{name}[{at}]")
        for field in unknown:
            yield f"{path}.field {field.field_number}", field.data

    def plain(self, path, value):
        path = re.sub(r"\[\d+\]", "", path)
        if is_repeated(value):
            return list(value)
        if TIMES.search(path) and value > LATE:
            return "a time"
        if IDENTITIES.search(path) and value:
            return self.identities.setdefault(value, f"identity {len(self.identities)}")
        if PROCESSES.search(path):
            return self.processes.get(value, value)
        if VERSIONS.search(path):
            return "a version"
        return value


class Item:
    """A packet: what it is, and its fields in their order."""

    def __init__(self, kind_of_it, leaves):
        self.kind = kind_of_it
        self.leaves = leaves

    def by_path(self):
        values = {}
        for path, value in self.leaves:
            values.setdefault(path, []).append(value)
        return values

    def order(self):
        names = [re.split(r"[.\[]", path)[0] for path, _ in self.leaves]
        return [n for i, n in enumerate(names) if i == 0 or names[i - 1] != n]


def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            return value, at


def fields(data):
    """Numbers and values of a message, in their order."""
    at = 0
    while at < len(data):
        tag, at = varint(data, at)
        if tag & 7 == 0:
            value, at = varint(data, at)
        elif tag & 7 == 2:
            length, at = varint(data, at)
            value = data[at : at + length]
            if len(value) != length:
                raise ValueError("a field is cut short")
            at += length
        else:
            length = {1: 8, 5: 4}[tag & 7]
            value = int.from_bytes(data[at : at + length], "little")
            at += length
        yield tag >> 3, value


def tagged(number, value):
    def encode(n):
        out = b""
        while n > 0x7F:
            out += bytes([n & 0x7F | 0x80])
            n >>= 7
        return out + bytes([n])

    return encode(number << 3 | 2) + encode(len(value)) + value


def is_repeated(value):
    return not isinstance(value, (str, bytes)) and hasattr(value, "__len__")


def in_order(field, values):
    """What comes out of a hash table in the one service is sorted in both."""
    if field == "writer_stats":
        return sorted(values, key=lambda w: (w.buffer, w.sequence_id))
    return values


def kind(packet):
    if packet.for_testing.str:
        return "packet " + packet.for_testing.str.rstrip(".")[:40]
    if packet.HasField("service_event"):
        return "service_event." + ".".join(f.name for f, _ in packet.service_event.ListFields())
    if packet.HasField("concurrent_session_event"):
        event = packet.concurrent_session_event
        return f"concurrent_session_event of session {event.session_id}, state {event.state}"
    if packet.synchronization_marker:
        return "synchronization_marker"
    return packet.WhichOneof("data") or "a packet without data"


def shown(values):
    text = ", ".join(str(v) for v in values)
    return text if len(text) <= 100 else text[:97] + "..."


def compare_items(cpp, ours):
    cpp_values, our_values = cpp.by_path(), ours.by_path()
    same_order = list(cpp_values) == list(our_values)
    for path in dict.fromkeys([*cpp_values, *our_values]):
        a, b = cpp_values.get(path), our_values.get(path)
        if a is None:
            yield f"{path}: {shown(b)} only in ours"
        elif b is None:
            yield f"{path}: {shown(a)} only in C++"
        elif a != b:
            yield f"{path}: C++ {shown(a)}, ours {shown(b)}"
    if not same_order and sorted(cpp.order()) == sorted(ours.order()) and cpp.order() != ours.order():
        yield f"order of fields: C++ {shown(cpp.order())}; ours {shown(ours.order())}"


def compare(name, cpp, ours):
    matcher = difflib.SequenceMatcher(a=[i.kind for i in cpp], b=[i.kind for i in ours], autojunk=False)
    for what, a, a_end, b, b_end in matcher.get_opcodes():
        if what == "equal":
            for left, right in zip(cpp[a:a_end], ours[b:b_end]):
                for difference in compare_items(left, right):
                    yield f"{name}: {left.kind}: {difference}"
            continue
        for item in cpp[a:a_end]:
            yield f"{name}: {item.kind}: only in C++"
        for item in ours[b:b_end]:
            yield f"{name}: {item.kind}: only in ours"


def explained(path):
    """Patterns of a list of differences, with where they stand."""
    patterns = []
    with open(path, encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            if line.startswith(" ") and line.strip():
                parts = [re.escape(part) for part in line.strip().split("*")]
                patterns.append((number, line.strip(), re.compile(".*".join(parts))))
    return patterns


def main():
    cpp, ours = Run(sys.argv[1]), Run(sys.argv[2])
    found, packets = [], 0
    for name in sorted({*cpp.names, *ours.names}):
        if name not in cpp.names or name not in ours.names:
            found.append(f"{name}: only in {'C++' if name in cpp.names else 'ours'}")
            continue
        left, right = cpp.read(name), ours.read(name)
        packets += len(right)
        found.extend(compare(name.removesuffix(".pftrace"), left, right))
    found = list(dict.fromkeys(found))
    patterns = explained(sys.argv[3])
    faults = [f"not explained: {f}" for f in found if not any(p.fullmatch(f) for _, _, p in patterns)]
    for number, text, pattern in patterns:
        if not any(pattern.fullmatch(f) for f in found):
            faults.append(f"does not occur: line {number}: {text}")
    print(f"{packets} packets of {len(ours.names)} traces, {len(found)} differences, {len(faults)} faults")
    if faults:
        print("\n".join(faults))
        sys.exit(1)


main()
