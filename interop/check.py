"""Holds a trace against what its source is known to send, with the official schema.

usage: check.py SOURCE SERVICE PLAY TRACE SOURCE_PID DURATION_MS

Prints one line and exits with 0, or says every fault it found and exits with 1.
"""

import collections
import os
import sys
import zlib

from google.protobuf.unknown_fields import UnknownFieldSet
from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as schema

# Sequence of the service's own packets.
SERVICE_SEQUENCE = 1
# What the example is started with, and the size of its large text.
EXAMPLE_THREADS = 4
EXAMPLE_EVENTS = 2000
LARGE = 8 << 20
# What is asked for of the system calls: read and write.
SYSCALLS = {"x86_64": [0, 1], "aarch64": [63, 64]}
# Faults told; the rest is counted.
FAULTS_MAX = 12

# Loss, or our fault, if not zero at the end.
MUST_BE_ZERO = [
    "chunks_overwritten",
    "chunks_discarded",
    "chunks_committed_out_of_order",
    "patches_failed",
    "trace_writer_packet_loss",
    "abi_violations",
]


class Trace:
    def __init__(self, path):
        with open(path, "rb") as file:
            data = file.read()
        self.size = len(data)
        self.trace = schema.Trace()
        self.trace.ParseFromString(data)
        # How many packets hold others, by what compressed them.
        self.compressed = collections.Counter()
        self.packets = list(self.unpacked())
        self.faults = []

    def unpacked(self):
        for packet in self.trace.packet:
            if packet.HasField("compressed_packets"):
                self.compressed["deflate"] += 1
                yield from schema.Trace.FromString(zlib.decompress(packet.compressed_packets)).packet
            elif packet.HasField("zstd_compressed_packets"):
                self.compressed["zstd"] += 1
                yield from schema.Trace.FromString(unzstd(packet.zstd_compressed_packets)).packet
            else:
                yield packet

    def fault(self, text):
        self.faults.append(text)

    def need(self, condition, text):
        if not condition:
            self.fault(text)

    def of(self, field):
        return [p for p in self.packets if p.HasField(field)]


def unzstd(data):
    # Not in the standard library before Python 3.14.
    import zstandard

    return zstandard.ZstdDecompressor().stream_reader(data).read()


def unknown_fields(message, path, found):
    for field in UnknownFieldSet(message):
        found[f"{path}.{field.field_number}"] += 1
    for descriptor, value in message.ListFields():
        if descriptor.message_type is None:
            continue
        name = f"{path}.{descriptor.name}"
        if isinstance(value, collections.abc.MutableMapping):
            continue
        try:
            children = iter(value)
        except TypeError:
            children = [value]
        for child in children:
            unknown_fields(child, name, found)


# The ledger of losses, which only our service writes. Readers of upstream skip it.
OWN_FIELDS = {"TracePacket.trace_stats.50001"}


def check_schema(trace):
    found = collections.Counter()
    for packet in trace.packets:
        unknown_fields(packet, "TracePacket", found)
    for path, count in sorted(found.items()):
        if path in OWN_FIELDS:
            continue
        trace.fault(f"unknown field {path}, {count} times")


def check_service_packets(trace, service, play, duration_ms, is_clone):
    for field in ["trace_uuid", "trace_config", "clock_snapshot", "system_info", "trace_stats"]:
        trace.need(trace.of(field), f"no packet with {field}")
    for packet in trace.of("trace_config"):
        got = packet.trace_config.duration_ms
        trace.need(duration_ms is None or got == duration_ms, f"trace_config says {got} ms, not {duration_ms}")
    for packet in trace.of("trace_uuid"):
        trace.need(packet.trace_uuid.msb and packet.trace_uuid.lsb, "empty uuid")
    for packet in trace.of("clock_snapshot"):
        # Producers write snapshots of their own clocks too.
        if packet.trusted_packet_sequence_id != SERVICE_SEQUENCE:
            continue
        clocks = {c.clock_id: c.timestamp for c in packet.clock_snapshot.clocks}
        missing = set(range(1, 7)) - set(clocks)
        trace.need(not missing, f"clock snapshot without clocks {sorted(missing)}")
    for packet in trace.of("system_info"):
        trace.need(packet.system_info.utsname.sysname == "Linux", "system_info without utsname")
    # A clone has one only if it was due.
    marked = any(p.synchronization_marker for p in trace.packets)
    trace.need(marked or is_clone, "no synchronization marker")
    events = collections.Counter()
    for packet in trace.of("service_event"):
        for descriptor, _ in packet.service_event.ListFields():
            events[descriptor.name] += 1
    needed = ["tracing_started", "read_tracing_buffers_completed"]
    if service == "ours" or play not in ["detach", "attach"]:
        # The C++ service does not notice it while nobody is attached.
        needed.append("all_data_sources_started")
    for event in needed:
        trace.need(events[event], f"no service event {event}")


