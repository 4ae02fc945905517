use protobuf::Message;
use protobuf::descriptor::source_code_info::Location;
use protobuf::descriptor::{DescriptorProto, FileDescriptorProto, FileDescriptorSet};
use protobuf::plugin::{CodeGeneratorRequest, CodeGeneratorResponse};

use super::{generate_set, plugin};
use crate::{ApiKinds, Config, Source, generate};

const TWO: &str = "syntax = \"proto2\"; package p; import \"google/protobuf/any.proto\"; \
    message A { optional group G = 1 { required int32 x = 2 [default = -3]; } \
    map<string, A> m = 3; oneof o { string s = 4; google.protobuf.Any any = 5; } extensions 9; \
    repeated sint32 packed = 6 [packed = true]; enum E { X = 1; } optional E e = 7; } \
    extend A { optional A x9 = 9; } service S { rpc M(stream A) returns (A); }";
const THREE: &str = "syntax = \"proto3\"; package p; import \"two.proto\"; \
    message B { optional int32 a = 1; string s = 2; A b = 3; repeated bool c = 4; }";
const EDITION: &str = "edition = \"2023\"; package p; option features.field_presence = IMPLICIT; \
    message C { int32 a = 1; C c = 2 [features.message_encoding = DELIMITED]; }";

fn sources() -> Vec<Source> {
    [("two.proto", TWO), ("three.proto", THREE), ("edition.proto", EDITION)]
        .map(|(path, text)| Source { path: path.into(), text: text.into() })
        .into()
}

fn config() -> Config {
    Config {
        api_kinds: ApiKinds { descriptor: false, ..ApiKinds::ALL },
        command: "protoc-gen-protozero".into(),
        names: true,
        ..Config::default()
    }
}

/// The sources as `protoc` would hand them over.
fn set() -> FileDescriptorSet {
    let set = crate::descriptor_set(&sources()).unwrap();
    FileDescriptorSet::parse_from_bytes(&set).unwrap()
}

fn ask(request: &CodeGeneratorRequest) -> CodeGeneratorResponse {
    let response = plugin(&request.write_to_bytes().unwrap());
    CodeGeneratorResponse::parse_from_bytes(&response).unwrap()
}

#[test]
fn a_request_of_protoc_gives_what_the_text_gives() {
    let mut request = CodeGeneratorRequest::new();
    request.proto_file = set().file;
    request.file_to_generate = sources().into_iter().map(|s| s.path).collect();
    request.set_parameter("api_kinds=owned+writer+reader+service".into());
    let response = ask(&request);
    assert_eq!((response.error(), response.supported_features()), ("", 3));
    // `maximum_edition`: protoc refuses files of newer ones itself.
    let newest = response.special_fields.unknown_fields().get(4);
    assert_eq!(newest, Some(protobuf::UnknownValueRef::Varint(1001)));
    let files: Vec<_> = response.file.iter().map(|f| (f.name(), f.content())).collect();
    let text = generate(&Config { sources: sources(), ..config() }).unwrap();
    let text: Vec<_> = text.iter().map(|f| (f.path.as_str(), f.text.as_str())).collect();
    let names = |files: &[(&str, &str)]| -> Vec<String> {
        let mut names: Vec<_> = files.iter().map(|f| f.0.to_owned()).collect();
        names.sort();
        names
    };
    assert_eq!(names(&files), names(&text));
    for (name, text) in text.into_iter().filter(|(name, _)| *name != "mod.rs") {
        let theirs = files.iter().find(|(other, _)| *other == name).unwrap().1;
        assert!(name.starts_with("google/") || theirs == text, "{name}");
    }
}

#[test]
fn a_switch_can_be_turned_off() {
    let mut config = config();
    let mut open = |option: &str| {
        super::set(&mut config, option).unwrap();
        config.open_enums
    };
    assert!(open("open_enums") && !open("open_enums=false") && open("open_enums=true"));
    super::set(&mut config, "names=false").unwrap();
    assert!(!config.names);
    super::set(&mut config, "compact").unwrap();
    assert!(config.compact);
}

#[test]
fn a_set_gives_the_same_as_a_request() {
    let files = generate_set(&config(), &set().write_to_bytes().unwrap()).unwrap();
    assert!(!files.iter().any(|f| f.path.starts_with("google/")));
    let all = Config { generate_well_known: true, ..config() };
    let files = generate_set(&all, &set().write_to_bytes().unwrap()).unwrap();
    assert!(files.iter().any(|f| f.path == "google/protobuf/any.rs"));
    assert!(files.iter().any(|f| f.text.contains("group")));
    let odd = generate_set(&config(), b"\xff").unwrap_err().to_string();
    assert!(odd.starts_with("descriptor set:0:0: not a descriptor set"), "{odd}");
}

