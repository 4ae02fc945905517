//! The C runtime calls `main`; without std nobody asks for libc.
fn main() {
    println!("cargo:rustc-link-lib=c");
}
