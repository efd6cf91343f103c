//! The `mcpsim` program: everything is in the library's `cli`.

fn main() -> std::process::ExitCode {
    mcpsim::cli::main()
}