#[test]
fn options_and_errors_reach_protoc() {
    let mut request = CodeGeneratorRequest::new();
    request.proto_file = set().file;
    request.file_to_generate = vec!["three.proto".into()];
    request.set_parameter("api_kinds=writer,root=crate::x,open_enums,generate_well_known".into());
    let response = ask(&request);
    let names: Vec<_> = response.file.iter().map(|f| f.name()).collect();
    // What it uses of other files is made as well.
    assert_eq!(names, ["google/protobuf/any.rs", "two.rs", "three.rs", "mod.rs"]);
    let two = response.file[1].content();
    assert!(two.contains("crate::x::google::protobuf::AnyWriter"), "{two}");
    assert!(!two.contains("protozero::Message"));
    request.set_parameter("api_kinds=writer,types=crate::known".into());
    let response = ask(&request);
    let names: Vec<_> = response.file.iter().map(|f| f.name()).collect();
    assert_eq!(names, ["two.rs", "three.rs", "mod.rs"]);
    let two = response.file[0].content();
    assert!(two.contains("crate::known::google::protobuf::AnyWriter"), "{two}");
    let mut text = |parameter: &str| {
        request.set_parameter(parameter.into());
        let response = ask(&request);
        assert_eq!(response.error(), "", "{parameter}");
        response.file[1].content().to_owned()
    };
    assert_eq!(text("api_kinds=writer,reader,root=x"), text("root=x,api_kinds=writer+reader"));
    assert_ne!(text("api_kinds=writer,reader,root=x"), text("root=x,api_kinds=writer"));
    assert!(text("api_kinds=reader,lazy_utf8,root=x").contains("Text<'a>"));
    assert!(!text("api_kinds=reader,lazy_utf8=false,root=x").contains("Text<'a>"));
    assert!(text("api_kinds=view,root=x").contains("Borrowed<'a>"));
    assert!(!text("api_kinds=all,root=x").contains("Borrowed<'a>"));
    let mut error = |parameter: &str| {
        request.set_parameter(parameter.into());
        ask(&request).error().to_owned()
    };
    assert_eq!(error("colour"), "option colour is not known");
    assert_eq!(error("types=1"), "types is a path such as ::sdk::types, not \"1\"");
    assert!(error("api_kinds=owned+all+x").starts_with("\"x\" is not an API kind; there are"));
    assert_eq!(error("feature=x"), "feature wants PREFIX:NAME");
    assert!(error("api_kinds=view,feature=x:y").ends_with("make them without `feature`"));
    assert_eq!(error("bytes"), "bytes wants a name of the schema, or `.`");
    let nothing = "p.B.none:0:0: nothing in the schema has this name, to hold as Bytes";
    assert_eq!(error("root=x,bytes=p.B.none"), nothing);
    assert_eq!(error("root=x,bytes=.,bytes=p.B"), "");
    assert_eq!(error("strings"), "strings wants a name of the schema, or `.`");
    let nothing = "p.B.none:0:0: nothing in the schema has this name, to hold as SharedStr";
    assert_eq!(error("root=x,strings=p.B.none"), nothing);
    assert_eq!(error("root=x,strings=.,strings=p.B"), "");
    assert_eq!(
        error("drop_unknown_fields"),
        "drop_unknown_fields wants a name of the schema, or `.`"
    );
    let nothing = "p.none:0:0: nothing in the schema has this name, to drop unknown fields of";
    assert_eq!(error("root=x,drop_unknown_fields=p.none"), nothing);
    assert_eq!(error("open_enums=no"), "open_enums is true or false, not \"no\"");
    for root in ["1", "a b", "crate::", "x;y"] {
        assert!(error(&format!("root={root}")).starts_with("root is a module such as"), "{root}");
    }
    assert_eq!(error("text_feature=a\"b"), "\"a\\\"b\" is not a name of a cargo feature");
    assert_eq!(error("text_feature"), "\"\" is not a name of a cargo feature");
    assert_eq!(error("feature=a:b c"), "\"b c\" is not a name of a cargo feature");
    assert_eq!(error("root=x,feature=:x,feature=google/:,text_feature=a-b"), "");
    assert_eq!(error("flat"), "flat wants the full name of a package, or `.`");
    request.set_parameter(String::new());
    request.file_to_generate.push("four.proto".into());
    assert_eq!(ask(&request).error(), "four.proto: wanted, but not in the request");
    let odd = CodeGeneratorResponse::parse_from_bytes(&plugin(b"\xff")).unwrap();
    assert!(odd.error().starts_with("not a request of protoc"), "{}", odd.error());
}

