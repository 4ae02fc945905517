//! Tests the behaviour of the generated code of the cases with hand-written values.

use protozero::dynamic::{Pool, Value};
use protozero::{CallError, FixedSink, Message, Named as _, Writer};

use crate::golden::cases::{self, ext};
use crate::golden::{self, TreeService};
use crate::sources::sources;

#[test]
fn names_are_made_unique() {
    // `Option` would hide Rust's; `TreeLeaf` is not `Tree.Leaf`.
    let mut buffer = [0; 64];
    let mut stream = FixedSink::stream(&mut buffer);
    cases::OptionWriter::from_scope(stream.root()).r#type(1).self_(2).sub_raw_(3).append_raw_(4);
    let bytes = stream.finish().unwrap();
    assert_eq!(bytes, [8, 1, 16, 2, 48, 3, 32, 4]);
    let message = cases::Option_::decode(bytes).unwrap();
    assert_eq!((message.r#type, message.self_, message.sub_raw), (Some(1), Some(2), Some(3)));
    assert_eq!(message.append_raw, Some(4));
    assert_eq!((cases::TreeLeaf::default().s, cases::Tree_Leaf::default().kind), (None, None));
    assert_eq!(cases::TreeLeaf_Self::Values, cases::TreeLeaf_Self(1));
    assert_eq!(cases::TreeLeaf_Self::A, cases::TreeLeaf_Self(0));
}

#[test]
fn defaults_are_the_schemas() {
    let d = cases::Defaults::default();
    assert_eq!((d.number_or_default(), d.big_or_default()), (-7, u64::MAX));
    assert_eq!((d.ratio_or_default(), d.infinite_or_default()), (0.5, f32::NEG_INFINITY));
    assert_eq!((d.yes_or_default(), d.text_or_default()), (true, "a \"b\""));
    assert_eq!((d.raw_or_default(), d.level_or_default()), (&b"\x01x"[..], cases::Level::High));
    assert_eq!(cases::Level::default(), cases::Level::Low);
    assert_eq!(cases::Level(1).name(), Some("HIGH"));
    assert_eq!(format!("{:?} {:?}", cases::Level::Below, cases::Level(9)), "BELOW 9");
}

/// As those of a pool that is made of the schema itself.
#[test]
fn descriptors_have_the_defaults_of_the_schema() {
    let set = protozero_codegen::descriptor_set(&sources()).unwrap();
    let pool = Pool::decode(&set).unwrap();
    let mut count = 0;
    for of in [cases::Defaults::descriptor(), ext::Base::descriptor(), cases::Scalars::descriptor()]
    {
        let theirs = pool.message(of.full_name()).unwrap();
        for field in of.fields() {
            let theirs = theirs.field(field.name()).unwrap();
            assert_eq!(field.default_value(), theirs.default_value(), "{field:?}");
            count += 1;
        }
    }
    assert!(count > 30, "{count}");
    let of = cases::Defaults::descriptor();
    let default = |name: &str| of.field(name).unwrap().default_value().unwrap();
    assert_eq!(default("number"), Value::I32(-7));
    assert_eq!(default("raw"), Value::Bytes(b"\x01x".to_vec()));
    assert_eq!(default("level"), Value::Enum(cases::Level::High.0));
}

#[test]
fn debug_shows_unknown_fields_only_if_there_are_some() {
    let shown = |bytes: &[u8]| format!("{:?}", cases::Defaults::decode(bytes).unwrap());
    let fields = "number: Some(1), big: None, ratio: None, infinite: None, yes: None, \
                  text: None, raw: None, level: Some(HIGH)";
    assert_eq!(shown(b"\x08\x01\x40\x01"), format!("Defaults {{ {fields} }}"));
    let more = format!("Defaults {{ {fields}, unknown_fields: [#11: 2 B] }}");
    assert_eq!(shown(b"\x08\x01\x58\x02\x40\x01"), more);
    assert_eq!(format!("{:#?}", cases::Empty::default()), "Empty");
}

#[test]
fn enums_are_texts_and_numbers() {
    use cases::ext::Shade;
    use cases::{Level, Tree_Leaf_Kind as Kind};
    for (value, text) in [(Level::High, "HIGH"), (Level::Below, "BELOW"), (Level(9), "9")] {
        assert_eq!((value.to_string().as_str(), text.parse()), (text, Ok(value)));
        assert_eq!(i32::from(value), value.0);
    }
    assert_eq!((Kind::try_from(3), Kind::Dry.name()), (Ok(Kind::Dry), Some("DRY")));
    // Only a field of an open enum takes numbers without a name.
    let error = Kind::try_from(1).unwrap_err();
    assert_eq!(error.to_string(), "cases.Tree.Leaf.Kind has no value 1");
    let error = "Dry".parse::<Kind>().unwrap_err();
    assert_eq!(
        error.to_string(),
        "the text is neither a name nor a number of cases.Tree.Leaf.Kind"
    );
    assert_eq!("2".parse(), Ok(Shade::Light));
}

#[test]
fn gathered_and_encoded_bodies_are_the_same_bytes() {
    let write = |fill: &dyn Fn(&mut cases::TreeWriter<'_>)| {
        let mut buffer = [0; 64];
        let mut stream = FixedSink::stream(&mut buffer);
        fill(&mut cases::TreeWriter::from_scope(stream.root()));
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

impl TreeService::Host for Gardener {
    type Call = u32;
    fn plant_tree(&mut self, call: u32, request: cases::Tree) {
        self.log.push(format!("{call}: {:?}", request.value));
    }
    fn watch_growth(&mut self, call: u32, request: golden::WatchRequest) {
        self.log.push(format!("{call}: {:?}", request.id));
    }
    fn invoke_(&mut self, call: u32, _: cases::Empty) {
        self.log.push(format!("{call}: nothing"));
    }
}

/// Encodes and dispatches at once.
impl TreeService::Client for Gardener {
    type Call = u32;
    type Error = CallError;
    fn invoke(&mut self, request: TreeService::Request) -> Result<u32, CallError> {
        let request = TreeService::Request::decode(request.method_id(), &request.encode())?;
        TreeService::Host::dispatch(self, 7, request);
        Ok(7)
    }
}

#[test]
fn services_call_by_type() {
    use TreeService::Client;
    let mut both = Gardener::default();
    let tree = cases::Tree { value: Some(cases::Tree_ValueOneof::Number(3)), ..Default::default() };
    assert_eq!(Client::plant_tree(&mut both, tree), Ok(7));
    assert_eq!(
        Client::watch_growth(&mut both, golden::WatchRequest { id: Some(9), ..Default::default() }),
        Ok(7)
    );
    assert_eq!(Client::invoke_(&mut both, cases::Empty::default()), Ok(7));
    assert_eq!(both.log, ["7: Some(Number(3))", "7: Some(9)", "7: nothing"]);
    let names: Vec<_> = TreeService::METHODS.iter().map(|m| (m.id, m.name, m.streaming)).collect();
    assert_eq!(names, [(1, "PlantTree", false), (2, "WatchGrowth", true), (3, "Invoke", false)]);
    assert!(matches!(TreeService::Response::decode(2, &[0]), Err(CallError::Decode(_))));
}

#[test]
fn readers_take_packed_and_lone_elements_alike() {
    // r_int32 = 101 packed [1, 2], then alone 3; p_int32 = 2001 alone 4.
    let bytes = [0xaa, 6, 2, 1, 2, 0xa8, 6, 3, 0x88, 0x7d, 4];
    let got: Vec<_> =
        cases::ScalarsReader::new(&bytes).iter().map(|f| format!("{:?}", f.unwrap())).collect();
    assert_eq!(got, ["RInt32(1)", "RInt32(2)", "RInt32(3)", "PInt32(4)"]);
    // A known number of a foreign wire type is unknown, not an error.
    let foreign = [0x0d, 1, 2, 3, 4];
    assert!(matches!(
        cases::ScalarsReader::new(&foreign).iter().next(),
        Some(Ok(cases::ScalarsReaderField::Unknown(field))) if field.number == 1
    ));
}

#[test]
fn groups_maps_and_extensions() {
    use protozero::Extendable;
    let mut base = ext::Base {
        name: Some("b".into()),
        part: Some(ext::Base_Part {
            weight: Some(1),
            screw: vec![ext::Base_Part_Screw { size: Some(2), ..Default::default() }],
            ..Default::default()
        }),
        by_name: [("x".to_owned(), cases::Level::High)].into(),
        pick: Some(ext::Base_PickOneof::Choice(ext::Base_Choice {
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
    assert_eq!(ext::Base::decode(&bytes).as_ref(), Ok(&base));
    // Declared in a message, a group, and beside messages; another file's type.
    base.set_extension(&ext::PRIORITY, &7);
    base.set_extension(&ext::PACKED_ONES, &[-1, 1]);
    base.set_extension(&ext::Scope::INNER, &ext::Scope { value: Some(3), ..Default::default() });
    let tree = cases::Tree { value: Some(cases::Tree_ValueOneof::Number(3)), ..Default::default() };
    base.set_extension(&ext::TREE, &tree);
    let bytes = base.encode_to_vec();
    let again = ext::Base::decode(&bytes).unwrap();
    assert_eq!(again.extension(&ext::PRIORITY), Ok(Some(7)));
    assert_eq!(again.extension(&ext::PACKED_ONES), Ok(vec![-1, 1]));
    assert_eq!(again.extension(&ext::TREE), Ok(Some(tree)));
    assert_eq!(again.extension(&ext::Scope::INNER).unwrap().unwrap().value, Some(3));
    assert_eq!(again.extension(&ext::TAGS), Ok(vec![]));
    assert_eq!(ext::Scope::BOLT.name(), "cases.ext.Scope.bolt");
}
