//! Packets that go without a stream.

use super::*;

/// Field 1 of a short packet; false if it has to go through the stream.
fn short(writer: &mut TraceWriter, value: u64) -> bool {
    let Some(mut packet) = writer.new_short_packet(12) else { return false };
    packet.varint::<1>(value);
    packet.end();
    true
}

fn drained(park: &ServeWhileParked, arbiter: &Arbiter, id: u16) -> Vec<Vec<u8>> {
    let mut reader = lock(&park.reader);
    reader.drain(arbiter);
    reader.packets(id).into_iter().map(|packet| packet.expect("none is given up")).collect()
}

#[test]
fn fields_are_those_of_the_wire() {
    let (arbiter, park) = div4(1);
    let mut writer = writer(&arbiter, BufferExhaustedPolicy::Drop);
    writer.write_raw(&hex("0800"));
    let before = writer.written();
    let mut packet = writer.new_short_packet(70).unwrap();
    packet.raw([0x12, 0]);
    let begin = packet.bytes();
    packet.varint::<1>(127);
    packet.varint::<15>(128);
    packet.varint::<16>((1 << 56) - 1);
    packet.varint::<2047>(1 << 56);
    packet.end_message(begin);
    packet.varint::<1>(u64::MAX);
    packet.fixed64::<30>(7);
    packet.raw_up_to([8, 1, 9], 1);
    packet.raw_varint(300);
    packet.raw_slice(&[8, 2]);
    packet.end();
    assert_eq!(writer.written() - before, 54);
    let id = writer.id().get();
    drop(writer);
    let expected = "121a 087f 788001 8001ffffffffffffff7f f87f808080808080808001
                    08ffffffffffffffffff01 f1010700000000000000 08ac02 0802";
    assert_eq!(drained(&park, &arbiter, id)[1], hex(expected));
}

#[test]
fn a_short_packet_that_does_not_end_is_none() {
    let (arbiter, park) = div4(1);
    let mut writer = writer(&arbiter, BufferExhaustedPolicy::Drop);
    writer.write_raw(&hex("0800"));
    writer.new_short_packet(12).unwrap().varint::<1>(u64::MAX);
    assert!(short(&mut writer, 1));
    let id = writer.id().get();
    drop(writer);
    assert_eq!(drained(&park, &arbiter, id), [hex("b805010800"), hex("0801")]);
}

/// The first packet of a chunk, and one after a loss, go through the stream. So nothing is lost, and the loss is marked.
#[test]
fn a_short_packet_needs_nothing_else_to_be_done() {
    let (arbiter, park) = div4(1);
    let mut writer = writer(&arbiter, BufferExhaustedPolicy::Drop);
    assert!(!short(&mut writer, 0), "there is no chunk");
    writer.write_raw(&hex("0800"));
    let mut count = 1;
    while short(&mut writer, count) {
        count += 1;
    }
    assert!(count > 200, "a chunk of 1020 bytes takes {count} of three and four bytes");
    writer.write_raw(&hex("0800"));
    std::mem::forget(writer.new_packet());
    assert!(!short(&mut writer, 0), "a packet is open");
    while !writer.is_dropping() {
        writer.write_raw(&[0x08; 400]);
    }
    assert!(!short(&mut writer, 0), "packets are dropped");
    let mut reader = lock(&park.reader);
    reader.drain(&arbiter);
    let packets = reader.packets(writer.id().get());
    for (value, packet) in (1..count).zip(&packets[1..]) {
        let packet = packet.as_ref().expect("none of these is given up");
        let field = protozero::Reader::new(packet).next_field().unwrap().unwrap();
        assert_eq!(format!("{:?}", field.value), format!("Varint({value})"));
    }
}
