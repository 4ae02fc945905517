//! Generates Rust from the schema.

use protozero_codegen::{ApiKinds, Build, BuildError};

fn main() -> Result<(), BuildError> {
    let api_kinds = ApiKinds { view: true, ..ApiKinds::ALL };
    Build::new().api_kinds(api_kinds).compile(&["proto/shop.proto"], &["proto"])
}
