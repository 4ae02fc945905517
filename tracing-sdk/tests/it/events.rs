use std::collections::BTreeMap;
use std::os::unix::ffi::OsStrExt as _;
use std::time::{Duration, Instant, SystemTime};

use protos::TracePacketData;
use tracing_sdk::session::{Config, Session, record};
use tracing_sdk::{
    Flow, State, Track, Unit, async_slice, cat, categories, counter, end, function, instant, slice,
    state,
};

use crate::alone::alone;
use crate::trace::{Packet, events, packets, tracks};

categories! {
    /// What the tests record.
    A = "a";
    B = "b", tags: ["slow"];
    /// Counters and states: later sessions begin with their values.
    N = "n";
    M = "m";
    P = "sites";
}

pub(crate) fn recorded(category: &str, work: impl FnOnce()) -> Vec<u8> {
    let _alone = alone();
    record(&[category], work).expect("a recording")
}

fn check(work: impl FnOnce(), expected: &[&str]) {
    assert_eq!(events(&recorded("a", work)), expected);
}

#[test]
fn slices_and_instants() {
    check(
        || {
            let _outer = slice!(A, "outer");
            instant!(A, "moment");
            let inner = slice!(A, "inner", n = 1);
            end!(inner, sent = 2_i64, ok = true);
            instant!(B, "another category");
            instant!(cat!("c"), "and another");
        },
        &["begin a outer", "instant a moment", "begin a inner n=1", "end sent=2 ok=true", "end"],
    );
}

/// The slice ends on its track, so it does not end the one of the thread.
#[test]
fn functions_on_a_track() {
    fn upload(job: u64) {
        function!(A, before = 1, track = Track::named("Uploads").id(job), after = ?"x", |event| {
            event.annotate("late", &7);
        });
    }
    let trace = recorded("a", || {
        let _outer = slice!(A, "outer");
        upload(7);
        instant!(A, "inside");
    });
    let uploads = Track::named("Uploads").id(7).uuid();
    assert_eq!(
        placed(&trace, uploads),
        [
            (false, "begin a outer".to_owned()),
            (
                true,
                "begin a it::events::functions_on_a_track::upload before=1 after=\"x\" late=7"
                    .to_owned()
            ),
            (true, "end".to_owned()),
            (false, "instant a inside".to_owned()),
            (false, "end".to_owned()),
        ]
    );
}

/// Events, and whether each is on this track.
pub(crate) fn placed(trace: &[u8], track: u64) -> Vec<(bool, String)> {
    let place = |packet: Packet| match packet.message.data {
        Some(TracePacketData::TrackEvent(event)) => {
            Some((event.track_uuid == Some(track), packet.text?))
        }
        _ => None,
    };
    packets(trace).into_iter().filter_map(place).collect()
}

/// Values that an `i64` cannot hold are numbers with a fraction, and not negative ones.
#[test]
fn large_counters() {
    check(
        || {
            counter!(A, "limit", u64::MAX);
            counter!(A, "limit", usize::MAX);
            counter!(A, "limit", i64::MAX.cast_unsigned());
        },
        &[
            "counter 1.8446744073709552e19",
            "counter 1.8446744073709552e19",
            "counter 9223372036854775807",
        ],
    );
}

/// The compiler limits the steps of a macro.
#[test]
#[rustfmt::skip]
fn many_arguments() {
    let it = [[3]];
    check(
        || {
            let slice = slice!(A, "many", a = it[0][0] + 1, b = it[0][0] + 1, c = it[0][0] + 1, d = it[0][0] + 1,
                e = it[0][0] + 1, f = it[0][0] + 1, g = it[0][0] + 1, h = it[0][0] + 1, i = it[0][0] + 1,
                j = it[0][0] + 1, k = it[0][0] + 1, l = it[0][0] + 1, m = it[0][0] + 1, n = it[0][0] + 1,
                o = ?it[0][0] + 1, p = %it[0][0] + 1, q = @"x", r = it[0][0] + 1, s = it[0][0] + 1,
                t = it[0][0] + 1, u = it[0][0] + 1, v = it[0][0] + 1, w = it[0][0] + 1, x = it[0][0] + 1,
                track = Track::named("T"), y = it[0][0] + 1, |event| { event.annotate("z", &4); });
            end!(slice);
        },
        &["begin a many a=4 b=4 c=4 d=4 e=4 f=4 g=4 h=4 i=4 j=4 k=4 l=4 m=4 n=4 o=4 p=4 q=x r=4 s=4 t=4 u=4 v=4 w=4 \
           x=4 y=4 z=4", "end"],
    );
}

