//! Entry point of the `mcpsim` program; the implementation is the library's `cli`.

#[global_allocator]
static ALLOCATOR: mcpsim::cli::ReportingAllocator = mcpsim::cli::ReportingAllocator;

fn main() -> std::process::ExitCode {
    mcpsim::cli::main()
}
