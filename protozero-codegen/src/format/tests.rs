use quote::quote;

#[test]
fn what_fits_on_one_line_stands_there() {
    let text = super::format(
        "Header.",
        "a.proto",
        quote! {
            pub struct W<'w> { s: rt::Scope<'w> }
            impl W<'_> {
                /// Doc.
                #[inline]
                pub fn name(&mut self, value: &str) -> &mut Self { rt::string::<1>(&mut self.s, value); self }
                #[inline]
                #[must_use]
                pub fn branch(&self) -> u32 { if self.a { 1 } else { 2 } }
            }
            verbatim! { 1usize }
        },
        &[String::new(), "rt::reader! {\n  a b;\n}".to_owned()],
    );
    insta::assert_snapshot!(text.unwrap(), @r"
    // Header.

    pub struct W<'w> { s: rt::Scope<'w> }
    impl W<'_> {
        /// Doc.
        #[inline] pub fn name(&mut self, value: &str) -> &mut Self { rt::string::<1>(&mut self.s, value); self }
        #[inline]
        #[must_use] pub fn branch(&self) -> u32 { if self.a { 1 } else { 2 } }
    }

    rt::reader! {
      a b;
    }
    ");
}

#[test]
fn nonsense_is_an_error_not_a_file() {
    let error = super::format("Header.", "a.proto", quote! { pub fn }, &[]).unwrap_err();
    assert_eq!(error.file, "a.proto");
    assert!(error.message.starts_with("generated code does not parse"), "{error}");
}