def check_loss(trace, service, play, may_lose):
    packets = trace.of("trace_stats")
    if packets:
        stats = packets[-1].trace_stats
        trace.need(stats.buffer_stats, "trace_stats without buffers")
        for buffer in stats.buffer_stats:
            for name in MUST_BE_ZERO:
                value = getattr(buffer, name)
                if may_lose and name == "trace_writer_packet_loss":
                    continue
                trace.need(not value, f"buffer_stats.{name} = {value}")
            # The C++ service may write its statistics into a file before there is anything to count.
            if service == "ours" or play not in ["file", "deflatefile", "attach", "detach"]:
                trace.need(buffer.chunks_written, "no chunk was written")
        for name in ["chunks_discarded", "patches_discarded", "invalid_packets"]:
            value = getattr(stats, name)
            trace.need(not value, f"trace_stats.{name} = {value}")
    for packet in trace.packets:
        first = packet.first_packet_on_sequence
        if packet.previous_packet_dropped and not first and not may_lose:
            trace.fault(f"sequence {packet.trusted_packet_sequence_id} lost a packet")


def check_trust(trace, pid):
    uid = os.getuid()
    for packet in trace.packets:
        sequence = packet.trusted_packet_sequence_id
        # Texts are made when needed: there are many packets.
        if not packet.HasField("trusted_uid") or packet.trusted_uid != uid:
            trace.fault(f"uid {packet.trusted_uid}: {kind(packet)}")
        if not sequence:
            trace.fault(f"packet without sequence: {kind(packet)}")
        if sequence > SERVICE_SEQUENCE and packet.trusted_pid != pid:
            trace.fault(f"pid {packet.trusted_pid}, not {pid}: {kind(packet)}")


def kind(packet):
    return packet.WhichOneof("data") or "empty packet"


def check_numbered(trace, writers, count):
    """Test packets of each writer: all there, in order, on one sequence each."""
    by_sequence = collections.defaultdict(list)
    for packet in trace.of("for_testing"):
        by_sequence[packet.trusted_packet_sequence_id].append(packet.for_testing)
    events = {s: [e for e in es if e.HasField("counter")] for s, es in by_sequence.items()}
    events = {s: es for s, es in events.items() if es}
    trace.need(len(events) == writers, f"{len(events)} sequences of test packets, not {writers}")
    for sequence, list_of_events in sorted(events.items()):
        counters = [e.counter for e in list_of_events]
        if counters != list(range(count)):
            wrong = next((i for i, c in enumerate(counters) if c != i), len(counters))
            got = counters[wrong : wrong + 3]
            trace.fault(f"sequence {sequence}: {len(counters)} of {count}; at {wrong}: {got}")
        trace.need(list_of_events[-1].is_last, f"sequence {sequence}: the last is not marked")
        seqs = {e.seq_value for e in list_of_events}
        trace.need(len(seqs) == 1, f"sequence {sequence} mixes writers {seqs}")
    return sum(len(e) for e in events.values())


def check_sdk(trace):
    count = check_numbered(trace, 2, 3000)
    numbers = []
    for packet in trace.of("track_event"):
        for argument in packet.track_event.debug_annotations:
            if argument.HasField("uint_value"):
                numbers.append(argument.uint_value)
    trace.need(numbers == list(range(100)), f"track events {numbers[:3]}.. ({len(numbers)})")
    trace.need(trace.of("track_descriptor"), "no track descriptor")
    return f"{count} test packets, {len(numbers)} track events"


def check_events(trace):
    """events.py checks them."""
    return f"{len(trace.of('track_event'))} track events, {len(trace.of('track_descriptor'))} descriptors"


