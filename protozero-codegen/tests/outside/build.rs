//! Generates the schema once for each mix of API kinds, each in its own folder.

use std::path::{Path, PathBuf};

use protozero_codegen::{ApiKinds, Build, BuildError, Grpc};

/// A folder, and the API kinds in it.
const MIXES: [(&str, &str); 9] = [
    ("writer", "writer"),
    ("reader", "reader"),
    ("owned", "owned"),
    ("writer_reader", "writer+reader"),
    ("writer_owned", "writer+owned"),
    ("reader_owned", "reader+owned"),
    ("service", "service"),
    ("descriptor", "descriptor"),
    ("all", "all"),
];

/// All schemas.
const PROTOS: [&str; 13] = [
    "two.proto",
    "three.proto",
    "edition.proto",
    "edition_2024.proto",
    "zoo/deep/names.proto",
    "zoo/deep/odd.proto",
    "1-empty.proto",
    "awkward.proto",
    "bound.proto",
    "areas/lib.proto",
    "areas/far.proto",
    "areas/near.proto",
    "greeter.proto",
];

/// Those of some mixes.
const FEW: [&str; 3] = ["proto/two.proto", "proto/three.proto", "proto/bound.proto"];

fn main() -> Result<(), BuildError> {
    let out = PathBuf::from(std::env::var_os("OUT_DIR").unwrap_or_default());
    for (folder, api_kinds) in MIXES {
        let mut build = Build::new();
        for option in
            [&format!("api_kinds={api_kinds}"), "feature=areas/lib:lib", "feature=areas/far:far"]
        {
            build = build.option(option)?;
        }
        build.out_dir(out.join(folder)).compile(&PROTOS, &["proto"])?;
    }
    // Names and structs as those of prost, for the same schemas.
    let like_prost = Build::new().api_kinds(ApiKinds::ALL).prost_names(true);
    like_prost
        .drop_unknown_fields(["."])
        .hash_map(["."])
        .plain_types(true)
        .eq_and_hash(["."])
        .out_dir(out.join("like_prost"))
        .compile(&PROTOS, &["proto"])?;
    // Strings and bytes that share the input, also in compact messages.
    let shared = Build::new().bytes(["."]).strings(["."]);
    shared.clone().out_dir(out.join("shared")).compile(&PROTOS, &["proto"])?;
    shared.compact(true).out_dir(out.join("shared_compact")).compile(&PROTOS, &["proto"])?;
    views(&out)?;
    // The generator is built without its feature `grpc` here, and says what to add.
    let refused = Build::new().grpc(Grpc::ALL).compile(&["proto/greeter.proto"], &["proto"]);
    let refused = refused.err().map(|error| error.to_string()).unwrap_or_default();
    assert!(refused.contains("add its feature `grpc`"), "{refused:?}");
    let protos = ["proto/three.proto", "proto/greeter.proto"];
    let more = ApiKinds { descriptor: false, ..ApiKinds::ALL };
    // With types of another crate in compact messages, and with these types in the same output.
    let compact = Build::new().api_kinds(more).compact(true).out_dir(out.join("compact"));
    compact.compile(&FEW, &["proto"])?;
    // Compact messages with fields of messages that are not compact.
    let mixed = Build::new().compact(true).drop_unknown_fields(["."]);
    let mixed = mixed.config(|config| config.not_compact.push("kitchen.two.Small".into()));
    mixed.out_dir(out.join("compact_mixed")).compile(&FEW, &["proto"])?;
    let alone = Build::new().option("generate_well_known")?.api_kinds(more);
    alone.out_dir(out.join("alone")).compile(&FEW, &["proto"])?;
    Build::new().api_kinds(more).out_dir(out.join("plain")).compile(&protos, &["proto"])?;
    // Messages that serde reads and writes, with the well-known types in the same output.
    let serde = Build::new().serde().option("generate_well_known")?;
    serde.out_dir(out.join("serde")).compile(&FEW, &["proto"])?;
    // A project needs only this.
    protozero_codegen::compile(&protos, &["proto"])
}

/// Structs that borrow: beside those that own, and alone, without unknown fields.
fn views(out: &Path) -> Result<(), BuildError> {
    let view = ApiKinds { view: true, ..ApiKinds::OWNED };
    Build::new().api_kinds(view).out_dir(out.join("view_owned")).compile(&PROTOS, &["proto"])?;
    let view = Build::new().api_kinds(ApiKinds { owned: false, ..view });
    let known = view.clone().generate_well_known(true);
    known.out_dir(out.join("view_known")).compile(&FEW, &["proto"])?;
    let areas = view.clone().option("feature=areas/lib:lib")?;
    let refused = areas.compile(&PROTOS, &["proto"]).err().map(|error| error.to_string());
    assert!(refused.is_some_and(|why| why.ends_with("make them without `feature`")));
    view.drop_unknown_fields(["."]).out_dir(out.join("view")).compile(&PROTOS, &["proto"])
}
