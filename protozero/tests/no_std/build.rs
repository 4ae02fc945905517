//! The C runtime calls `main`; without std nobody asks for libc. A machine without an operating system
//! has neither: there `main` is what it begins with.
fn main() {
    if std::env::var("CARGO_CFG_TARGET_OS").as_deref() == Ok("none") {
        println!("cargo:rustc-link-arg-bins=--entry=main");
    } else {
        println!("cargo:rustc-link-lib=c");
    }
}