def check_counts(**expected):
    """So many events of each type. The threads of a runtime share them as they like, so there is no list of them."""

    def check(trace):
        found = collections.Counter(schema.TrackEvent.Type.Name(p.track_event.type) for p in trace.of("track_event"))
        wanted = {f"TYPE_{name.upper()}": count for name, count in expected.items()}
        trace.need(found == wanted, f"{dict(found)}, not {wanted}")
        return check_events(trace)

    return check


def check_custom(trace):
    """The samples of a program: seven numbers each."""
    samples = [p.for_testing.str.split() for p in trace.of("for_testing")]
    trace.need(samples, "no samples")
    for sample in samples:
        trace.need(len(sample) == 7 and all(s.isdigit() for s in sample), f"a sample {sample}")
    return f"{len(samples)} samples"


def check_startup(trace):
    """What was recorded before the service ran, and one event of the session."""
    kinds = schema.TrackEvent.Type
    names, events = {}, []
    for packet in trace.packets:
        for name in packet.interned_data.event_names:
            names[name.iid] = name.name
        if packet.HasField("track_event"):
            event = packet.track_event
            numbers = [a.uint_value for a in event.debug_annotations if a.HasField("uint_value")]
            events.append((kinds.Name(event.type), names.get(event.name_iid, event.name), *numbers))
    expected = [("TYPE_SLICE_BEGIN", "boot")]
    expected += [("TYPE_INSTANT", "step", number) for number in range(1000)]
    expected += [("TYPE_SLICE_END", ""), ("TYPE_INSTANT", "adopted")]
    wrong = next((i for i, (a, b) in enumerate(zip(events, expected)) if a != b), len(events))
    where = f"{len(events)} events, not {len(expected)}; at {wrong}: {events[wrong : wrong + 3]}"
    trace.need(events == expected, where)
    trace.need(trace.of("track_descriptor"), "no track descriptor")
    return f"{len(events)} track events"


def check_ftrace(trace, is_compact=True, is_ours=False):
    switches = wakings = 0
    last = {}
    calls = collections.Counter()
    for packet in trace.of("ftrace_events"):
        bundle = packet.ftrace_events
        trace.need(not bundle.lost_events, f"cpu {bundle.cpu} lost events")
        times = []
        for event in bundle.event:
            times.append(event.timestamp)
            switches += event.HasField("sched_switch")
            wakings += event.HasField("sched_waking")
            for name in ["sys_enter", "sys_exit"]:
                if event.HasField(name):
                    calls[name] += 1
                    number = getattr(event, name).id
                    trace.need(number in SYSCALLS[os.uname().machine], f"system call {number}")
        for deltas in [bundle.compact_sched.switch_timestamp, bundle.compact_sched.waking_timestamp]:
            time = 0
            for delta in deltas:
                time += delta
                times.append(time)
        trace.need(bool(bundle.compact_sched.switch_timestamp) <= is_compact, "columns")
        is_empty = not bundle.event and not bundle.HasField("compact_sched")
        # The C++ probes write empty ones, too.
        trace.need(not is_empty or not is_ours, "a bundle without events")
        switches += len(bundle.compact_sched.switch_timestamp)
        wakings += len(bundle.compact_sched.waking_timestamp)
        if times:
            before = last.get(bundle.cpu, 0)
            trace.need(min(times) >= before, f"cpu {bundle.cpu}: a bundle goes back in time")
            last[bundle.cpu] = max(times)
    trace.need(switches > 20, f"{switches} sched_switch events")
    trace.need(wakings > 5, f"{wakings} sched_waking events")
    stats = [packet.ftrace_stats for packet in trace.of("ftrace_stats")]
    phases = {s.phase for s in stats}
    trace.need(phases == {schema.FtraceStats.START_OF_TRACE, schema.FtraceStats.END_OF_TRACE}, f"phases {phases}")
    trace.need(all(len(s.cpu_stats) == os.sysconf("SC_NPROCESSORS_CONF") for s in stats), "statistics without a cpu")
    for s in stats:
        problems = [*s.unknown_ftrace_events, *s.failed_ftrace_events, *s.ftrace_parse_errors, s.atrace_errors]
        trace.need(not any(problems), f"ftrace_stats: {problems}")
    trace.need(is_compact or all(calls.values()) and len(calls) == 2, f"system calls {calls}")
    return f"{switches} switches, {wakings} wakings, {sum(calls.values())} system calls on {len(last)} cpus"


