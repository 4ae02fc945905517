use super::Library;

fn mutate(text: &str) -> (String, Library) {
    let mut library = Library::default();
    let (mutated, _) = library.insert_calls(text, "f.rs", false);
    (mutated, library)
}

#[test]
fn public_functions_get_a_panic_each() {
    let text = "pub const fn a() {\n}\nfn private() {\n}\nimpl B {\n    pub fn b(\n        \
                self,\n    ) -> u8\n    where\n        X: Y,\n    {\n    }\n}\n\
                impl T for B {\n    fn t(&self) {}\n    fn declared(&self);\n}\n";
    let (mutated, library) = mutate(text);
    assert_eq!(library.places, ["f.rs: a", "f.rs: b", "f.rs: t"]);
    assert!(mutated.starts_with("pub fn a() { crate::mutated::at_0();\n"));
    assert!(mutated.contains("    { crate::mutated::at_1();\n"));
    assert!(mutated.contains("fn t(&self) { crate::mutated::at_2(); }\n"));
    assert_eq!(mutated.matches("mutated").count(), 3);
}

#[test]
fn what_needs_a_feature_is_left_alone() {
    let text = "#[cfg(feature = \"alloc\")]\nimpl A {\n    pub fn a() {\n    }\n}\n\
                #[cfg(not(feature = \"std\"))]\npub fn b() {\n}\n\
                #[cfg(all(test, feature = \"alloc\"))]\nmod tests;\nmod c;\n\
                impl fmt::Debug for B {\n    fn fmt(&self) {\n    }\n}\n";
    let mut library = Library::default();
    let (_, modules) = library.insert_calls(text, "f.rs", false);
    assert_eq!(library.places, ["f.rs: b"]);
    assert_eq!(modules, ["c"]);
}

#[test]
fn what_macros_make_has_to_be_named() {
    let text = "macro_rules! m {\n    () => {\n        pub fn a() {\n        }\n    };\n}\n\
                scalars! {\n    b, packed_b, u8;\n    c -> u8 = |v| v;\n}\npub fn d() {\n}\n";
    let (_, library) = mutate(text);
    let named: Vec<&str> = library.named.iter().map(|(_, name)| name.as_str()).collect();
    assert_eq!(named, ["a", "b", "packed_b", "c"]);
    assert_eq!(library.places, ["f.rs: d"]);
}
