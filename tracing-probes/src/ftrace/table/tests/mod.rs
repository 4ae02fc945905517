mod generic;

use std::collections::BTreeMap;

use proptest::prelude::*;
use protozero::Message as _;
use protozero::dynamic::{DynamicMessage, Pool, Value};
use protozero::wire::write::{append_head, append_varint};

use crate::ftrace::compact::Layout;
use crate::ftrace::recorded;
use crate::ftrace::schema;

use super::kind::Pointers;
use super::plan::{Body, Fact, Number, Plan, Range, Step, Tag, What};
use super::{AddError, Common, Event, FieldIds, Options, Origin, Probe, Table, Unfit};

/// The table of a whole kernel.
fn whole() -> Table {
    Table::new(Options::default(), &mut recorded::read)
}

/// A table of a kernel with these events of the schema only.
fn with(formats: &[(&str, &str, &str)]) -> Table {
    Table::new(Options::default(), &mut |group, name| {
        let found = formats.iter().find(|(g, n, _)| (*g, *n) == (group, name));
        found.map(|(_, _, text)| text.as_bytes().to_vec())
    })
}

/// Fields that all events have.
const COMMON: &str = "\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;
\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;
\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;
\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;
";

/// A format with common fields and these: declaration, offset, size, signed.
fn format(id: u32, fields: &[(&str, u16, u16, u8)]) -> String {
    let mut text = format!("name: e\nID: {id}\nformat:\n{COMMON}\n");
    for (declaration, offset, size, signed) in fields {
        text +=
            &format!("\tfield:{declaration};\toffset:{offset};\tsize:{size};\tsigned:{signed};\n");
    }
    text + "\nprint fmt: \"\""
}

fn bytes(number: u32) -> Tag {
    Tag::new(number, 2).unwrap()
}

fn int(number: u32) -> Tag {
    Tag::new(number, 0).unwrap()
}

fn steps(plan: &Plan) -> Vec<(Tag, u16, What)> {
    plan.steps.iter().map(|step| (step.tag, step.offset, step.what)).collect()
}

/// What a record becomes: a slow twin, of what generic events need.
fn message(plan: &Plan, record: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    let word = |offset: u16, len: u16| -> u64 {
        let bytes = &record[usize::from(offset)..usize::from(offset + len)];
        bytes.iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte))
    };
    let until_nul = |bytes: &[u8]| bytes.split(|b| *b == 0).next().unwrap().to_vec();
    for Step { tag, offset, what } in &plan.steps {
        out.extend_from_slice(&tag.bytes.to_le_bytes()[..usize::from(tag.len)]);
        let text = match *what {
            What::Text(len) => until_nul(&record[usize::from(*offset)..][..usize::from(len)]),
            What::Bytes(len) => record[usize::from(*offset)..][..usize::from(len)].to_vec(),
            What::TextToEnd => until_nul(&record[usize::from(*offset)..]),
            What::TextAt | What::BytesAt | What::TextAfter | What::BytesAfter => {
                let is_relative = matches!(what, What::TextAfter | What::BytesAfter);
                let base = if is_relative { usize::from(*offset) + 4 } else { 0 };
                let (begin, len) = (word(*offset, 2) as usize, word(offset + 2, 2) as usize);
                let all = &record[base + begin..][..len];
                let is_text = matches!(what, What::TextAt | What::TextAfter);
                if is_text { until_nul(all) } else { all.to_vec() }
            }
            ref what => {
                let value = match what {
                    What::U8 => word(*offset, 1),
                    What::U32 => word(*offset, 4),
                    What::U64 => word(*offset, 8),
                    What::I16 => word(*offset, 2) as i16 as u64,
                    What::I32 | What::Pid => word(*offset, 4) as i32 as u64,
                    other => panic!("the tests have no {other:?}"),
                };
                append_varint(&mut out, value);
                continue;
            }
        };
        append_varint(&mut out, text.len() as u64);
        out.extend_from_slice(&text);
    }
    out
}

