//! `mcpsim measure` from outside, without MPI.

// Not all of what tests of real programs share is of use here.
#[allow(dead_code)]
#[path = "support/real.rs"]
mod real;
#[path = "support/binary.rs"]
mod support;

#[path = "measuring/layers.rs"]
mod layers;
#[path = "measuring/measure.rs"]
mod measure;
#[path = "measuring/pages.rs"]
mod pages;

/// The program's own.
#[global_allocator]
static ALLOCATOR: mcpsim::cli::ReportingAllocator = mcpsim::cli::ReportingAllocator;
