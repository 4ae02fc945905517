//! What the generated code of both crates has to do together.

use super::schema::second::{
    Blob, Blob_BodyOneof, Book, Order, Order_Kind, Order_PaidOneof, Plainer,
};
use super::{Kind, Paid, Trade, protozero};
use outside::plain::kitchen::three::Plain;
use protozero::Message;

fn order() -> Order {
    Order {
        price: -3,
        kind: Order_Kind::Limit,
        paid: Some(Order_PaidOneof::Card(9)),
        ..Order::default()
    }
}

#[test]
fn types_of_the_other_crate_are_those_of_the_other_crate() {
    let plain = Plain { number: 4, ..Plain::default() };
    let book = Book { orders: vec![order()], plain: Some(plain.clone()), ..Book::default() };
    let read = Book::decode(&book.encode_to_vec()).unwrap();
    assert_eq!((&read, read.plain.as_ref()), (&book, Some(&plain)));
}

#[test]
fn attributes_are_where_they_were_wanted() {
    let orders = std::collections::HashSet::from([order(), order(), Order::default()]);
    assert_eq!(orders.len(), 2);
}

#[test]
fn bytes_are_held_as_wanted() {
    use protozero::bytes::Bytes;
    let part = Bytes::from_static(b"part");
    let blob = Blob {
        data: Bytes::from_static(b"data"),
        more: Some(Bytes::new()),
        parts: vec![part.clone(), part.clone()],
        named: [("name".to_owned(), part)].into(),
        body: Some(Blob_BodyOneof::Whole(Bytes::from_static(b"\xff"))),
        ..Blob::default()
    };
    let plainer = Plainer { data: b"vector".to_vec(), blob: Some(blob), ..Plainer::default() };
    let bytes = plainer.encode_to_vec();
    let blob =
        b"\x0a\x04data\x12\x00\x1a\x04part\x1a\x04part\x22\x0c\x0a\x04name\x12\x04part\x2a\x01\xff";
    assert_eq!(bytes, [b"\x0a\x06vector\x12\x25", &blob[..]].concat());
    assert_eq!(Plainer::decode(&bytes), Ok(plainer));
}

#[test]
fn bytes_share_the_input() {
    use protozero::bytes::Bytes;
    let blob = Blob {
        data: Bytes::from_static(b"data"),
        named: [("name".to_owned(), Bytes::from_static(b"part"))].into(),
        body: Some(Blob_BodyOneof::Whole(Bytes::from_static(b"\xff"))),
        ..Blob::default()
    };
    let plainer = Plainer { data: b"vector".to_vec(), blob: Some(blob), ..Plainer::default() };
    let input = Bytes::from(plainer.encode_to_vec());
    let decoded = Plainer::decode_buf(input.clone()).unwrap();
    assert_eq!(decoded, plainer);
    let memory = input.as_ptr_range();
    let blob = decoded.blob.as_ref().unwrap();
    let Some(Blob_BodyOneof::Whole(whole)) = &blob.body else { panic!("no body") };
    for shared in [&blob.data, &blob.named["name"], whole] {
        assert!(memory.contains(&shared.as_ptr()));
    }
    assert!(!memory.contains(&decoded.data.as_ptr()));
    drop(decoded);
    assert!(input.is_unique());
}

#[test]
fn what_is_derived_reads_what_is_generated() {
    let trade = Trade::decode(&order().encode_to_vec()).unwrap();
    let wanted = Trade { price: -3, paid: Some(Paid::Card(9)), kind: Kind::Limit };
    assert_eq!(trade, wanted);
}
