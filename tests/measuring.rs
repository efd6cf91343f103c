//! Tests of `mcpsim measure` that need no MPI library.

// These tests use only a part of the module.
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

/// Allocator of the mcpsim executable.
#[global_allocator]
static ALLOCATOR: mcpsim::cli::ReportingAllocator = mcpsim::cli::ReportingAllocator;
