//! Entry point of the `mcpsim` program. The library's module `cli` has the implementation.

#[global_allocator]
static ALLOCATOR: mcpsim::cli::ReportingAllocator = mcpsim::cli::ReportingAllocator;

fn main() -> std::process::ExitCode {
    mcpsim::cli::main()
}
