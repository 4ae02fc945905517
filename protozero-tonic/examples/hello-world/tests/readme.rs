//! The README shows the files of this example as they are.

#[test]
fn the_readme_has_these_files() {
    let readme = include_str!("../../../README.md");
    for (name, text) in [
        ("proto/hello.proto", include_str!("../proto/hello.proto")),
        ("build.rs", include_str!("../build.rs")),
        ("src/lib.rs", include_str!("../src/lib.rs")),
        ("src/bin/server.rs", include_str!("../src/bin/server.rs")),
        ("src/bin/client.rs", include_str!("../src/bin/client.rs")),
    ] {
        let (_, after) = readme.split_once(&format!("`examples/hello-world/{name}`")).unwrap();
        let (_, block) = after.split_once("```").unwrap();
        let (shown, _) = block.split_once("\n```").unwrap();
        let (_, shown) = shown.split_once('\n').unwrap();
        assert_eq!(shown, text.trim_end(), "{name}");
    }
}