#[test]
fn values() {
    let texts = vec!["x".to_owned(), "y".to_owned()];
    check(
        || {
            instant!(
                A,
                "values",
                u = 1_u8,
                i = -1,
                f = 0.5,
                s = "text",
                none = None::<u8>,
                some = Some(3_u8),
                list = texts,
                tuple = (1, "two"),
                map = BTreeMap::from([("k", 1), ("l", 2)]),
                debug = ?texts,
                display = %1.5,
                interned = @"again",
                interned_too = @String::from("again"),
                "any key" = 'c',
                pointer = 16 as *const u8,
                r#type = 1,
                type = 2,
                |event| event.annotate("late", &7),
            );
        },
        &["instant a values u=1 i=-1 f=0.5 s=text some=3 list=[x,y] tuple=[1,two] map={k=1,l=2} \
           debug=[\"x\", \"y\"] display=1.5 interned=again interned_too=again any key=c pointer=0x10 type=1 type=2 late=7"],
    );
}

#[test]
fn names_made_at_run_time() {
    let n = 3;
    check(
        || {
            instant!(A, name = format!("number {n}"));
            for _ in 0..2 {
                instant!(A, name = @"often");
            }
            let _slice = slice!(A, name = "slice".to_owned(), n = n);
        },
        &["instant a number 3", "instant a often", "instant a often", "begin a slice n=3", "end"],
    );
}

struct Methods;

impl Methods {
    fn method(&self, id: u32) {
        function!(A, id = id);
        instant!(A, "inside");
    }
}

#[test]
fn functions() {
    check(
        || Methods.method(7),
        &["begin a it::events::Methods::method id=7", "instant a inside", "end"],
    );
}

#[test]
fn the_expression_form_gives_the_result() {
    check(|| assert_eq!(slice!(A, "sum", in || 1 + 1), 2), &["begin a sum", "end"]);
    let name = String::from("made at run time");
    check(
        || {
            let two = slice!(A, "arguments", a = 1, b = ?"x", c = %2, d = @"y", in || {
                instant!(A, "inside");
                2
            });
            let three =
                slice!(A, name = name, "any key" = two, track = Track::named("T"), in || two + 1);
            assert_eq!(three, 3);
            let read = || -> Result<u32, std::num::ParseIntError> {
                let number: u32 =
                    slice!(A, "parse", |event| { event.annotate("z", &1); }, in || "7".parse())?;
                Ok(number)
            };
            assert_eq!(read(), Ok(7));
        },
        &[
            "begin a arguments a=1 b=\"x\" c=2 d=y",
            "instant a inside",
            "end",
            "begin a made at run time any key=2",
            "end",
            "begin a parse z=1",
            "end",
        ],
    );
}

#[test]
fn values_are_evaluated_once_and_only_when_on() {
    let count = std::cell::Cell::new(0);
    let next = || count.replace(count.get() + 1);
    let _alone = alone();
    // The first use of a category registers it, and evaluates nothing either.
    categories! { FRESH = "fresh"; }
    instant!(FRESH, "off", n = next());
    instant!(A, "off", n = next());
    assert_eq!(count.get(), 0);
    let trace = record(&["a"], || instant!(A, "on", n = next())).expect("a recording");
    assert_eq!((events(&trace), count.get()), (vec!["instant a on n=0".to_owned()], 1));
}

/// Otherwise `cat!` would make several statics at each call site, which all are registered.
#[test]
fn a_category_is_evaluated_once() {
    let count = std::cell::Cell::new(0);
    let category = || {
        count.set(count.get() + 1);
        &A
    };
    let all = || {
        instant!(category(), "one");
        drop(slice!(category(), "two"));
        drop(slice!(category(), "three", track = Track::named("T")));
        drop(async_slice!(category(), "four"));
        function!(category());
        slice!(category(), "six", in || ());
        counter!(category(), "seven", 1);
        state!(category(), "eight", "x");
    };
    all();
    assert_eq!(count.replace(0), 8);
    let trace = recorded("a", all);
    assert_eq!(count.get(), 8);
    assert_eq!(events(&trace).iter().filter(|event| event.starts_with("begin")).count(), 5);
}

#[test]
fn a_slice_that_began_before_the_session_is_left_out() {
    let _alone = alone();
    let slice = slice!(A, "early");
    assert!(!slice.is_recorded());
    let trace = record(&["a"], || drop(slice)).expect("a recording");
    assert_eq!(events(&trace), [""; 0]);
}

