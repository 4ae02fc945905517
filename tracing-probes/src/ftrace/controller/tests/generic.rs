//! Events that are not in the schema, and their numbers.

use super::*;

/// An event that the schema does not have, in an instance: the text of its format.
fn add_generic(world: &World, prefix: &str, event: &str, id: u16, field: &str) {
    let name = event.split('/').next_back().unwrap_or_default();
    let fields = format!("\tfield:u32 {field};\toffset:8;\tsize:4;\tsigned:0;\n");
    let text = format!("name: {name}\nID: {id}\nformat:\n{COMMON}{fields}\nprint fmt: \"\"\n");
    world.fake.set(&format!("{prefix}events/{event}/enable"), "0");
    world.fake.set(&format!("{prefix}events/{event}/format"), &text);
}

/// The numbers of the events that a session described, and the descriptors.
fn described(packets: &Packets) -> Vec<(i32, String)> {
    let of_packet = |packet: TracePacket| match packet.data {
        Some(TracePacketData::FtraceEvents(bundle)) => bundle.generic_event_descriptors,
        _ => Vec::new(),
    };
    let described = packets.take().into_iter().flat_map(of_packet);
    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
    described
        .map(|of| (of.field_id.unwrap_or_default(), text(of.event_descriptor.unwrap_or_default())))
        .collect()
}

/// Upstream: each instance counted by itself, so one number meant two events in a trace.
#[test]
fn instances_share_the_numbers_of_generic_events() {
    let mut world = World::new();
    add_generic(&world, "", "user/first", 60, "a");
    add_generic(&world, "", "user/second", 61, "b");
    add_generic(&world, "instances/other/", "user/second", 61, "b");
    let one = world.start(1, wants(&["user/first"])).unwrap();
    let other = FtraceConfig { instance_name: Some("other".to_owned()), ..wants(&["user/second"]) };
    let two = world.start(2, other).unwrap();
    world.play(CPU0, &[page(&[60])]);
    world.play(&format!("instances/other/{CPU0}"), &[page(&[61])]);
    world.pass();
    let (one, two) = (described(&one), described(&two));
    let ([(first, _)], [(second, descriptor)]) = (&one[..], &two[..]) else {
        panic!("{one:?} {two:?}")
    };
    assert!(first != second && descriptor.contains("second"), "{one:?} {two:?}");
}

/// Upstream: the second event had the fields of the first one, and could void the trace.
#[test]
fn an_id_that_another_event_gets_has_the_fields_of_that_one() {
    let mut world = World::new();
    let mut found = Vec::new();
    for (event, field) in [("user/first", "old"), ("user/second", "new"), ("user/second", "newer")]
    {
        for event in ["user/first", "user/second"] {
            world.fake.remove(&format!("events/{event}/"));
        }
        add_generic(&world, "", event, 60, field);
        let packets = world.start(1, wants(&[event])).unwrap();
        world.play(CPU0, &[page(&[60])]);
        world.pass();
        found.extend(described(&packets));
        world.controller.stop(1);
    }
    let fields: Vec<_> =
        found.iter().map(|(_, of)| of.contains("new") as u8 + of.contains("newer") as u8).collect();
    assert_eq!(fields, [0, 1, 2], "{found:?}");
    // The same event with other fields is another one for readers.
    assert!(found[1].0 != found[2].0, "{found:?}");
}

/// Addresses of the kernel are numbers where the operator says so; else they are the first symbol of the session.
#[test]
fn the_operator_decides_whether_addresses_show() {
    let value = |pointers| {
        let mut world = World::new();
        world.here.pointers.set(pointers);
        add_generic(&world, "", "user/freed", 60, "a");
        let text = world.fake.get("events/user/freed/format");
        let text = text.replace("u32 a;\toffset:8;\tsize:4", "const void * a;\toffset:8;\tsize:8");
        world.fake.set("events/user/freed/format", &text);
        let packets = world.start(1, wants(&["user/freed"])).unwrap();
        world.play(CPU0, &[page(&[60])]);
        world.pass();
        let bundle = packets.take().into_iter().find_map(|packet| match packet.data {
            Some(TracePacketData::FtraceEvents(bundle)) => Some(bundle),
            _ => None,
        });
        bundle.unwrap().unknown_fields.as_bytes().last().copied()
    };
    assert_eq!((value(Pointers::Hidden), value(Pointers::Shown)), (Some(1), Some(7)));
}
