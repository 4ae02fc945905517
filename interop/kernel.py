"""Compares what the C++ probes and ours write of the kernel's events for one config.

usage: kernel.py CONFIG CPP_TRACE OUR_TRACE

The events themselves differ, as they happened at different times. Their shape must not: which fields a bundle, an
event of each kind, the statistics and the descriptors of generic events have. Beside that, our trace has nothing of
which we know that trace processor counts it as an error, drops or confuses it. Prints one line and exits with 0, or
says every difference and exits with 1.
"""

import collections
import sys

from google.protobuf import descriptor_pb2
from google.protobuf.unknown_fields import UnknownFieldSet
from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as schema

# Kinds of events of which so many are in one trace must be in the other.
MANY = 50


def names(message):
    return {field.name for field, _ in message.ListFields()}


def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            return value, at


def wire(data):
    """The numbers and values of the fields of a message, in the order of its bytes."""
    at = 0
    while at < len(data):
        tag, at = varint(data, at)
        if tag & 7 == 0:
            value, at = varint(data, at)
        elif tag & 7 == 2:
            length, at = varint(data, at)
            value, at = data[at : at + length], at + length
        else:
            width = {1: 8, 5: 4}[tag & 7]
            value, at = data[at : at + width], at + width
        yield tag >> 3, value


class Reader:
    """Goes over a trace as trace processor does, and collects what that would count as an error, drop or confuse."""

    CPUS = 1024

    def __init__(self, path):
        self.faults = collections.Counter()
        # By CPU: the times of the last bundle's events, and that of the last switch.
        self.ends = {}
        self.switches = {}
        self.described = {}
        with open(path, "rb") as file:
            for number, packet in wire(file.read()):
                for field, value in wire(packet) if number == 1 else []:
                    if field == 1:
                        self.bundle(value)
                    elif field == 34:
                        self.stats(schema.FtraceStats.FromString(value))

    def expect(self, holds, fault):
        if not holds:
            self.faults[fault] += 1

    def stats(self, stats):
        self.expect(stats.phase in (1, 2), "statistics without a phase")
        self.expect(not stats.ftrace_parse_errors, "parse errors")

    def bundle(self, data):
        fields = list(wire(data))
        values = dict(fields)
        cpu = values.get(1, self.CPUS)
        self.expect(cpu < self.CPUS, "a bundle without a CPU")
        self.expect(8 not in values, "an error in a bundle")
        before = self.ends.get(cpu, {0})
        self.expect(values.get(10) in before, "previous_bundle_end_timestamp is not an event of the bundle before")
        times = [self.event(value) for number, value in fields if number == 2]
        descriptors = [value for number, value in fields if number == 11]
        for value in descriptors:
            self.descriptor(schema.FtraceEventBundle.GenericEventDescriptor.FromString(value))
        if 4 in values:
            times += self.columns(cpu, schema.FtraceEventBundle.CompactSched.FromString(values[4]))
        self.ends[cpu] = set(times) or before

    def event(self, data):
        head = [number for number, _ in wire(data)][:2]
        self.expect(head == [1, 2], "an event that does not begin with its time and its thread")
        self.expect(len({number for number, _ in wire(data)}) == 3, "an event that is none or several")
        return dict(wire(data)).get(1, 0)

    def descriptor(self, described):
        known = self.described.setdefault(described.field_id, described.event_descriptor)
        self.expect(known == described.event_descriptor, "a number of two generic events")
        message = descriptor_pb2.DescriptorProto.FromString(described.event_descriptor)
        fits = all(field.number < 32 and field.type <= 18 for field in message.field)
        self.expect(fits, "a descriptor with more fields than a reader takes")

    def columns(self, cpu, compact):
        times = []
        for kind, others in [
            ("switch", ["prev_state", "next_pid", "next_prio", "next_comm_index"]),
            ("waking", ["pid", "target_cpu", "prio", "comm_index", "common_flags"]),
        ]:
            deltas = getattr(compact, f"{kind}_timestamp")
            lengths = {len(getattr(compact, f"{kind}_{other}")) for other in others}
            self.expect(lengths == {len(deltas)}, "columns of different lengths")
            index = "next_comm_index" if kind == "switch" else "comm_index"
            indices = getattr(compact, f"{kind}_{index}")
            self.expect(max(indices, default=-1) < len(compact.intern_table), "an index beyond the table")
            time = 0
            for delta in deltas:
                time = (time + delta) % 2**64
                times.append(time)
                if kind == "switch":
                    self.expect(time >= self.switches.get(cpu, 0), "switches of a CPU out of order")
                    self.switches[cpu] = time
        return times