#[test]
fn a_panic_ends_the_slice_and_spoils_nothing() {
    struct Panics;
    impl std::fmt::Display for Panics {
        fn fmt(&self, _: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            panic!("on purpose")
        }
    }
    check(
        || {
            let work = || {
                let _slice = slice!(A, "panics");
                panic!("on purpose");
            };
            assert!(std::panic::catch_unwind(work).is_err());
            let value = || instant!(A, "half", first = 1, value = %Panics);
            assert!(std::panic::catch_unwind(value).is_err());
            let begin = || drop(slice!(A, "begin", value = %Panics));
            assert!(std::panic::catch_unwind(begin).is_err());
            instant!(A, "after", first = 2);
        },
        &[
            "begin a panics",
            "end",
            "instant a half first=1 value=",
            "begin a begin value=",
            "end",
            "instant a after first=2",
        ],
    );
}

#[test]
fn an_event_inside_a_value_is_left_out() {
    struct Traces;
    impl std::fmt::Display for Traces {
        fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            instant!(A, "inside");
            f.write_str("shown")
        }
    }
    check(|| instant!(A, "outside", value = %Traces), &["instant a outside value=shown"]);
}

#[test]
fn counters_and_states() {
    static POWER: State = State::new("power");
    let trace = recorded("n", || {
        counter!(N, "depth", 17_usize, unit = Unit::Count);
        counter!(N, "load", 0.5);
        state!(N, "mode", "fast");
        state!(N, "mode", None);
        POWER.set(&N, "on");
    });
    assert_eq!(
        events(&trace),
        ["counter 17", "counter 0.5", "state n fast", "state n", "state n on"]
    );
}

#[test]
fn statics_remember_their_value_for_the_next_session() {
    static CACHED: tracing_sdk::Counter = tracing_sdk::Counter::new("cached").unit(Unit::Bytes);
    CACHED.set(&M, 5);
    assert_eq!(events(&recorded("m", || CACHED.add(&M, 1))), ["counter 5", "counter 6"]);
    assert_eq!(events(&recorded("m", || {})), ["counter 6"]);
    CACHED.forget();
    assert_eq!(events(&recorded("m", || {})), [""; 0]);
}

/// With a second category its values are recorded, and only sessions of the first one begin with them.
#[test]
fn what_is_remembered_belongs_to_the_category_of_the_first_call() {
    categories! {
        FIRST = "remembered.first";
        SECOND = "remembered.second";
    }
    static QUEUE: tracing_sdk::Counter = tracing_sdk::Counter::new("two categories");
    static WORK: tracing_sdk::State = tracing_sdk::State::new("two categories");
    let set = |number: i64, word: &str, category| {
        QUEUE.set(category, number);
        WORK.set(category, word);
    };
    set(3, "idle", &FIRST);
    set(4, "busy", &SECOND);
    assert_eq!(events(&recorded("remembered.second", || {})), [""; 0]);
    let first = events(&recorded("remembered.first", || {}));
    assert_eq!(first, ["counter 4", "state remembered.first busy"]);
    let second = events(&recorded("remembered.second", || set(5, "done", &SECOND)));
    assert_eq!(second, ["counter 5", "state remembered.second done"]);
}

#[test]
fn tracks_are_described_parents_first_and_once() {
    static UPLOADS: Track = Track::named("Uploads");
    let trace = recorded("a", || {
        let job = UPLOADS.child("job").id(7);
        let first = slice!(A, "first", track = job, n = 1);
        let _second = slice!(A, "second", track = &job);
        std::thread::scope(|scope| {
            scope.spawn(move || drop(first));
        });
    });
    let names = |name: &str| {
        let is_it = |track: &&protos::TrackDescriptor| match &track.static_or_dynamic_name {
            Some(protos::TrackDescriptorStaticOrDynamicName::StaticName(text)) => text == name,
            _ => false,
        };
        tracks(&trace).iter().filter(is_it).count()
    };
    // Both threads use them.
    assert_eq!((names("Uploads"), names("job")), (2, 2));
    let job = UPLOADS.child("job").id(7);
    for track in tracks(&trace) {
        if track.uuid == Some(job.uuid()) {
            assert_eq!(track.parent_uuid, Some(UPLOADS.uuid()));
        }
    }
}

