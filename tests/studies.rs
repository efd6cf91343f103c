//! Tests of commands that make many runs: sweeps, shipped studies, tests over revisions, and validation.

#[path = "support/binary.rs"]
mod support;

#[path = "studies/figures.rs"]
mod figures;
#[path = "studies/revisions.rs"]
mod revisions;
#[path = "studies/shipped.rs"]
mod shipped;
#[path = "studies/sweep.rs"]
mod sweep;
#[path = "studies/validate.rs"]
mod validate;