class Shape:
    def __init__(self, path):
        trace = schema.Trace()
        with open(path, "rb") as file:
            trace.ParseFromString(file.read())
        # Part of the trace: the fields that it has.
        self.fields = collections.defaultdict(set)
        self.counts = collections.Counter()
        # Generic events by group and name: their fields, and how often each number of one is in the trace.
        self.generic = {}
        self.numbers = {}
        self.of_number = collections.Counter()
        self.switches = 0
        for packet in trace.packet:
            if packet.HasField("ftrace_events"):
                self.add_bundle(packet.ftrace_events)
            if packet.HasField("ftrace_stats"):
                self.add_stats(packet.ftrace_stats)
            if packet.interned_data.kernel_symbols:
                self.counts["kernel symbols"] += len(packet.interned_data.kernel_symbols)
                self.fields["kernel symbols"] |= names(packet.interned_data.kernel_symbols[0])

    def add_bundle(self, bundle):
        is_empty = not bundle.event and not bundle.HasField("compact_sched")
        if is_empty:
            return
        self.fields["bundle"] |= names(bundle) - {"event", "compact_sched", "generic_event_descriptors", "lost_events"}
        if bundle.HasField("compact_sched"):
            columns = bundle.compact_sched
            self.fields["columns"] |= names(columns)
            self.counts["columns"] += len(columns.switch_timestamp) + len(columns.waking_timestamp)
            for of in ["switch_prev_state", "switch_next_pid", "switch_next_prio", "switch_next_comm_index"]:
                assert len(getattr(columns, of)) == len(columns.switch_timestamp), of
        for event in bundle.event:
            fields = names(event) - {"timestamp", "pid", "common_flags"}
            self.fields["event"] |= names(event) & {"timestamp", "pid", "common_flags"}
            for kind in fields:
                self.counts[kind] += 1
                self.fields[kind] |= names(getattr(event, kind))
            # Generic events: their numbers are beyond the schema.
            for field in UnknownFieldSet(event):
                self.counts["generic"] += 1
                self.of_number[field.field_number] += 1
                self.fields["generic"].add(field.wire_type)
        for described in bundle.generic_event_descriptors:
            message = descriptor_pb2.DescriptorProto.FromString(described.event_descriptor)
            fields = {(field.name, field.type) for field in message.field}
            event = (described.group_name, message.name)
            self.generic[event] = fields
            self.numbers[event] = described.field_id

    def times(self, event):
        """How often a generic event is in the trace."""
        return self.of_number[self.numbers[event]]

    def add_stats(self, stats):
        phase = "start" if stats.phase == schema.FtraceStats.START_OF_TRACE else "end"
        self.counts[phase] += 1
        self.fields[phase] |= names(stats)
        for cpu in stats.cpu_stats:
            self.fields["statistics of a cpu"] |= names(cpu)
        assert not stats.ftrace_parse_errors, stats.ftrace_parse_errors
        self.missing = (sorted(stats.unknown_ftrace_events), sorted(stats.failed_ftrace_events))


def compare(config, cpp, ours, reader):
    faults = []
    for part in sorted(set(cpp.fields) | set(ours.fields)):
        if part not in cpp.fields or part not in ours.fields:
            side, other = (cpp, "ours") if part in cpp.fields else (ours, "cpp")
            if side.counts[part] >= MANY or part in ["bundle", "event", "start", "end"]:
                faults.append(f"{part} ({side.counts[part]} times) is not in the trace of {other}")
            continue
        for name in sorted(cpp.fields[part] ^ ours.fields[part]):
            side = "cpp" if name in cpp.fields[part] else "ours"
            faults.append(f"{part}: {name} is in the trace of {side} alone")
    for event in sorted(set(cpp.generic) | set(ours.generic)):
        if event not in cpp.generic or event not in ours.generic:
            # An event is described when it first happens: a rare one may have happened in one recording alone.
            side, other = (cpp, "ours") if event in cpp.generic else (ours, "cpp")
            if side.times(event) >= MANY:
                faults.append(f"{event} ({side.times(event)} times) is not described in the trace of {other}")
        elif cpp.generic[event] != ours.generic[event]:
            faults.append(f"{event}: {cpp.generic[event]} and {ours.generic[event]}")
    for side in [cpp, ours]:
        if side.counts["generic"] and not side.generic:
            faults.append("generic events without a descriptor")
    if cpp.missing != ours.missing:
        faults.append(f"unknown and failed: {cpp.missing} and {ours.missing}")
    events = sum(ours.counts.values())
    if events < MANY:
        faults.append(f"{events} events show nothing")
    faults += [f"our trace, {count} times: {fault}" for fault, count in reader.faults.items()]
    if faults:
        print("\n".join(f"{config}: {fault}" for fault in faults))
        sys.exit(1)
    kinds = sum(part in cpp.fields and part in ours.fields for part in ours.fields)
    print(f"{config}: {events} events and statistics, {kinds} parts with the same fields")


def main():
    config, cpp, ours = sys.argv[1:]
    compare(config, Shape(cpp), Shape(ours), Reader(ours))


main()
