//! Tests the behaviour of the generated code of the cases with hand-written values.

use protozero::{CallError, FixedSink, Message, Writer};

use crate::golden::{self, tree_service};

#[test]
fn names_are_made_unique() {
    // `Option` would hide Rust's; `TreeLeaf` was taken by `Tree.Leaf`.
    let mut buffer = [0; 64];
    let mut stream = FixedSink::stream(&mut buffer);
    golden::OptionWriter::from_scope(stream.root()).r#type(1).self_(2).sub_raw(3).append_raw_(4);
    let bytes = stream.finish().unwrap();
    assert_eq!(bytes, [8, 1, 16, 2, 48, 3, 32, 4]);
    let message = golden::Option_::decode(bytes).unwrap();
    assert_eq!((message.r#type, message.self_, message.sub_raw), (Some(1), Some(2), Some(3)));
    assert_eq!(message.append_raw, Some(4));
    assert_eq!(golden::TreeLeaf_::default().s, None);
    assert_eq!(golden::TreeLeafSelf::VALUES_, golden::TreeLeafSelf(1));
}

#[test]
fn defaults_are_the_schemas() {
    let d = golden::Defaults::default();
    assert_eq!((d.number_or_default(), d.big_or_default()), (-7, u64::MAX));
    assert_eq!((d.ratio_or_default(), d.infinite_or_default()), (0.5, f32::NEG_INFINITY));
    assert_eq!((d.yes_or_default(), d.text_or_default()), (true, "a \"b\""));
    assert_eq!((d.raw_or_default(), d.level_or_default()), (&b"\x01x"[..], golden::Level::HIGH));
    assert_eq!(golden::Level::default(), golden::Level::LOW);
    assert_eq!(golden::Level(1).name(), Some("HIGH"));
    assert_eq!(format!("{:?} {:?}", golden::Level::BELOW, golden::Level(9)), "BELOW 9");
}

#[test]
fn gathered_and_encoded_bodies_are_the_same_bytes() {
    let write = |fill: &dyn Fn(&mut golden::TreeWriter<'_>)| {
        let mut buffer = [0; 64];
        let mut stream = FixedSink::stream(&mut buffer);
        fill(&mut golden::TreeWriter::from_scope(stream.root()));
        stream.finish().unwrap().to_vec()
    };
    let plain = write(&|w| {
        w.left().number(5);
        w.raw(b"abcd");
    });
    let other = write(&|w| {
        w.left_raw(&[0x20, 5]).raw_gather(&[b"ab", b"", b"cd"]);
    });
    assert_eq!(plain, other);
}

#[derive(Default)]
struct Gardener {
    log: Vec<String>,
}

impl tree_service::Host for Gardener {
    type Call = u32;
    fn plant_tree(&mut self, call: u32, request: golden::Tree) {
        self.log.push(format!("{call}: {:?}", request.value));
    }
    fn watch_growth(&mut self, call: u32, request: golden::WatchRequest) {
        self.log.push(format!("{call}: {:?}", request.id));
    }
    fn invoke_(&mut self, call: u32, _: golden::Empty) {
        self.log.push(format!("{call}: nothing"));
    }
}

/// Encodes and dispatches at once.
impl tree_service::Client for Gardener {
    type Call = u32;
    type Error = CallError;
    fn invoke(&mut self, request: tree_service::Request) -> Result<u32, CallError> {
        let request = tree_service::Request::decode(request.method_id(), &request.encode())?;
        tree_service::Host::dispatch(self, 7, request);
        Ok(7)
    }
}

#[test]
fn services_call_by_type() {
    use tree_service::Client;
    let mut both = Gardener::default();
    let tree = golden::Tree { value: Some(golden::TreeValue::Number(3)), ..Default::default() };
    assert_eq!(Client::plant_tree(&mut both, tree), Ok(7));
    assert_eq!(
        Client::watch_growth(&mut both, golden::WatchRequest { id: Some(9), ..Default::default() }),
        Ok(7)
    );
    assert_eq!(Client::invoke_(&mut both, golden::Empty::default()), Ok(7));
    assert_eq!(both.log, ["7: Some(Number(3))", "7: Some(9)", "7: nothing"]);
    let names: Vec<_> = tree_service::METHODS.iter().map(|m| (m.id, m.name, m.streaming)).collect();
    assert_eq!(names, [(1, "PlantTree", false), (2, "WatchGrowth", true), (3, "Invoke", false)]);
    assert!(matches!(tree_service::Response::decode(2, &[0]), Err(CallError::Decode(_))));
}

#[test]
fn readers_take_packed_and_lone_elements_alike() {
    // r_int32 = 101 packed [1, 2], then alone 3; p_int32 = 2001 alone 4.
    let bytes = [0xaa, 6, 2, 1, 2, 0xa8, 6, 3, 0x88, 0x7d, 4];
    let got: Vec<_> =
        golden::ScalarsReader::new(&bytes).iter().map(|f| format!("{:?}", f.unwrap())).collect();
    assert_eq!(got, ["RInt32(1)", "RInt32(2)", "RInt32(3)", "PInt32(4)"]);
    // A known number of a foreign wire type is unknown, not an error.
    let foreign = [0x0d, 1, 2, 3, 4];
    assert!(matches!(
        golden::ScalarsReader::new(&foreign).iter().next(),
        Some(Ok(golden::ScalarsField::Unknown(field))) if field.number == 1
    ));
}

#[test]
fn groups_maps_and_extensions() {
    use protozero::Extendable;
    let mut base = golden::Base {
        name: Some("b".into()),
        part: Some(golden::BasePart {
            weight: Some(1),
            screw: vec![golden::BasePartScrew { size: Some(2), ..Default::default() }],
            ..Default::default()
        }),
        by_name: [("x".to_owned(), golden::Level::HIGH)].into(),
        pick: Some(golden::BasePick::Choice(golden::BaseChoice {
            yes: Some(true),
            ..Default::default()
        })),
        ..Default::default()
    };
    let bytes = base.encode_to_vec();
    assert_eq!(
        bytes,
        b"\x12\x01b\x1b\x08\x01\x13\x08\x02\x14\x1c\x32\x05\x0a\x01x\x10\x01\x4b\x08\x01\x4c"
    );
    assert_eq!(golden::Base::decode(&bytes).as_ref(), Ok(&base));
    // Declared in a message, a group, and beside messages; another file's type.
    base.set_extension(&golden::PRIORITY, &7);
    base.set_extension(&golden::PACKED_ONES, &[-1, 1]);
    base.set_extension(
        &golden::Scope::INNER,
        &golden::Scope { value: Some(3), ..Default::default() },
    );
    let tree = golden::Tree { value: Some(golden::TreeValue::Number(3)), ..Default::default() };
    base.set_extension(&golden::TREE, &tree);
    let bytes = base.encode_to_vec();
    let again = golden::Base::decode(&bytes).unwrap();
    assert_eq!(again.extension(&golden::PRIORITY), Ok(Some(7)));
    assert_eq!(again.extension(&golden::PACKED_ONES), Ok(vec![-1, 1]));
    assert_eq!(again.extension(&golden::TREE), Ok(Some(tree)));
    assert_eq!(again.extension(&golden::Scope::INNER).unwrap().unwrap().value, Some(3));
    assert_eq!(again.extension(&golden::TAGS), Ok(vec![]));
    assert_eq!(golden::Scope::BOLT.name(), "cases.ext.Scope.bolt");
}