def check_each(trace):
    return check_ftrace(trace, is_compact=False)


def check_kernel(trace):
    return check_ftrace(trace, is_ours=True)


def check_kernel_each(trace):
    return check_ftrace(trace, is_compact=False, is_ours=True)


def check_probes(trace):
    processes = [p for packet in trace.of("process_tree") for p in packet.process_tree.processes]
    trace.need(any(p.pid == os.getpid() or p.pid == os.getppid() for p in processes),
               "process_tree without a process that runs for sure")
    trace.need(all(p.cmdline for p in processes if p.pid == os.getppid()), "no command line")
    polls = [p.process_stats for p in trace.of("process_stats")]
    trace.need(any(s.processes for s in polls), "no process_stats")
    sys = [p.sys_stats for p in trace.of("sys_stats")]
    trace.need(sum(bool(s.meminfo) for s in sys) >= 3, "too few sys_stats with meminfo")
    trace.need(sum(bool(s.vmstat) for s in sys) >= 2, "too few sys_stats with vmstat")
    trace.need(sum(bool(s.cpu_stat) for s in sys) >= 3, "too few sys_stats with cpu_stat")
    times = [s.collection_end_timestamp for s in sys]
    trace.need(times == sorted(times), "sys_stats go back in time")
    idle = [[c.user_ns + c.system_mode_ns for c in s.cpu_stat] for s in sys if s.cpu_stat]
    trace.need(idle == sorted(idle) or len(idle) < 2, "cpu time runs backwards")
    trace.need(trace.of("cpu_info"), "no cpu_info")
    return f"{len(processes)} processes, {len(polls)} process polls, {len(sys)} system polls"