/// One message, whose place and comment the descriptor tells.
fn described(message: DescriptorProto) -> FileDescriptorSet {
    let mut file = FileDescriptorProto::new();
    file.set_name("a.proto".into());
    file.message_type.push(message);
    let mut at = Location::new();
    at.path = vec![4, 0];
    at.span = vec![6, 2, 9, 1];
    at.set_leading_comments(" What [it] is.\n".into());
    file.source_code_info.mut_or_insert_default().location.push(at);
    let mut set = FileDescriptorSet::new();
    set.file.push(file);
    set
}

#[test]
fn comments_and_places_come_from_the_descriptors() {
    let mut message = DescriptorProto::new();
    message.set_name("M".into());
    let files = generate_set(&config(), &described(message.clone()).write_to_bytes().unwrap());
    assert!(files.unwrap()[0].text.contains("/// What \\[it\\] is."));
    message.set_name("no name".into());
    let error = generate_set(&config(), &described(message).write_to_bytes().unwrap());
    assert_eq!(error.unwrap_err().to_string(), "a.proto:7:3: \"no name\" is no name");
}

#[test]
fn names_in_json_need_not_be_said() {
    let mut set = set();
    let three = set.file.iter_mut().find(|f| f.name() == "three.proto").unwrap();
    let fields = &mut three.message_type[0].field;
    fields.iter_mut().for_each(|f| f.clear_json_name());
    let bytes = set.write_to_bytes().unwrap();
    let from_set = generate_set(&config(), &self::set().write_to_bytes().unwrap()).unwrap();
    assert_eq!(generate_set(&config(), &bytes).unwrap(), from_set);
    let fields = &mut set.file.iter_mut().find(|f| f.name() == "three.proto").unwrap();
    fields.message_type[0].field[1].set_name("a_".into());
    fields.message_type[0].field[0].set_name("a".into());
    let error = generate_set(&config(), &set.write_to_bytes().unwrap()).unwrap_err();
    assert_eq!(error.message, "a_ and a have the same name in JSON");
    // `deprecated_legacy_json_field_conflicts`, which the descriptor types do not know.
    let three = set.file.iter_mut().find(|f| f.name() == "three.proto").unwrap();
    let options = three.message_type[0].options.mut_or_insert_default();
    options.special_fields.mut_unknown_fields().add_varint(11, 1);
    generate_set(&config(), &set.write_to_bytes().unwrap()).unwrap();
}

#[test]
fn an_import_that_is_no_plain_path_is_an_error_of_who_imports() {
    for path in crate::parse::tests::NOT_PLAIN {
        // `two.proto` goes by this path, and `three.proto` imports it, in its fourth line.
        let mut set = set();
        set.file.iter_mut().find(|f| f.name() == "two.proto").unwrap().set_name(path.into());
        let three = set.file.iter_mut().find(|f| f.name() == "three.proto").unwrap();
        three.dependency[0] = path.into();
        let mut at = Location::new();
        at.path = vec![3, 0];
        at.span = vec![3, 0, 20];
        three.source_code_info.mut_or_insert_default().location.push(at);
        let start = format!("three.proto:4:1: {path:?} is not a plain path: ");
        let error = generate_set(&config(), &set.write_to_bytes().unwrap()).unwrap_err();
        assert!(error.to_string().starts_with(&start), "{error}");
        let mut request = CodeGeneratorRequest::new();
        request.proto_file = set.file;
        request.file_to_generate = vec!["three.proto".into()];
        let response = ask(&request);
        assert!(response.error().starts_with(&start), "{}", response.error());
    }
}

#[test]
fn hostile_descriptors_are_errors() {
    let check = |change: &dyn Fn(&mut FileDescriptorProto)| {
        let mut set = set();
        let two = set.file.iter_mut().find(|f| f.name() == "two.proto");
        change(two.unwrap());
        let bytes = set.write_to_bytes().unwrap();
        generate_set(&config(), &bytes).map_or_else(|e| e.message, |_| "no error".into())
    };
    let errors = [
        check(&|f| f.set_syntax("proto9".into())),
        check(&|f| f.set_package("a b".into())),
        check(&|f| f.set_name("../x.proto".into())),
        check(&|f| f.message_type[0].field[0].set_number(-1)),
        check(&|f| f.message_type[0].field[0].set_name("r#type".into())),
        check(&|f| f.message_type[0].field[0].set_type_name(".p.None".into())),
        check(&|f| f.message_type[0].field[0].clear_type_name()),
        check(&|f| f.message_type[0].field[0].set_oneof_index(77)),
        check(&|f| f.message_type[0].field[0].type_ = Some(protobuf::EnumOrUnknown::from_i32(99))),
        check(&|f| f.message_type[0].nested_type[1].field.truncate(1)),
        check(&|f| f.message_type[0].enum_type[0].value.clear()),
        check(&|f| f.message_type[0].extension_range[0].set_end(i32::MIN)),
        check(&|f| f.service[0].method[0].set_input_type(".p.A.E".into())),
        check(&|f| f.dependency.push("two.proto".into())),
    ];
    insta::assert_snapshot!(errors.join("\n"));
}

