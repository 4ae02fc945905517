//! Function graph of several sessions: the kernel records for all of them, and each has what it asked for.

use super::*;

/// Functions, where they begin.
const KALLSYMS: &str = "2000 t do_sys_open\n3000 T kfree\n4000 T vfs_read\n5000 T schedule\n";
const ENTRY: u16 = 11;
const EXIT: u16 = 10;

fn world() -> World {
    let world = World::new();
    world.here.kallsyms.set(KALLSYMS);
    let fields = "\tfield:unsigned long func;\toffset:8;\tsize:8;\tsigned:0;\n\
                  \tfield:unsigned int depth;\toffset:16;\tsize:4;\tsigned:0;\n";
    for (name, id) in [("funcgraph_entry", ENTRY), ("funcgraph_exit", EXIT)] {
        let text = format!("name: {name}\nID: {id}\nformat:\n{COMMON}{fields}\nprint fmt: \"\"\n");
        world.fake.set(&format!("events/ftrace/{name}/format"), &text);
    }
    world
}

fn graph(filters: &[&str], depth: u32) -> FtraceConfig {
    FtraceConfig {
        enable_function_graph: Some(true),
        function_filters: filters.iter().map(|name| (*name).to_owned()).collect(),
        function_graph_max_depth: Some(depth),
        ..Default::default()
    }
}

/// A page with calls of functions, each with its address and depth.
fn calls(calls: &[(u64, u32)]) -> Made {
    let record = |id: u16, (address, depth): (u64, u32)| {
        let head = [&id.to_le_bytes()[..], &[0, 0, 9, 0, 0, 0]].concat();
        [&head[..], &address.to_le_bytes(), &depth.to_le_bytes(), &[0; 4]].concat()
    };
    calls.iter().fold(Made::new(100), |made, call| {
        made.event(1, &record(ENTRY, *call)).event(1, &record(EXIT, *call))
    })
}

/// Upstream: a session had the functions of all others.
#[test]
fn each_session_has_its_functions() {
    let mut world = world();
    let found = world.fake.settings();
    let frees = world.start(1, graph(&["kfree"], 0)).unwrap();
    assert_eq!(*world.here.symbols.borrow(), 0, "the kernel records no others");
    let some = world.start(2, graph(&["*_sys_*", "vfs_rea?"], 0)).unwrap();
    assert_eq!(world.fake.get("set_ftrace_filter").lines().count(), 3);
    // Some begin behind their symbol, and one is no function that is known.
    let all = [(0x3000, 0), (0x4004, 1), (0x3004, 1), (0x2ffc, 0), (0x5000, 7), (0x10, 0)];
    world.play(CPU0, &[calls(&all)]);
    world.pass();
    assert_eq!((frees.events(), some.events()), (4, 4));
    // Beside one that has all.
    let every = world.start(3, graph(&[], 0)).unwrap();
    assert_eq!(world.fake.get("set_ftrace_filter"), "");
    world.play(CPU0, &[calls(&all)]);
    world.pass();
    assert_eq!((frees.events(), some.events(), every.events()), (4, 4, 12));
    // What is still in the ring when others have ended is not for those who stay.
    world.controller.stop(2);
    world.controller.stop(3);
    world.play(CPU0, &[calls(&all)]);
    world.pass();
    assert_eq!(frees.events(), 4);
    world.controller.stop(1);
    assert_eq!(world.fake.settings(), found);
}

/// Upstream: the depth of the last session was that of all.
#[test]
fn each_session_has_its_depth() {
    let mut world = world();
    let flat = world.start(1, graph(&["kfree"], 1)).unwrap();
    let deep = world.start(2, graph(&["kfree"], 3)).unwrap();
    assert_eq!(world.fake.get("max_graph_depth"), "3");
    world.play(CPU0, &[calls(&[(0x3000, 0), (0x3000, 1), (0x3000, 2), (0x3000, u32::MAX)])]);
    world.pass();
    assert_eq!((flat.events(), deep.events()), (2, 6));
    assert_eq!(*world.here.symbols.borrow(), 0);
}

#[test]
fn functions_that_cannot_be_told_apart() {
    let mut world = world();
    let frees = world.start(1, graph(&["kfree"], 0)).unwrap();
    let found = world.fake.settings();
    world.here.is_hidden.set(true);
    let why = world.start(2, graph(&["vfs_read"], 0)).unwrap_err();
    assert!(why.contains("function_filters") && why.contains("addresses are hidden"), "{why}");
    assert!(!world.is_exclusive_told);
    let mut roots = graph(&["kfree"], 0);
    roots.function_graph_roots = vec!["schedule".to_owned()];
    for (other, field) in [(roots, "function_graph_roots"), (graph(&["vfs_read"], 1), "max_depth")]
    {
        let why = world.start(3, other).unwrap_err();
        assert!(why.contains(field) && world.is_exclusive_told, "{why}");
    }
    assert_eq!(world.fake.settings(), found);
    world.start(4, graph(&["kfree"], 0)).unwrap();
    world.play(CPU0, &[calls(&[(0x3000, 0)])]);
    world.pass();
    assert_eq!(frees.events(), 2);
}