/// Reads a message by what a `GenericEventDescriptor` says, as a reader of the trace does: number, group, fields.
fn read_described(plan: &Plan, message: &[u8]) -> (u64, String, BTreeMap<String, Value>) {
    let descriptor = plan.descriptor.as_deref().unwrap();
    let schema = protos::FtraceEventBundleGenericEventDescriptor::decode(descriptor).unwrap();
    let event = schema.event_descriptor.unwrap();
    let mut file = Vec::new();
    append_head(&mut file, 1, 1);
    file.push(b'f');
    append_head(&mut file, 4, event.len());
    file.extend_from_slice(&event);
    let mut set = Vec::new();
    append_head(&mut set, 1, file.len());
    set.extend_from_slice(&file);
    let pool = Pool::decode(&set).unwrap();
    let descriptor = pool.messages().next().unwrap();
    let message = DynamicMessage::decode(descriptor, message).unwrap();
    assert!(message.unknown_fields().is_empty());
    let fields = message.fields().map(|(field, value)| (field.name().to_owned(), value.clone()));
    (schema.field_id.unwrap() as u64, schema.group_name.unwrap(), fields.collect())
}

#[test]
fn the_table_of_sessions_reads_three_formats() {
    let mut asked = Vec::new();
    let table = Table::shared(Options::default(), &mut |group, name| {
        asked.push(format!("{group}/{name}"));
        recorded::read(group, name)
    });
    assert_eq!(asked, ["ftrace/print", "sched/sched_switch", "sched/sched_waking"]);
    assert_eq!(table.events().count(), 3);
    // What sessions take from it without asking for the event is that of the whole table.
    let whole = whole();
    assert_eq!(table.common(), whole.common());
    assert_eq!(table.compact_sched(), whole.compact_sched());
    assert_eq!(table.print_text(), whole.print_text());
}

#[test]
fn knows_what_the_kernel_has() {
    let table = whole();
    assert_eq!(table.events().count(), 223);
    assert!(table.events().all(|event| event.origin == Origin::Schema));
    for event in table.events() {
        assert_eq!(table.plan(event.id), Some(&event.plan));
        assert_eq!(table.find(&event.group, &event.name).map(|e| e.id), Some(event.id));
        for step in &event.plan.steps {
            assert!(step.offset <= event.plan.size, "{}", event.name);
        }
    }
    for id in [0, 1, 65535] {
        assert_eq!(table.plan(id), None);
    }
    assert_eq!(table.common(), Common { pid: Some(4), flags: Some(2) });
}

#[test]
fn plans_of_known_events() {
    let table = whole();
    let plan = |group, name| table.find(group, name).unwrap().plan.clone();
    let switch = plan("sched", "sched_switch");
    assert_eq!(switch.body, Body::Message(bytes(4)));
    assert_eq!((switch.size, switch.fact), (64, Fact::None));
    assert_eq!(
        steps(&switch),
        [
            (bytes(1), 8, What::Text(16)),
            (int(2), 24, What::Pid),
            (int(3), 28, What::I32),
            (int(4), 32, What::I64),
            (bytes(5), 40, What::Text(16)),
            (int(6), 56, What::Pid),
            (int(7), 60, What::I32),
        ]
    );
    let enter = plan("raw_syscalls", "sys_enter");
    assert_eq!(steps(&enter), [(int(1), 8, What::I64), (int(2), 16, What::Six64)]);
    let exit = plan("raw_syscalls", "sys_exit");
    let number = |offset| Number { offset, is_wide: true };
    assert_eq!(exit.fact, Fact::Returned { id: number(8), ret: number(16), opens: &[] });
    let rename = plan("task", "task_rename");
    assert_eq!(rename.fact, Fact::Renamed);
    assert_eq!(table.print_text(), Some(16));
    assert_eq!(steps(&plan("ftrace", "print")), [(bytes(2), 16, What::TextToEnd)]);
    // A field that the kernel does not have any more is left out.
    let waking = plan("sched", "sched_waking");
    assert!(!waking.steps.iter().any(|step| step.tag == int(4)));
}

/// What upstream does not write, because the schema has another type.
#[test]
fn integers_of_another_type_are_written_where_they_fit() {
    let table = whole();
    let mut found: BTreeMap<String, usize> = BTreeMap::new();
    for event in table.events() {
        for step in &event.plan.steps {
            if let What::Within { from, to } = step.what {
                *found.entry(format!("{}: {from:?} to {to:?}", event.group)).or_default() += 1;
            }
        }
    }
    let found: Vec<String> = found.iter().map(|(what, count)| format!("{what}, {count}")).collect();
    // Ids of cgroups, flags of allocations, depths of functions.
    let wanted = [
        "cgroup: U64 to I32, 6",
        "compaction: U64 to U32, 1",
        "ftrace: U32 to I32, 2",
        "kmem: U64 to U32, 3",
        "vmscan: U64 to U32, 2",
    ];
    assert_eq!(found, wanted);
    // Another type than these would be a number that readers misread.
    let text = format(7, &[("u64 id", 8, 8, 0)]);
    let table = with(&[("cgroup", "cgroup_mkdir", &text)]);
    let what = table.plan(7).unwrap().steps[0].what;
    assert!(matches!(what, What::Within { to: Range::I32, .. }));
}