def check_example(trace):
    """Slices of four threads, numbered from 0 on a sequence each, and one packet of 8 MiB."""
    numbers = collections.defaultdict(list)
    ends = collections.Counter()
    for packet in trace.of("track_event"):
        sequence = packet.trusted_packet_sequence_id
        if packet.track_event.type == schema.TrackEvent.TYPE_SLICE_END:
            ends[sequence] += 1
        for argument in packet.track_event.debug_annotations:
            if argument.name == "number":
                numbers[sequence].append(argument.uint_value)
        trace.need(packet.timestamp, "track event without time")
    trace.need(len(numbers) == EXAMPLE_THREADS, f"{len(numbers)} sequences of track events")
    for sequence, got in sorted(numbers.items()):
        if got != list(range(EXAMPLE_EVENTS)):
            wrong = next((i for i, n in enumerate(got) if n != i), len(got))
            trace.fault(f"sequence {sequence}: {len(got)} begins; at {wrong}: {got[wrong:wrong+3]}")
        trace.need(ends[sequence] == len(got), f"sequence {sequence}: {ends[sequence]} ends")
    trace.need(len(trace.of("track_descriptor")) == EXAMPLE_THREADS, "track descriptors")
    large = [p.for_testing.str for p in trace.of("for_testing")]
    trace.need(len(large) == 1, f"{len(large)} large packets")
    if large:
        alphabet = "abcdefghijklmnopqrstuvwxyz"
        wanted = (alphabet * (LARGE // 26 + 1))[:LARGE]
        trace.need(large[0] == wanted, f"the large packet differs ({len(large[0])} bytes)")
    return f"{sum(map(len, numbers.values()))} slices, a packet of {LARGE >> 20} MiB"


def check_drop(trace):
    """What is missing is marked in the next packet of the sequence, and nothing is cut."""
    last = {}
    marked = collections.Counter()
    gaps = 0
    for packet in trace.packets:
        sequence = packet.trusted_packet_sequence_id
        marked[sequence] |= packet.previous_packet_dropped
        for argument in packet.track_event.debug_annotations:
            if argument.name != "number":
                continue
            number = argument.uint_value
            before = last.get(sequence, -1)
            trace.need(number > before, f"sequence {sequence}: {number} after {before}")
            if number != before + 1:
                gaps += 1
                what = f"sequence {sequence}: from {before} to {number} without a mark of loss"
                trace.need(marked[sequence], what)
            last[sequence] = number
            marked[sequence] = 0
    large = [p.for_testing.str for p in trace.of("for_testing")]
    for text in large:
        trace.need(len(text) == LARGE, f"a large packet of {len(text)} bytes")
    trace.need(gaps or not large, "nothing was lost: the cell shows nothing")
    trace.need(last, "no track events")
    return f"{len(last)} sequences, {gaps} gaps, all marked, large packet {'kept' if large else 'dropped'}"


CHECKS = {
    "sdk": check_sdk,
    "events": check_events,
    "inside": check_events,
    "layer": check_counts(instant=2, counter=2, slice_begin=8, slice_end=8),
    "futures": check_counts(slice_begin=16, slice_end=16),
    "tracks": check_counts(instant=6, counter=12, state=2, slice_begin=12, slice_end=12),
    "custom": check_custom,
    "both": check_events,
    "startup": check_startup,
    "ftrace": check_ftrace,
    "ftraceeach": check_each,
    "kernel": check_kernel,
    "kerneleach": check_kernel_each,
    "drop": check_drop,
    "probes": check_probes,
    "alone": check_probes,
    "example": check_example,
}


# What a play leaves in a trace beyond the packets of its source.
PLAYS = {
    "clone": ["clone_started"],
    "clonefile": ["clone_started"],
    "start": ["trigger"],
    "stop": ["trigger"],
    "snapshot": ["clone_started", "trigger", "clone_snapshot_trigger"],
}


def check_play(trace, service, play, path, is_clone):
    """A session that is played with says so, and is packed as it was asked to be."""
    for name in PLAYS.get(play, []):
        if name != "clone_started":
            trace.need(trace.of(name), f"no {name}")
        elif is_clone:
            there = any(p.service_event.clone_started for p in trace.packets)
            trace.need(there, "a clone without clone_started")
    codec = next((c for c in ["deflate", "zstd"] if play.startswith(c)), None)
    trace.need(set(trace.compressed) == ({codec} if codec else set()), f"packed {trace.compressed}")
    raw = path.replace("trace.pftrace", "raw")
    if play == "query":
        check_query(trace, service, raw, path.replace("trace.pftrace", "query.log"))


# What our service tells beyond the schema, by the numbers of the fields of TracingServiceState.
STATE_OF_OURS = {50002: "accounts", 50003: "all_users", 50004: "counters"}


def check_query(trace, service, raw, table):
    """The message and the table for people tell of the session, the producer and its data source."""
    with open(raw, "rb") as file:
        state = schema.TracingServiceState.FromString(file.read())
    session = [s for s in state.tracing_sessions if s.unique_session_name == "interop"]
    trace.need(len(session) == 1 and session[0].state == "STARTED", "no session in the answer")
    producers = {p.id: p.name for p in state.producers}
    sources = {s.ds_descriptor.name: producers.get(s.producer_id) for s in state.data_sources}
    trace.need(sources.get("com.example.rust") == "rust-example", f"data sources {sources}")
    told = {field.field_number: field for field in UnknownFieldSet(state)}
    for number, name in STATE_OF_OURS.items():
        if service == "ours":
            has_bytes = number in told and len(told[number].data) > 0
            trace.need(has_bytes, f"no {name} ({number}) in the answer")
        else:
            trace.need(number not in told, f"field {number} in an answer of {service}: is it ours?")
    with open(table, encoding="utf-8") as file:
        text = file.read()
    for word in ["interop", "rust-example", "com.example.rust", "STARTED"]:
        trace.need(word in text, f"no {word} in the table")


def main():
    source, service, play, path, pid, duration_ms = sys.argv[1:]
    trace = Trace(path)
    check_schema(trace)
    is_clone = not path.endswith("trace.pftrace")
    # A trigger may change it, and this program sets its own.
    changed = play in ["start", "stop", "snapshot"] or source == "custom"
    duration = int(duration_ms) if play in ["record", "attach"] else 0
    check_service_packets(trace, service, play, None if changed else duration, is_clone)
    check_play(trace, service, play, path, is_clone)
    check_loss(trace, service, play, may_lose=source == "drop")
    check_trust(trace, int(pid))
    summary = CHECKS[source](trace)
    if trace.faults:
        faults = list(dict.fromkeys(trace.faults))
        more = len(faults) - FAULTS_MAX
        print("\n".join(faults[:FAULTS_MAX]))
        if more > 0:
            print(f"and {more} more")
        sys.exit(1)
    print(f"{len(trace.packets)} packets, {trace.size // 1024} KiB: {summary}")


main()
