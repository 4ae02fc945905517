//! Strings and bytes of generated structs share the memory of the input.

use protozero::Message;
use protozero::bytes::Bytes;

macro_rules! check {
    ($($test:ident: $mix:ident;)*) => {$(
        #[test]
        fn $test() {
            use crate::$mix::kitchen::two::{Everything, Everything_ChoiceOneof};
            let message = Everything {
                a_string: Some("text".into()),
                a_bytes: Some(Bytes::from_static(b"bytes")),
                texts: vec!["a".into(), "b".into()],
                blobs: vec![Bytes::from_static(b"c")],
                by_name: [("name".to_owned(), Everything::default())].into(),
                by_flag: [(true, Bytes::from_static(b"flag"))].into(),
                choice: Some(Everything_ChoiceOneof::Text("choice".into())),
                again: Some(Box::new(Everything { a_string: Some("leaf".into()), ..Default::default() })),
                ..Everything::default()
            };
            assert_eq!((message.a_string_or_default(), message.a_bytes_or_default()), ("text", &b"bytes"[..]));
            let input = Bytes::from(message.encode_to_vec());
            let read = Everything::decode_buf(input.clone()).unwrap();
            assert_eq!(read, message);
            let Some(Everything_ChoiceOneof::Text(choice)) = &read.choice else { panic!("no text") };
            let leaf = read.again.as_ref().and_then(|again| again.a_string.as_ref());
            let texts = [read.a_string.as_ref(), read.texts.last(), Some(choice), leaf];
            let texts = texts.map(|text| text.unwrap().as_bytes());
            let bytes = [read.a_bytes.as_ref().unwrap(), &read.blobs[0], &read.by_flag[&true]];
            let memory = input.as_ptr_range();
            let all = texts.into_iter().chain(bytes.map(|bytes| &bytes[..]));
            assert!(all.into_iter().all(|part| memory.contains(&part.as_ptr())));
            drop(read);
            assert!(input.is_unique());
            assert_eq!(Everything::decode(&input), Ok(message));
        }
    )*};
}

check! {
    messages_share: shared;
    compact_messages_share: shared_compact;
}
