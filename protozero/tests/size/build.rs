//! Links libc: the C runtime calls `main`, and without std no other crate links libc.
fn main() {
    println!("cargo:rustc-link-lib=c");
}
