//! Links libc: the C runtime calls `main`, and without std no other crate links libc. On a machine
//! without an operating system there is no libc, and the program begins at `main`.
fn main() {
    if std::env::var("CARGO_CFG_TARGET_OS").as_deref() == Ok("none") {
        println!("cargo:rustc-link-arg-bins=--entry=main");
    } else {
        println!("cargo:rustc-link-lib=c");
    }
}