#[test]
fn the_function_of_a_graph_is_an_address() {
    let text = format(7, &[("unsigned long func", 8, 8, 0), ("int depth", 16, 4, 1)]);
    for pointers in [Pointers::Hidden, Pointers::Shown] {
        let table = Table::new(Options { pointers, opens: &[] }, &mut |group, name| {
            ((group, name) == ("ftrace", "funcgraph_entry")).then(|| text.clone().into_bytes())
        });
        let found = steps(table.plan(7).unwrap());
        assert_eq!(found[1], (int(2), 8, What::Address64));
    }
}

#[test]
fn returns_of_system_calls_are_told_if_they_can_be_read() {
    let fact = |fields: &[(&str, u16, u16, u8)]| {
        let text = format(7, fields);
        with(&[("raw_syscalls", "sys_exit", &text)]).plan(7).unwrap().fact
    };
    let number = |offset, is_wide| Number { offset, is_wide };
    assert_eq!(
        fact(&[("long id", 8, 8, 1), ("int ret", 16, 4, 1)]),
        Fact::Returned { id: number(8, true), ret: number(16, false), opens: &[] }
    );
    assert_eq!(fact(&[("long id", 8, 8, 1)]), Fact::None);
    assert_eq!(fact(&[("long id", 8, 8, 1), ("short ret", 16, 2, 1)]), Fact::None);
}

#[test]
fn bare_names_and_groups() {
    let mut table = whole();
    let mut ids = FieldIds::default();
    let found = |table: &Table, name| table.find_name(name).map(|e| e.group.clone().into_owned());
    assert_eq!(found(&table, "sched_switch").as_deref(), Some("sched"));
    assert_eq!(found(&table, "no_such_event"), None);
    let of = |table: &Table, group| table.group(group).map(|e| e.name.clone()).collect::<Vec<_>>();
    assert_eq!(of(&table, "task"), ["task_newtask", "task_rename"]);
    assert!(of(&table, "no_such_group").is_empty());
    // A generic event counts, too.
    let text = format(60000, &[]);
    table.add("aaa", "sched_switch", Some(text.as_bytes()), &mut ids).unwrap();
    assert_eq!(found(&table, "sched_switch").as_deref(), Some("aaa"));
    assert_eq!(of(&table, "aaa"), ["sched_switch"]);
    // Of two groups of the schema the first one counts.
    let (one, two) = (format(7, &[]), format(8, &[]));
    let formats = [("power", "gpu_frequency", &*one), ("kgsl", "gpu_frequency", &*two)];
    assert_eq!(found(&with(&formats), "gpu_frequency").as_deref(), Some("kgsl"));
}

/// A marker can be written where its format cannot be read. Upstream: with it as the first format, events had no thread.
#[test]
fn markers_need_no_format() {
    let table = with(&[]);
    assert_eq!(table.find("ftrace", "print").map(|e| e.id), Some(5));
    assert_eq!(table.print_text(), Some(16));
    assert_eq!(table.common(), Common { pid: Some(4), flags: Some(2) });
    // Another event may have the id of the marker.
    let text = format(5, &[]);
    let table = with(&[("task", "task_rename", &text)]);
    assert_eq!(table.event(5).map(|e| &*e.name), Some("task_rename"));
    assert!(table.find("ftrace", "print").is_none());
    let text = format(9, &[("char buf[16]", 8, 16, 0)]);
    assert_eq!(with(&[("ftrace", "print", &text)]).print_text(), None);
}

#[test]
fn common_fields_are_where_the_formats_say() {
    let hypervisor = "name: e\nID: 7\nfield:unsigned short common_type;offset:0;size:2;signed:0;";
    let event = ("hypervisor", "hyp_enter");
    let table = with(&[(event.0, event.1, hypervisor)]);
    assert_eq!(table.common(), Common { pid: None, flags: None });
    let moved = "name: e\nID: 8\nfield:unsigned char common_flags;offset:3;size:1;signed:0;\n\
                 field:int common_pid;offset:8;size:4;signed:1;";
    let mut table = with(&[(event.0, event.1, hypervisor), ("task", "task_rename", moved)]);
    assert_eq!(table.common(), Common { pid: Some(8), flags: Some(3) });
    // The first one counts.
    let text = format(9, &[]);
    table.add("g", "e", Some(text.as_bytes()), &mut FieldIds::default()).unwrap();
    assert_eq!(table.common(), Common { pid: Some(8), flags: Some(3) });
}

