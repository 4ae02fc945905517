use super::{Taken, camel, pascal, raw, snake};

#[test]
fn cases() {
    for (from, to) in [
        ("foo_bar", "FooBar"),
        ("v8_js_code", "V8JsCode"),
        ("fooBar", "FooBar"),
        ("_x", "X"),
        ("a__b", "AB"),
        ("_1", "_1"),
        ("_", "__"),
        ("TraceConfig", "TraceConfig"),
    ] {
        assert_eq!(camel(from), to);
    }
    for (from, to) in [
        ("ProducerPort", "producer_port"),
        ("IPCFrame", "ipc_frame"),
        ("ReadBuffers", "read_buffers"),
        ("A", "a"),
        ("V8Code", "v8_code"),
    ] {
        assert_eq!(snake(from), to);
    }
}

#[test]
fn keywords_and_collisions() {
    assert_eq!(raw("type").to_string(), "r#type");
    assert_eq!(raw("self").to_string(), "self_");
    assert_eq!(raw("name").to_string(), "name");
    let mut taken = Taken::new(&["Option"]);
    assert_eq!(taken.take("Option".into()), "Option_");
    assert_eq!(taken.take("A".into()), "A");
    assert_eq!(taken.take("A".into()), "A_");
    assert_eq!(taken.take("A".into()), "A__");
    assert_eq!(taken.take("self_".into()), "self_");
    assert_eq!(taken.take("self".into()), "self__");
    // No longer than it takes to write them down.
    let mut taken = Taken::new(&[]);
    let last = (0..2_000).map(|_| taken.take("A".into())).last();
    assert_eq!(last.map(|name| name.len()), Some(2_000));
}

#[test]
fn names_in_capitals() {
    for (from, to) in [
        ("FOO_BAR", "FooBar"),
        ("V8_JS", "V8Js"),
        ("HTTP2", "Http2"),
        ("kGood", "KGood"),
        ("Mixed_CASE", "MixedCase"),
        ("a__b", "AB"),
        ("_", "__"),
        ("_1", "_1"),
    ] {
        assert_eq!(pascal(from), to);
    }
}
