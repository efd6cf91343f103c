//! Generates the MPI functions of the library.

#[path = "../openmpi/generate.rs"]
mod generate;

fn main() {
    let header = "../real/cc/include/mcpsim_functions.h";
    println!("cargo::rerun-if-changed={header}");
    println!("cargo::rerun-if-changed=../openmpi/generate.rs");
    println!("cargo::rerun-if-changed=../openmpi/generate_large.rs");
    println!("cargo::rerun-if-changed=../openmpi/large.txt");
    println!("cargo::rustc-cdylib-link-arg=-Wl,-soname,libmpi_abi.so.1");
    let header = std::fs::read_to_string(header).expect("the header is in the repository");
    let others = include_str!("others.txt");
    let directory = std::env::var("OUT_DIR").expect("cargo sets the variable");
    std::fs::write(format!("{directory}/functions.rs"), generate::source(&header, others)).expect("room for a file");
}