#[test]
fn flows_locations_and_times() {
    let trace = recorded("a", || {
        let flow = Flow::global(5);
        instant!(A, "from", flow = [flow, Flow::process(1)], location = tracing_sdk::here!());
        instant!(A, "to", end_flow = flow, correlation = 9, ts = 123);
    });
    let all = packets(&trace);
    let event = |name: &str| {
        let found = all.iter().find(|packet| packet.text.as_deref() == Some(name));
        found.map(|packet| packet.message.clone()).expect("the event")
    };
    let from = event("instant a from");
    let Some(protos::TracePacketData::TrackEvent(body)) = &from.data else { panic!("no event") };
    assert_eq!(body.flow_ids, [5, Flow::process(1).id()]);
    let to = event("instant a to");
    assert_eq!((to.timestamp, to.timestamp_clock_id), (Some(123), Some(6)));
    let Some(protos::TracePacketData::TrackEvent(body)) = &to.data else { panic!("no event") };
    assert_eq!(body.terminating_flow_ids, [5]);
}

#[test]
fn times_of_the_program_are_those_of_the_trace() {
    let hour = Duration::from_secs(3600);
    let before = os::clock::boot_ns();
    let (instant, time) = (Instant::now(), SystemTime::now());
    let trace = recorded("a", || {
        instant!(A, "instant", ts = instant);
        instant!(A, "system time", ts = time);
        instant!(A, "later", ts = instant + hour);
        instant!(A, "later, too", ts = time + hour);
        instant!(A, "before the machine ran", ts = SystemTime::UNIX_EPOCH);
        end!(slice!(A, "slice"), ts = instant);
    });
    let after = os::clock::boot_ns();
    let all = packets(&trace);
    let times: Vec<u64> = all
        .iter()
        .filter(|packet| packet.text.is_some())
        .filter_map(|packet| packet.message.timestamp)
        .collect();
    assert!((before..=after).contains(&times[0]) && (before..=after).contains(&times[6]));
    // That clock may be set meanwhile.
    assert!(times[1] <= after);
    assert!(times[2] > after && times[3] > after);
    assert_eq!(times[4], 0);
}

#[test]
fn any_text_is_safe() {
    let long = "x".repeat(1 << 20);
    check(
        || {
            instant!(A, "nul\0in the name", value = "nul\0inside", empty = "");
            instant!(A, name = &long, value = long, log = "l");
            instant!(A, "log", |event| event.log(&long, tracing_sdk::Priority::Info));
            let bytes = std::ffi::OsStr::from_bytes(b"not \xff UTF-8");
            instant!(A, "path", path = std::path::Path::new(bytes), text = bytes);
        },
        &[
            "instant a nul\0in the name value=nul\0inside empty=",
            &format!("instant a {long} value={long} log=l"),
            "instant a log",
            // Bytes that are no text are written as they are.
            "instant a path path=? text=?",
        ],
    );
}

#[test]
fn names_of_the_program_do_not_meet_those_of_the_macros() {
    const NAME: u32 = 1;
    const KEY: u32 = 2;
    let (value, event, slice) = (3, 4, 5);
    let item = 6;
    check(
        || {
            instant!(A, "names", name_ = NAME, key = KEY, value = value, event = event, |e| e
                .annotate("s", &slice));
            function!(A, item = item);
        },
        &[
            "instant a names name_=1 key=2 value=3 event=4 s=5",
            "begin a it::events::names_of_the_program_do_not_meet_those_of_the_macros item=6",
            "end",
        ],
    );
}

#[test]
fn a_panic_in_the_arguments_of_an_end_ends_the_slice_in_all_sessions() {
    struct Panics;
    impl std::fmt::Display for Panics {
        fn fmt(&self, _: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            panic!("on purpose")
        }
    }
    let _alone = alone();
    let mut inner = Vec::new();
    let outer = record(&["a"], || {
        let trace = record(&["a"], || {
            let slice = slice!(A, "work");
            let end = std::panic::AssertUnwindSafe(|| end!(slice, value = %Panics));
            assert!(std::panic::catch_unwind(end).is_err());
        });
        inner = trace.expect("a recording");
    });
    assert_eq!(events(&outer.expect("a recording")), ["begin a work", "end value="]);
    assert_eq!(events(&inner), ["begin a work", "end"]);
}

/// Between sessions a call site does not look at its value: what it was before may be wrong.
#[test]
fn what_call_sites_have_set_is_forgotten_when_no_session_records_it() {
    let trace = recorded("sites", || {
        counter!(P, "at a call site", 5);
        state!(P, "state of a call site", "busy");
    });
    assert_eq!(events(&trace), ["counter 5", "state sites busy"]);
    assert_eq!(events(&recorded("sites", || {})), [""; 0]);
}

