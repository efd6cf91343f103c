//! Links the library so that the dynamic linker initialises it first.

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rustc-cdylib-link-arg=-Wl,-z,initfirst");
}
