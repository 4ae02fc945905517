use protozero_codegen::{FieldRow, Rows};

use super::{Files, compare, config, ftrace, root, run};

#[test]
fn generated_files_are_fresh() {
    if let Err(wrong) = run(&["--check".into()]) {
        panic!("{wrong}");
    }
}

#[test]
fn says_what_is_missing_stale_and_orphaned() {
    let map = |pairs: &[(&str, &str)]| -> Files {
        pairs.iter().map(|(k, v)| ((*k).to_owned(), (*v).into())).collect()
    };
    let wrong = compare(
        &map(&[("a.rs", "1"), ("b.rs", "1"), ("c.rs", "1")]),
        &map(&[("a.rs", "1"), ("b.rs", "2"), ("d.rs", "1")]),
    );
    assert_eq!(
        wrong.unwrap_err(),
        "b.rs is stale\nc.rs is missing\nd.rs comes from no .proto\nrun `cargo xtask codegen`"
    );
}

/// The numbers and names of the schema are a contract with every trace and every peer there is:
/// `protos/abi` freezes them, row by row, and this compares both ways.
#[test]
fn schema_is_the_frozen_one() {
    let root = root();
    let rows = protozero_codegen::rows(&config(&root).unwrap().sources).unwrap();
    let fields = rows.fields.iter().map(|r| {
        let (number, name, label, kind) = match &r.field {
            Some((number, name, label, kind)) => {
                (number.to_string(), name.as_str(), *label, kind.as_str())
            }
            None => Default::default(),
        };
        [&r.file, &r.message, &number, label, kind, name, &r.options].join("\t")
    });
    equal(&root, "fields", fields.collect());
    let enums =
        rows.enums.iter().map(|r| format!("{}\t{}\t{}\t{}", r.file, r.name, r.number, r.value));
    equal(&root, "enums", enums.collect());
    let methods = rows.methods.iter().map(|r| {
        let streams = if r.streaming { "stream" } else { "" };
        [&r.file, &r.service, &r.method, &r.request, &r.response, streams].join("\t")
    });
    equal(&root, "services", methods.collect());
}

/// Services compare in order too: a method's place is its id.
fn equal(root: &std::path::Path, table: &str, mut ours: Vec<String>) {
    let path = format!("protos/abi/{table}.tsv");
    let text = std::fs::read_to_string(root.join(&path)).unwrap();
    let mut frozen: Vec<&str> = text.lines().skip(1).collect();
    if table != "services" {
        ours.sort_unstable();
        frozen.sort_unstable();
    }
    let missing: Vec<_> = frozen.iter().filter(|row| !ours.iter().any(|o| o == *row)).collect();
    let added: Vec<_> = ours.iter().filter(|row| !frozen.contains(&row.as_str())).collect();
    assert!(
        missing.is_empty() && added.is_empty(),
        "{path}: rows the schema no longer has: {missing:#?}\nrows that are not frozen: {added:#?}"
    );
    assert_eq!(ours, frozen, "{path}: order or duplicates");
}

/// The table of a schema with these fields: file, message, number, name, type.
fn ftrace_table(fields: &[(&str, &str, u32, &str, &str)]) -> Result<String, String> {
    let row = |&(file, message, number, name, kind): &(&str, &str, u32, &str, &str)| FieldRow {
        file: format!("perfetto/trace/ftrace/{file}"),
        message: format!("perfetto.protos.{message}"),
        field: Some((number, name.into(), "optional", kind.into())),
        options: String::new(),
    };
    let rows = Rows { fields: fields.iter().map(row).collect(), ..Rows::default() };
    let text = ftrace::table(&rows, "cmd")?;
    let events = text.lines().filter(|line| line.starts_with("    E("));
    Ok(events.map(str::trim).collect::<Vec<_>>().join("\n"))
}

#[test]
fn the_table_of_ftrace_has_what_the_kernel_has() {
    const EVENT: &str = "FtraceEvent";
    let file = "ftrace_event.proto";
    let a = (file, EVENT, 9, "mali_mali_a", "message perfetto.protos.A");
    let b = (file, EVENT, 7, "b", "message perfetto.protos.B");
    let table = ftrace_table(&[
        (file, EVENT, 1, "timestamp", "uint64"),
        (file, EVENT, 327, "generic", "message perfetto.protos.Generic"),
        a,
        b,
        ("mali.proto", "A", 2, "y", "string"),
        ("mali.proto", "A", 1, "x", "int64"),
        ("fs.proto", "B", 3, "z", "bytes"),
    ]);
    let wanted = "E(\"fs\", \"b\", 7, \"z=3b\"),\nE(\"mali\", \"mali_a\", 9, \"x=1I y=2s\"),";
    assert_eq!(table.as_deref(), Ok(wanted));

    for (fields, wrong) in [
        (&[b, ("fs.proto", "B", 3, "z", "double")][..], "B.z: a field of type double"),
        (&[b, ("fs.proto", "B", 1 << 25, "z", "bytes")], "B.z: the number 33554432 is too high"),
        (&[b, ("fs.txt", "B", 3, "z", "bytes")], "fs.txt: no group"),
        (&[b], "B is missing"),
        (&[("fs.proto", "B", 3, "z", "bytes")], "FtraceEvent is missing"),
    ] {
        let table = ftrace_table(fields);
        assert!(table.as_ref().is_err_and(|e| e.ends_with(wrong)), "{table:?}");
    }
    let high = (file, EVENT, 1 << 25, "b", "message perfetto.protos.B");
    let table = ftrace_table(&[high, ("fs.proto", "B", 3, "z", "bytes")]);
    assert_eq!(
        table.unwrap_err(),
        "perfetto.protos.FtraceEvent.b: the number 33554432 is too high"
    );
}
