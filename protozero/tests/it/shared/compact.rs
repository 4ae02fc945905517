//! Compact messages, and messages of a table.

use protozero::bytes::Bytes;
use protozero::{Message, UnknownFields, rt};

use super::chunks::lies_in;

macro_rules! blob {
    ($($table:ident, $oneof:ident, $name:ident, $body:ident, ($($derived:ident),*);)*) => {$(
        #[derive(PartialEq, Default, $($derived),*)]
        struct $name {
            data: Option<Bytes>,
            parts: Vec<Bytes>,
            inner: Vec<$name>,
            body: Option<$body>,
            unknown_fields: UnknownFields,
        }

        rt::$table! {
            $name;
            oneof body = 4;
            repeated inner = 3 as Nested($name);
            repeated parts = 2 as Bytes(Bytes);
            optional data = 1 as Bytes(Bytes);
        }

        #[derive(Clone, PartialEq, Debug)]
        enum $body {
            Whole(Bytes),
        }

        rt::$oneof! {
            $body;
            Whole = 4 as Bytes(Bytes);
        }
    )*};
}

blob! {
    owned, oneof, Blob, BlobBody, (Clone);
    compact, compact_oneof, Small, SmallBody, ();
}

#[test]
fn fields_share_the_input() {
    let input = Bytes::from(b"\x0a\x01a\x12\x01b\x1a\x03\x0a\x01c\x22\x01d".to_vec());
    let blob = Blob::decode_buf(input.clone()).unwrap();
    let Some(BlobBody::Whole(whole)) = &blob.body else { panic!("no body") };
    let inner = blob.inner[0].data.as_ref().unwrap();
    let all = [blob.data.as_ref().unwrap(), &blob.parts[0], inner, whole];
    assert_eq!(all.map(|part| &part[..]), [b"a", b"b", b"c", b"d"]);
    assert!(all.iter().all(|part| lies_in(part, &input)));

    let small = Small::decode_buf(input.clone()).unwrap();
    let Some(SmallBody::Whole(whole)) = &small.body else { panic!("no body") };
    let inner = small.inner[0].data.as_ref().unwrap();
    let all = [small.data.as_ref().unwrap(), &small.parts[0], inner, whole];
    assert_eq!(all.map(|part| &part[..]), [b"a", b"b", b"c", b"d"]);
    assert!(all.iter().all(|part| lies_in(part, &input)));
}
