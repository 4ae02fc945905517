//! Compiles the shared sources as loom's: the flag is for this package alone, so that loom's own
//! dependencies are built as usual.

fn main() {
    println!("cargo::rustc-cfg=loom");
}
