//! Tests of `mcpsim measure` from outside, without MPI.

// Only a part of the support for real programs is used here.
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

/// Allocator of the program.
#[global_allocator]
static ALLOCATOR: mcpsim::cli::ReportingAllocator = mcpsim::cli::ReportingAllocator;