#[test]
fn what_others_make_is_not_made_and_attributes_are_put_where_they_belong() {
    let mut request = CodeGeneratorRequest::new();
    request.proto_file = set().file;
    request.file_to_generate = vec!["three.proto".into()];
    let options = [
        "extern=two.proto:::other::schema",
        "runtime=::sdk::protozero",
        "message_attribute=p.B:#[derive(Eq)]",
        "field_attribute=p.B.s:#[cfg(all())]",
        "enum_attribute=.:#[repr(transparent)]",
    ];
    request.set_parameter(options.join(","));
    let response = ask(&request);
    assert_eq!(response.error(), "");
    let names: Vec<_> = response.file.iter().map(|f| f.name()).collect();
    assert_eq!(names, ["three.rs", "mod.rs"]);
    let text = response.file[0].content();
    assert!(response.file[1].content().contains("use ::sdk::protozero as protozero;"));
    for wanted in [
        "#[derive(Eq)]\npub struct B {",
        "#[cfg(all())]\n    pub s: String,",
        "pub b: Option<::other::schema::p::A>,",
        "b = 3 as Nested(::other::schema::p::A);",
    ] {
        assert!(text.contains(wanted), "{wanted} in\n{text}");
    }
}

#[test]
fn paths_and_attributes_that_are_none_are_refused() {
    for (option, reason) in [
        ("extern=a.proto", "extern wants PREFIX:MODULE"),
        ("extern=a.proto:not a path", "extern wants PREFIX:MODULE"),
        ("extern=:::other::schema", "extern wants PREFIX:MODULE"),
        ("runtime=", "runtime is a path"),
        ("message_attribute=p.B", "message_attribute wants NAME:#[...]"),
        ("enum_attribute=p.E:derive(Eq)", "enum_attribute wants NAME:#[...]"),
        ("field_attribute=p.B.s:", "field_attribute wants NAME:#[...]"),
    ] {
        let mut request = CodeGeneratorRequest::new();
        request.set_parameter(option.into());
        assert!(ask(&request).error().contains(reason), "{option}: {}", ask(&request).error());
    }
    let config = Config { message_attributes: vec![("p".into(), "#[".into())], ..config() };
    let error = generate(&Config { sources: sources(), ..config }).unwrap_err();
    assert!(error.to_string().contains("not attributes"), "{error}");
    let config = Config { externs: vec![(String::new(), "::x".into())], ..self::config() };
    let error = generate(&Config { sources: sources(), ..config }).unwrap_err();
    assert!(error.to_string().contains("without a prefix"), "{error}");
}

#[test]
fn attributes_of_nothing_are_refused() {
    let with = |option: &str| {
        let mut request = CodeGeneratorRequest::new();
        request.proto_file = set().file;
        request.file_to_generate = request.proto_file.iter().map(|f| f.name().into()).collect();
        request.set_parameter(option.into());
        ask(&request).error().to_owned()
    };
    for name in [".", "", "p", ".p", "p.A", "p.A.o", "p.A.E", "p.B"] {
        for option in ["message_attribute", "enum_attribute", "field_attribute"] {
            assert_eq!(with(&format!("{option}={name}:#[cfg(all())]")), "", "{name}");
        }
    }
    assert_eq!(with("field_attribute=p.B.s:#[cfg(all())],field_attribute=p.A.s:#[cfg(all())]"), "");
    assert_eq!(with("field_attribute=p.B.unknown_fields:#[cfg(all())]"), "");
    for option in [
        "message_attribute=nope.X:#[derive(Eq)]",
        "message_attribute=p.Bb:#[derive(Eq)]",
        "message_attribute=p.B.s:#[derive(Eq)]",
        "enum_attribute=p.A.E.X:#[derive(Eq)]",
        "field_attribute=p.B.t:#[derive(Eq)]",
    ] {
        assert!(with(option).contains("nothing in the schema has this name"), "{option}");
    }
}
