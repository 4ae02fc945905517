use protozero_codegen::{Build, BuildError, Grpc};

fn main() -> Result<(), BuildError> {
    Build::new().grpc(Grpc::ALL).compile(&["proto/echo.proto"], &["proto"])
}