#[test]
fn a_record_must_have_its_fields() {
    let size = |fields: &[(&str, u16, u16, u8)]| {
        let text = format(7, fields);
        with(&[("task", "task_rename", &text)]).plan(7).unwrap().size
    };
    assert_eq!(size(&[]), 8);
    assert_eq!(size(&[("pid_t pid", 12, 4, 1), ("char newcomm[16]", 20, 16, 0)]), 36);
    assert_eq!(size(&[("char newcomm[16]", 20, 16, 0), ("pid_t pid", 8, 4, 1)]), 36);
    // Fields that are not written do not count.
    assert_eq!(size(&[("struct x pid", 12, 3, 0), ("int other", 40, 4, 1)]), 8);
    assert_eq!(size(&[("__data_loc char[] newcomm", 12, 4, 1)]), 16);
}

/// Fields of a uprobe, at odd offsets and with both kinds of strings.
const FIELDS: [(&str, u16, u16, u8); 11] = [
    ("unsigned long __probe_ip", 8, 8, 0),
    ("__data_loc char[] name", 16, 4, 1),
    ("__rel_loc char[] other", 20, 4, 1),
    ("s16 a", 24, 2, 1),
    ("u8 b", 26, 1, 0),
    ("u32 c", 27, 4, 0),
    ("pid_t d", 31, 4, 1),
    ("u8 mac[6]", 35, 6, 0),
    ("__rel_loc u8[] raw", 41, 4, 0),
    ("struct x dropped", 45, 3, 0),
    ("char tail[4]", 48, 4, 0),
];

/// The kernel gives the id of a probe that is gone to the next one.
#[test]
fn an_id_is_given_to_another_event() {
    let mut table = whole();
    let mut ids = FieldIds::default();
    let (one, two) = (format(3000, &[("u8 a", 8, 1, 0)]), format(3000, &[("u64 b", 8, 8, 0)]));
    table.add("g", "one", Some(one.as_bytes()), &mut ids).unwrap();
    table.add("g", "two", Some(two.as_bytes()), &mut ids).unwrap();
    assert!(table.find("g", "one").is_none());
    assert_eq!(table.plan(3000).unwrap().size, 16);
    // The first event is made again, with other fields and another id.
    let one = format(3001, &[("char a[4]", 8, 4, 0)]);
    table.add("g", "one", Some(one.as_bytes()), &mut ids).unwrap();
    assert_eq!(table.plan(3001).unwrap().size, 12);
    assert!(table.find("g", "two").is_some());
    let one = format(3002, &[("char a[4]", 8, 4, 0)]);
    table.add("g", "one", Some(one.as_bytes()), &mut ids).unwrap();
    assert_eq!(table.plan(3001), None);
    assert_eq!(table.events().count(), 225);
    assert_eq!(table.events.len(), 225, "places are taken again");
}

#[test]
fn an_event_that_is_gone_is_forgotten() {
    let mut table = whole();
    let mut ids = FieldIds::default();
    let id = table.find("sched", "sched_waking").unwrap().id;
    assert!(table.compact_sched().is_ok());
    let gone = table.add("sched", "sched_waking", None, &mut ids);
    assert_eq!(gone, Err(AddError::Missing));
    assert_eq!(table.plan(id), None);
    assert_eq!(table.compact_sched().unwrap_err(), Unfit::Missing { event: "sched_waking" });
    let text = recorded::read("sched", "sched_waking").unwrap();
    assert_eq!(table.add("sched", "sched_waking", Some(&text), &mut ids), Ok(id));
    assert!(table.compact_sched().is_ok());
    assert_eq!(table.add("sched", "sched_waking", Some(b"?"), &mut ids), Err(AddError::Format));
    assert_eq!(table.plan(id), None);
    table.forget("sched", "sched_waking");
    table.forget("no", "such");
    assert_eq!(table.events().count(), 222);
}

