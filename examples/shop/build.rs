//! Generates Rust from the schema.

use protozero_codegen::{ApiKinds, Build, BuildError};

fn main() -> Result<(), BuildError> {
    Build::new().api_kinds(ApiKinds::ALL).compile(&["proto/shop.proto"], &["proto"])
}
