//! A probe in this test program, with fields of each kind at odd offsets; defined, removed, and defined with other
//! fields. The kernel may give the second definition the id of the first.

use std::ffi::{CStr, c_char};
use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};

use client::consumer::{Consumer, Waited};
use daemon::in_process::InProcessService;
use protozero::Value;

use super::contents::{Recorded, bytes, fields, number, session, strings};
use super::on_demand::{Instance, start};
use super::{FOREVER, alone};

const GROUP: &str = "tracing_probes_contents";
const EVENT: &str = "tracing_probes_contents/probed";
const DEFINITIONS: &str = "/sys/kernel/tracing/uprobe_events";

/// Where the kernel finds the first arguments of a function.
#[cfg(target_arch = "x86_64")]
const ARGUMENTS: [&str; 4] = ["%di", "%si", "%dx", "%cx"];
#[cfg(target_arch = "aarch64")]
const ARGUMENTS: [&str; 4] = ["%x0", "%x1", "%x2", "%x3"];
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
const ARGUMENTS: [&str; 4] = [""; 4];

/// The function with the probe.
#[inline(never)]
extern "C" fn probed(text: *const c_char, small: i64, signed: i64, wide: u64) -> u64 {
    std::hint::black_box((text, small, signed, wide)).3
}

fn call(text: &CStr, small: i64, signed: i64, wide: u64) {
    std::hint::black_box(probed as extern "C" fn(_, _, _, _) -> _)(
        text.as_ptr(),
        small,
        signed,
        wide,
    );
}

/// The program, and the place of the function in it.
fn place() -> String {
    let address = probed as *const () as usize;
    let maps = fs::read_to_string("/proc/self/maps").expect("this process has memory");
    let offset = maps.lines().find_map(|line| {
        let mut words = line.split_whitespace();
        let (start, end) = words.next()?.split_once('-')?;
        let hex = |text: &str| usize::from_str_radix(text, 16).ok();
        let offset = hex(words.nth(1)?)?;
        (hex(start)?..hex(end)?)
            .contains(&address)
            .then(|| hex(start).map(|s| address - s + offset))?
    });
    let program = std::env::current_exe().expect("this program has a file");
    format!("{}:{:#x}", program.display(), offset.expect("the function is in memory"))
}

fn define(line: &str) -> io::Result<()> {
    OpenOptions::new().append(true).open(DEFINITIONS)?.write_all(format!("{line}\n").as_bytes())
}

/// The probe, which is removed at the end.
struct Probe;

impl Probe {
    fn new(arguments: &str) -> Self {
        define(&format!("p:{EVENT} {} {arguments}", place())).expect("the kernel takes the probe");
        Self
    }
}

impl Drop for Probe {
    fn drop(&mut self) {
        if let Err(error) = define(&format!("-:{EVENT}")) {
            assert!(std::thread::panicking(), "{EVENT}: {error}");
        }
    }
}

#[derive(Debug, PartialEq)]
enum Field {
    Number(i64),
    Text(String),
}

/// The names of the fields of a descriptor, by their numbers.
fn names(descriptor: &[u8]) -> Vec<(u32, String)> {
    let of_field = |(field, value)| match value {
        Value::Len(of) if field == 2 => Some((
            u32::try_from(number(of, 3)?).ok()?,
            String::from_utf8(bytes(of, 1)?.to_vec()).ok()?,
        )),
        _ => None,
    };
    fields(descriptor).into_iter().filter_map(of_field).collect()
}

/// The events of the probe, by their descriptors alone.
fn events(recorded: &Recorded) -> Vec<Vec<(String, Field)>> {
    let mut events = Vec::new();
    for bundle in &recorded.bundles {
        let Some(described) = bytes(bundle, 11) else { continue };
        let (id, names) = (
            number(described, 1).expect("a number"),
            names(bytes(described, 2).expect("a descriptor")),
        );
        assert_eq!(bytes(described, 3), Some(GROUP.as_bytes()));
        for (field, event) in fields(bundle) {
            let Value::Len(event) = event else { continue };
            let of_event = |(field, value)| match value {
                Value::Len(body) if u64::from(field) == id => Some(body),
                _ => None,
            };
            let Some(body) = fields(event).into_iter().find_map(of_event).filter(|_| field == 2)
            else {
                continue;
            };
            let named = fields(body).into_iter().map(|(field, value)| {
                let name = names.iter().find(|(of, _)| *of == field).expect("it is described");
                let value = match value {
                    Value::Varint(value) => Field::Number(value.cast_signed()),
                    Value::Len(text) => Field::Text(String::from_utf8_lossy(text).into_owned()),
                    other => panic!("{other:?}"),
                };
                (name.1.clone(), value)
            });
            events.push(named.filter(|(name, _)| name != "__probe_ip").collect());
        }
    }
    events
}

fn end(mut consumer: Consumer) {
    consumer.disable_tracing().expect("the service is there");
    assert_eq!(consumer.wait(Some(FOREVER)).expect("it records"), Waited::Ended);
}

fn record(service: &InProcessService, calls: impl FnOnce()) -> Vec<Vec<(String, Field)>> {
    let mut consumer = session(service, |config| config.ftrace_events = strings(&[EVENT]));
    calls();
    let recorded = Recorded::read(&mut consumer);
    for stats in &recorded.stats {
        assert_eq!((stats.unknown_ftrace_events.len(), stats.failed_ftrace_events.len()), (0, 0));
    }
    end(consumer);
    events(&recorded)
}

#[test]
fn a_probe_is_read_by_its_fields_also_after_it_has_others() {
    let _alone = alone();
    let test = "a_probe_is_read_by_its_fields_also_after_it_has_others";
    if ARGUMENTS[0].is_empty() || OpenOptions::new().append(true).open(DEFINITIONS).is_err() {
        return skip::test(test, "no probes in programs can be defined here");
    }
    let Some(_instance) = Instance::of_test(test) else { return };
    let (service, producer) = start();
    let [text, small, signed, wide] = ARGUMENTS;
    let field = |name: &str, value| (name.to_owned(), value);
    let string = |text: &str| Field::Text(text.to_owned());

    let probe = Probe::new(&format!(
        "text=+0({text}):string small={small}:s8 signed={signed}:s32 wide={wide}:u64"
    ));
    let found = record(&service, || {
        call(c"first", -2, -70_000, u64::MAX);
        call(c"", 127, i64::from(i32::MAX), 0);
    });
    let event = |text, small, signed, wide| {
        vec![
            field("text", string(text)),
            field("small", Field::Number(small)),
            field("signed", Field::Number(signed)),
            field("wide", Field::Number(wide)),
        ]
    };
    assert_eq!(found, [event("first", -2, -70_000, -1), event("", 127, i64::from(i32::MAX), 0)]);
    drop(probe);

    // Other fields at the places of the first ones, under the same name.
    let _probe = Probe::new(&format!("wide={wide}:s16 name=+0({text}):string"));
    let found = record(&service, || call(c"second", 1, 2, 0xffff_fffd));
    assert_eq!(found, [[field("wide", Field::Number(-3)), field("name", string("second"))]]);
    drop(producer);
}