#[test]
fn kprobes_have_a_body_and_no_fields() {
    let mut table = with(&[]);
    let group = "perfetto_kprobes";
    let text = format(1700, &[("unsigned long __probe_ip", 8, 8, 0)]);
    assert_eq!(table.add_kprobe(group, "do_exit", Some(text.as_bytes())), Ok(1700));
    let event = table.event(1700).unwrap();
    let Origin::Kprobe { plans } = &event.origin else { panic!("no kprobe") };
    assert_eq!(event.plan, plans[Probe::Instant as usize]);
    for (probe, kind) in [(Probe::Begin, 1), (Probe::End, 2), (Probe::Instant, 3)] {
        let plan = &plans[probe as usize];
        let Body::Fixed { tag, body } = &plan.body else { panic!("not fixed") };
        assert_eq!(*tag, bytes(542));
        assert_eq!(**body, *[b"\x0a\x07do_exit\x10", &[kind][..]].concat());
        // A return probe has a longer record, and is no reason to refuse the record of an entry.
        assert_eq!((plan.size, plan.steps.len()), (8, 0));
    }
    assert_eq!(table.add_kprobe(group, "do_exit", None), Err(AddError::Missing));
    assert_eq!(table.plan(1700), None);
    assert_eq!(table.add_kprobe(group, "do_exit", Some(b"?")), Err(AddError::Format));
}

/// The formats of both events that compact sched needs, and a table with them.
fn sched(change: impl Fn(&str, String) -> String) -> Result<(u16, u16), String> {
    let text = |name: &str| {
        change(name, String::from_utf8(recorded::read("sched", name).unwrap()).unwrap())
    };
    let (switch, waking) = (text("sched_switch"), text("sched_waking"));
    let table = with(&[("sched", "sched_switch", &switch), ("sched", "sched_waking", &waking)]);
    let sizes = table.compact_sched().map(|Layout { switch, waking }| (switch.size, waking.size));
    sizes.map_err(|unfit| unfit.to_string())
}

#[test]
fn compact_sched_needs_the_known_types() {
    let table = whole();
    let Layout { switch, waking } = table.compact_sched().unwrap();
    assert_eq!((switch.id, switch.size), (372, 64));
    assert_eq!(switch.prev_state, Number { offset: 32, is_wide: true });
    assert_eq!((switch.next_comm, switch.next_pid, switch.next_prio), (40, 56, 60));
    assert_eq!(waking.id, table.find("sched", "sched_waking").unwrap().id);
    assert_eq!((waking.comm, waking.pid, waking.prio, waking.target_cpu), (8, 24, 28, 32));
    assert_eq!((waking.common_flags, waking.size), (2, 36));

    assert!(sched(|_, text| text).is_ok());
    let narrow = sched(|_, text| {
        text.replace("prev_state;\toffset:32;\tsize:8", "prev_state;\toffset:32;\tsize:4")
    });
    assert!(narrow.is_ok());
    for (event, field, from, to) in [
        (
            "sched_switch",
            "prev_state",
            "long prev_state;\toffset:32;\tsize:8;\tsigned:1",
            "long prev_state;\toffset:32;\tsize:8;\tsigned:0",
        ),
        ("sched_switch", "next_pid", "pid_t next_pid", "int next_pid"),
        (
            "sched_switch",
            "next_prio",
            "next_prio;\toffset:60;\tsize:4",
            "next_prio;\toffset:60;\tsize:2",
        ),
        (
            "sched_switch",
            "next_comm",
            "next_comm[16];\toffset:40;\tsize:16",
            "next_comm[24];\toffset:40;\tsize:24",
        ),
        ("sched_waking", "pid", "pid_t pid", "u32 pid"),
        ("sched_waking", "prio", "int prio", "int priority"),
        (
            "sched_waking",
            "target_cpu",
            "target_cpu;\toffset:32;\tsize:4;\tsigned:1",
            "target_cpu;\toffset:32;\tsize:4;\tsigned:0",
        ),
        ("sched_waking", "comm", "char comm[16]", "u8 comm[16]"),
        (
            "sched_waking",
            "common_flags",
            "common_flags;\toffset:2;\tsize:1",
            "common_flags;\toffset:2;\tsize:2",
        ),
    ] {
        let refused = sched(|name, text| {
            let changed = text.replace(from, to);
            assert!(name != event || changed != text, "{from}");
            if name == event { changed } else { text }
        });
        assert_eq!(refused, Err(format!("{event} has no {field} of the known type")));
    }
    let refused = sched(|name, text| if name == "sched_waking" { String::new() } else { text });
    assert_eq!(refused, Err("the kernel has no sched_waking".to_owned()));
    let refused = sched(|name, text| if name == "sched_switch" { String::new() } else { text });
    assert_eq!(refused, Err("the kernel has no sched_switch".to_owned()));
}