#[test]
fn call_sites_remember_their_value_while_a_session_records_it() {
    let _alone = alone();
    let begin = |events: Vec<String>| {
        let trace = record(&["sites"], || {}).expect("a recording");
        assert_eq!(crate::trace::events(&trace), events);
    };
    let outer = record(&["sites"], || {
        counter!(P, "shared", 1, unit = Unit::Count);
        counter!(cat!("sites"), "shared", 2);
        counter!(P, "alone", 0.5);
        counter!(A, "not recorded", 3);
        state!(P, "shared state", "idle");
        state!(P, "shared state", "busy");
        begin(["counter 2", "counter 0.5", "state sites busy"].map(str::to_owned).into());
        state!(P, "shared state", None);
        begin(["counter 2", "counter 0.5", "state sites"].map(str::to_owned).into());
    });
    let texts = [
        "counter 1",
        "counter 2",
        "counter 0.5",
        "state sites idle",
        "state sites busy",
        "state sites",
    ];
    assert_eq!(events(&outer.expect("a recording")), texts);
}

/// The flight recorder and every ring: what was written before a clear is overwritten one day.
#[test]
fn what_call_sites_have_set_is_repeated_after_a_clear() {
    let _alone = alone();
    let config = Config::new().track_events(&["sites"]).clear_interval(Duration::from_millis(100));
    let session = Session::in_process(&config).expect("a session");
    session.start().expect("a start");
    counter!(P, "before the clear", 7);
    let mut trace = Vec::new();
    while events(&trace).iter().filter(|event| *event == "counter 7").count() < 3 {
        session.flush().expect("a flush");
        session.read_into(&mut trace).expect("a trace");
    }
}

/// A thread that records nothing has a descriptor all the same, if another one records on its track.
#[test]
fn the_track_of_a_silent_thread_is_described() {
    let (send, receive) = std::sync::mpsc::channel();
    let (end, ended) = std::sync::mpsc::channel::<()>();
    let silent = move || {
        send.send(Track::current_thread()).expect("a test");
        let _ = ended.recv();
    };
    let silent =
        std::thread::Builder::new().name("silent".to_owned()).spawn(silent).expect("a thread");
    let track = receive.recv().expect("a track");
    let trace = recorded("a", || {
        instant!(A, "for another thread", track = track);
        instant!(A, "for this thread", track = Track::current_thread());
    });
    drop(end);
    silent.join().expect("no panic");
    let described = |uuid: u64| {
        let all = tracks(&trace).into_iter().filter(move |track| track.uuid == Some(uuid));
        all.filter_map(|track| track.thread).collect::<Vec<_>>()
    };
    let [thread] = &described(track.uuid())[..] else { panic!("{:?}", tracks(&trace)) };
    assert_eq!(thread.thread_name.as_deref(), Some("silent"));
    assert_eq!(thread.pid, i32::try_from(std::process::id()).ok());
    assert_eq!(described(Track::current_thread().uuid()).len(), 1, "once");
}

/// A track that nothing describes would be outside of the process.
#[test]
fn a_track_without_a_name_is_described() {
    let number = 1 << 40;
    let trace = recorded("a", || {
        instant!(A, "numbered", track = Track::numbered(number));
        instant!(A, "of a thread", track = Track::thread(os::thread::id()));
    });
    let process = Track::process().uuid();
    let all = tracks(&trace);
    let described: Vec<_> = all.iter().filter(|it| it.uuid == Some(process ^ number)).collect();
    let [track] = described[..] else { panic!("{all:?}") };
    assert_eq!(track.parent_uuid, Some(process));
    assert_eq!(Track::thread(os::thread::id()).uuid(), Track::current_thread().uuid());
}

#[test]
fn slices_end_at_a_time_of_the_program() {
    let now = os::clock::boot_ns();
    let trace = recorded("a", || {
        let on_thread = slice!(A, "on the thread", ts = now - 30);
        let on_track = slice!(A, "on a track", track = Track::named("times"), ts = now - 20);
        end!(on_thread, ts = now - 10);
        end!(on_track, n = 1, ts = now - 5);
    });
    let times: Vec<u64> = crate::trace::packets(&trace)
        .into_iter()
        .filter(|packet| packet.text.is_some())
        .map(|packet| packet.message.timestamp.expect("a time"))
        .collect();
    assert_eq!(times, [30, 20, 10, 5].map(|before| now - before));
    assert_eq!(events(&trace)[2..], ["end", "end n=1"]);
}
