use proptest::prelude::*;

use super::{BYTES_MAX, Field, Format, name_of};

/// The fields of an event with these lines, as `NAME@OFFSET+LEN`, signed ones with `-`; common ones first.
fn read(lines: &str) -> Option<String> {
    let text = format!("name: e\nID: 7\nformat:\n{lines}\nprint fmt: \"field:int x;\"");
    let format = Format::parse(text.as_bytes())?;
    assert_eq!(format.id, 7);
    let show = |f: &Field<'_>| {
        let sign = if f.is_signed { "-" } else { "" };
        format!("{}@{}+{}{sign}", f.name, f.offset, f.len)
    };
    Some(format.common.iter().chain(&format.fields).map(show).collect::<Vec<_>>().join(" "))
}

#[track_caller]
fn check(lines: &str, wanted: &str) {
    let common = "\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n";
    let wanted = format!("common_type@0+2 {wanted}");
    assert_eq!(read(&format!("{common}{lines}")).as_deref(), Some(wanted.trim_end()), "{lines}");
}

#[test]
fn reads_fields() {
    check("\tfield:char comm[16];\toffset:8;\tsize:16;\tsigned:0;", "comm@8+16");
    check("\tfield:char comm[TASK_COMM_LEN];\toffset:8;\tsize:16;\tsigned:0;", "comm@8+16");
    check("field:pid_t pid; offset:24;size:4;  signed:1;", "pid@24+4-");
    check("\tfield:__data_loc char[] name;\toffset:33;\tsize:4;\tsigned:1;", "name@33+4-");
    check("\tfield:char buf[];\toffset:16;\tsize:0;\tsigned:0;", "buf@16+0");
    check("\tfield:const void * p;\toffset:16;\tsize:8;\tsigned:0;", "p@16+8");
    let two = "\n\nfield:int a;offset:1;size:2;signed:1;\nfield:int b;offset:3;size:4;signed:1;";
    check(two, "a@1+2- b@3+4-");
    // Older kernels do not print the sign last.
    check("field:int a;\toffset:0x8;\tsize:4;\tsigned:1;", "");
}

/// One line that means nothing costs its field, and no other.
#[test]
fn a_bad_line_is_left_out() {
    let good = "\n\tfield:int b;\toffset:8;\tsize:4;\tsigned:1;";
    let long = format!("field:struct {} a;offset:8;size:4;signed:1;", "x".repeat(128));
    for bad in [
        "",
        "nonsense",
        "field:",
        "field:int a",
        "field:int a;",
        "field:int a;offset:8;",
        "field:int a;offset:8;size:4;",
        "field:int a;offset:8;size:4;signed:;",
        "field:int a;size:4;offset:8;signed:1;",
        "field:int a;offset:-8;size:4;signed:1;",
        "field:int a;offset:65536;size:4;signed:1;",
        "field:int a;offset:65535;size:1;signed:1;",
        "field:int a;offset:8;size:99999999999999999999;signed:1;",
        // No name, or none of C.
        "field:int;offset:8;size:4;signed:1;",
        "field:char *x;offset:8;size:8;signed:1;",
        "field:int 1a;offset:8;size:4;signed:1;",
        "field:int a];offset:8;size:4;signed:1;",
        "field:void (*f)(int);offset:8;size:8;signed:1;",
        "field:int ä;offset:8;size:4;signed:1;",
        &long,
    ] {
        check(&format!("{bad}{good}"), "b@8+4-");
    }
    let long = format!("field:struct {} a;offset:8;size:4;signed:1;", "x".repeat(118));
    check(&long, "a@8+4-");
}

#[test]
fn needs_a_name_an_id_and_a_common_field() {
    let parse = |text: &str| Format::parse(text.as_bytes()).map(|f| (f.id, f.common.len()));
    let field = "field:int common_pid;offset:4;size:4;signed:1;";
    assert_eq!(parse(&format!("name: e\nID: 7\n{field}")), Some((7, 1)));
    assert_eq!(parse(&format!("ID: 7\nname: e\n{field}\n{field}")), Some((7, 2)));
    assert_eq!(parse(&format!("ID: 7\n{field}")), None);
    assert_eq!(parse(&format!("name: \nID: 7\n{field}")), None);
    assert_eq!(parse(&format!("name: e\n{field}")), None);
    assert_eq!(parse("name: e\nID: 7\nfield:int x;offset:4;size:4;signed:1;"), None);
    for id in ["0", "65536", "-1", "x", ""] {
        assert_eq!(parse(&format!("name: e\nID: {id}\n{field}")), None, "{id:?}");
    }
    assert_eq!(parse(&format!("name: e\nprint fmt: \nID: 7\n{field}")), None);
    assert_eq!(parse(""), None);
}

#[test]
fn bytes_that_are_no_text_cost_one_line() {
    let mut text = b"name: e\nID: 7\nfield:int \xff;offset:4;size:4;signed:1;\n".to_vec();
    text.extend_from_slice(b"field:int common_pid;offset:4;size:4;signed:1;\n");
    let format = Format::parse(&text).unwrap();
    assert_eq!((format.common.len(), format.fields.len()), (1, 0));
}

#[test]
fn an_endless_text_ends() {
    let line = "field:int common_pid;offset:4;size:4;signed:1;\n";
    let text = format!("name: e\nID: 7\n{}", line.repeat(2 * BYTES_MAX / line.len()));
    let format = Format::parse(text.as_bytes()).unwrap();
    assert_eq!(format.common.len(), (BYTES_MAX - "name: e\nID: 7\n".len()) / line.len());
}

#[test]
fn finds_names() {
    for (declaration, name) in [
        ("int a", Some("a")),
        ("unsigned long args[6]", Some("args")),
        ("char buf[]", Some("buf")),
        ("__data_loc char[] a_1", Some("a_1")),
        ("struct x * y", Some("y")),
        ("struct x *y", None),
        ("a", None),
        ("", None),
        ("]", None),
        ("int ", None),
    ] {
        assert_eq!(name_of(declaration), name, "{declaration}");
    }
}

proptest! {
    /// What the kernel could print and what it could not.
    #[test]
    fn any_text_is_read(
        lines in proptest::collection::vec(
            prop_oneof![
                any::<Vec<u8>>(),
                "field:[a-z_ ]{0,9}[\\[\\]0-9]{0,3};\toffset:[0-9]{0,6};\tsize:[0-9]{0,6};\tsigned:[01]?;"
                    .prop_map(String::into_bytes),
                "(name|ID|format|print fmt): ?[0-9a-z]{0,6}".prop_map(String::into_bytes),
            ],
            0..40,
        )
    ) {
        let text = lines.join(&b'\n');
        if let Some(format) = Format::parse(&text) {
            for field in format.common.iter().chain(&format.fields) {
                prop_assert!(field.offset.checked_add(field.len).is_some());
                prop_assert!(field.declaration.contains(field.name));
            }
        }
    }
}