/// What happens to a table, by small numbers.
#[derive(Clone, Debug)]
enum Op {
    Add { name: u8, id: u16, fields: u8 },
    Kprobe { name: u8, id: u16 },
    Forget { name: u8 },
}

fn op() -> impl Strategy<Value = Op> {
    prop_oneof![
        4 => (0..6_u8, 1..8_u16, 0..3_u8).prop_map(|(name, id, fields)| Op::Add { name, id, fields }),
        1 => (0..6_u8, 1..8_u16).prop_map(|(name, id)| Op::Kprobe { name, id }),
        1 => (0..6_u8).prop_map(|name| Op::Forget { name }),
    ]
}

proptest! {
    /// A name has one id and an id one name, the last that were said.
    #[test]
    fn names_and_ids_are_one_to_one(ops in proptest::collection::vec(op(), 0..60)) {
        let names = ["sched_switch", "sched_waking", "a", "b", "c", "d"];
        let mut table = Table::empty(Options::default());
        let mut ids = FieldIds::default();
        let mut model: BTreeMap<&str, (u16, u8)> = BTreeMap::new();
        for op in ops {
            let (name, said) = match op {
                Op::Add { name, id, fields } => {
                    let all = [("int pid", 8, 4, 1), ("u8 b", 12, 1, 0)];
                    let text = format(id.into(), &all[..usize::from(fields)]);
                    let name = names[usize::from(name)];
                    prop_assert_eq!(table.add("sched", name, Some(text.as_bytes()), &mut ids), Ok(id));
                    (name, Some((id, fields)))
                }
                Op::Kprobe { name, id } => {
                    let name = names[usize::from(name)];
                    let text = format(id.into(), &[]);
                    prop_assert_eq!(table.add_kprobe("sched", name, Some(text.as_bytes())), Ok(id));
                    (name, Some((id, 0)))
                }
                Op::Forget { name } => {
                    let name = names[usize::from(name)];
                    table.forget("sched", name);
                    (name, None)
                }
            };
            model.remove(name);
            if let Some((id, fields)) = said {
                model.retain(|_, (other, _)| *other != id);
                model.insert(name, (id, fields));
            }
            let found: BTreeMap<&str, u16> = table.events().map(|e| (&*e.name, e.id)).collect();
            let wanted: BTreeMap<&str, u16> = model.iter().map(|(name, (id, _))| (*name, *id)).collect();
            prop_assert_eq!(&found, &wanted);
            for id in 0..10 {
                let name = table.event(id).map(|e| &*e.name);
                let wanted = model.iter().find(|(_, (other, _))| *other == id);
                prop_assert_eq!(name, wanted.map(|(name, _)| *name));
            }
            prop_assert!(table.events.len() <= 7);
        }
    }

    /// No format makes a plan whose steps are outside of its records.
    #[test]
    fn any_format_makes_a_plan(
        group in prop_oneof![Just("task"), Just("syscalls"), Just("g")],
        fields in proptest::collection::vec(
            (
                "(char|u8|__data_loc char\\[\\]|__rel_loc u8\\[\\]|pid_t|void \\*|dev_t|ino_t|bool|long) \
                 (pid|newcomm|oldcomm|[a-z]{1,3})(\\[[0-9]{0,2}\\])?",
                any::<u16>(),
                prop_oneof![0..17_u16, any::<u16>()],
                0..2_u8,
            ),
            0..50,
        )
    ) {
        let fields: Vec<_> = fields.iter().map(|(d, at, len, s)| (&**d, *at, *len, *s)).collect();
        let text = format(7, &fields);
        let mut table = Table::empty(Options::default());
        table.add(group, "task_rename", Some(text.as_bytes()), &mut FieldIds::default()).unwrap();
        let event: &Event = table.event(7).unwrap();
        let plans = match &event.origin {
            Origin::Generic { legacy } => vec![&event.plan, legacy],
            _ => vec![&event.plan],
        };
        for plan in plans {
            for step in &plan.steps {
                let len = match step.what {
                    What::Text(len) | What::Bytes(len) => len,
                    What::TextToEnd => 0,
                    What::U8 | What::I8 => 1,
                    What::U16 | What::I16 => 2,
                    What::U64 | What::I64 | What::Address64 | What::Inode64 | What::Device64 => 8,
                    What::Within { .. } => 1,
                    _ => 4,
                };
                prop_assert!(u32::from(step.offset) + u32::from(len) <= u32::from(plan.size));
            }
        }
    }
}
