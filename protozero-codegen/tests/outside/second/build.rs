//! A schema that imports another crate's, which is not made again.

use protozero_codegen::{ApiKinds, Build, BuildError};

fn main() -> Result<(), BuildError> {
    Build::new()
        .api_kinds(ApiKinds { descriptor: false, ..ApiKinds::ALL })
        .extern_path("three.proto", "::outside::plain")
        .types("::outside::protozero_types")
        .runtime("::outside::protozero")
        .bytes(["second.Blob"])
        .message_attribute("second.Order", "#[derive(Eq, Hash)]")
        .type_attribute(".", "#[must_use]")
        .field_attribute("second.Order.price", "#[doc(alias = \"cost\")]")
        .compile(&["proto/second.proto"], &["proto", "../proto"])
}
