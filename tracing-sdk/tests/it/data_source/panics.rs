//! Data sources that panic: in each of their functions, and while they write.

use super::*;

/// Panics wherever the config says.
struct Panics(String);

static PANICS: Registered<Panics> = Registered::new("com.example.panics");

impl Panics {
    fn panic_in(&self, method: &str) {
        assert_ne!(self.0, method, "on purpose");
    }
}

impl DataSource for Panics {
    type Incremental = ();

    fn setup(config: &DataSourceConfig) -> Self {
        let this = Self(config.legacy_config.clone().unwrap_or_default());
        this.panic_in("setup");
        this
    }

    fn start(&self) {
        self.panic_in("start");
    }

    fn stop(&self, stop: StopGuard) {
        self.panic_in("stop");
        drop(stop);
    }

    fn flush(&self, _: FlushReason, done: FlushGuard) {
        self.panic_in("flush");
        drop(done);
    }
}

impl Drop for Panics {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            self.panic_in("drop");
        }
    }
}

#[test]
fn a_panic_harms_nobody_else() {
    let _alone = alone();
    PANICS.register();
    for method in ["setup", "start", "flush", "stop", "drop", "nowhere"] {
        let session = started("com.example.panics", method);
        assert_eq!(PANICS.is_enabled(), method != "setup");
        let in_closure = || PANICS.trace(|_| panic!("on purpose"));
        assert_eq!(std::panic::catch_unwind(in_closure).is_err(), method != "setup");
        PANICS.trace(|context| {
            context.packet(|packet| {
                packet.for_testing().str(method);
            });
        });
        session.flush().expect("a flush");
        session.stop().expect("a stop");
        assert!(!PANICS.is_enabled());
        let expected = if method == "setup" { vec![] } else { vec![format!("0 {method}")] };
        assert_eq!(texts(&session), expected, "{method}");
    }
}

/// Its incremental state panics on the thread of the library, where the config says.
struct Fragile;

static FRAGILE: Registered<Fragile> = Registered::new("com.example.fragile");
static PANICS_IN: Mutex<&str> = Mutex::new("");

fn panic_on_library_thread(method: &str) {
    let is_library = std::thread::current().name().is_none();
    let panics_in = *PANICS_IN.lock().unwrap_or_else(PoisonError::into_inner);
    if is_library && panics_in == method {
        std::panic::resume_unwind(Box::new("on purpose"));
    }
}

struct FragileState;

impl Default for FragileState {
    fn default() -> Self {
        panic_on_library_thread("default");
        Self
    }
}

impl Drop for FragileState {
    fn drop(&mut self) {
        panic_on_library_thread("drop");
    }
}

impl DataSource for Fragile {
    type Incremental = FragileState;

    fn setup(_: &DataSourceConfig) -> Self {
        Self
    }

    fn stop(&self, stop: StopGuard) {
        // The thread of the library then drops its incremental state outside of this method.
        std::thread::spawn(|| drop(stop)).join().expect("no panic");
    }
}

/// The thread that flushes data sources has such a state, too, and answers all services.
#[test]
fn a_panic_of_incremental_state_ends_no_thread_of_the_library() {
    let _alone = alone();
    FRAGILE.register();
    for method in ["default", "drop", "nowhere"] {
        *PANICS_IN.lock().unwrap_or_else(PoisonError::into_inner) = method;
        let session = started("com.example.fragile", "");
        session.flush().expect("a flush");
        FRAGILE.trace(|context| {
            context.packet(|packet| {
                packet.for_testing().str("program");
            });
        });
        session.stop().expect("a stop");
        assert_eq!(texts(&session), ["0 program"], "{method}");
    }
}

/// Its first incremental state panics.
struct PanicsOnce;

static PANICS_ONCE: Registered<PanicsOnce> = Registered::new("com.example.panics.once");
static STATES: AtomicUsize = AtomicUsize::new(0);

struct OnceState;

impl Default for OnceState {
    fn default() -> Self {
        if STATES.fetch_add(1, Ordering::Relaxed) == 0 {
            std::panic::resume_unwind(Box::new("on purpose"));
        }
        Self
    }
}

impl DataSource for PanicsOnce {
    type Incremental = OnceState;

    fn setup(_: &DataSourceConfig) -> Self {
        Self
    }
}

#[test]
fn a_thread_without_incremental_state_writes_no_more() {
    let _alone = alone();
    PANICS_ONCE.register();
    let write = || {
        PANICS_ONCE.trace(|context| {
            context.packet(|packet| {
                packet.for_testing().str("packet");
            });
        });
    };
    let first = started("com.example.panics.once", "");
    write();
    // Every thread looks at its instances again.
    let second = started("com.example.panics.once", "");
    write();
    first.stop().expect("a stop");
    second.stop().expect("a stop");
    assert_eq!(texts(&first), [""; 0]);
    assert_eq!(texts(&second), ["0 packet"]);
}

/// Its incremental state panics when it is dropped to begin anew.
struct PanicsAtClear;

static PANICS_AT_CLEAR: Registered<PanicsAtClear> = Registered::new("com.example.panics.at.clear");

#[derive(Default)]
struct ClearState(bool);

impl Drop for ClearState {
    fn drop(&mut self) {
        if self.0 {
            std::panic::resume_unwind(Box::new("on purpose"));
        }
    }
}

impl DataSource for PanicsAtClear {
    type Incremental = ClearState;

    fn setup(_: &DataSourceConfig) -> Self {
        Self
    }
}

#[test]
fn a_thread_whose_incremental_state_panics_writes_no_more() {
    let _alone = alone();
    PANICS_AT_CLEAR.register();
    let session = started("com.example.panics.at.clear", "");
    let write = || {
        PANICS_AT_CLEAR.trace(|context| {
            context.packet(|packet| {
                packet.for_testing().str("packet");
            });
        });
    };
    write();
    // A packet that is not complete begins anew.
    let panics = || {
        PANICS_AT_CLEAR.trace(|context| {
            context.packet_with(|_, state| {
                state.0 = true;
                std::panic::resume_unwind(Box::new(()));
            });
        });
    };
    assert!(std::panic::catch_unwind(panics).is_err());
    write();
    write();
    session.stop().expect("a stop");
    // The second one is that of the panic, and has no text.
    assert_eq!(texts(&session), ["1 packet"]);
}

/// A packet whose names are defined, but which is not complete: the next one defines them again.
#[test]
fn a_panic_in_a_packet_begins_anew() {
    let _alone = alone();
    LOGGED.register();
    let session = started("com.example.logged", "panic");
    LOGGED.trace(|context| write(context, "before"));
    let panics = || {
        LOGGED.trace(|context| {
            context.packet_with(|_, names| {
                names.push("not written".to_owned());
                std::panic::resume_unwind(Box::new(()));
            });
        });
    };
    assert!(std::panic::catch_unwind(panics).is_err());
    LOGGED.trace(|context| write(context, "after"));
    LOGGED.trace(|context| write(context, "later"));
    session.stop().expect("a stop");
    let mut texts = texts(&session);
    texts.retain(|text| !text.contains(" in "));
    assert_eq!(texts, ["1 panic before 1", "1 panic after 1", "2 panic later 2"]);
}
