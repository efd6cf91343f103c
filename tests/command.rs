//! Tests that run the mcpsim executable: arguments, printed output, written files, and error messages for invalid
//! input.

#[path = "support/binary.rs"]
mod support;

#[path = "command/bad_input.rs"]
mod bad_input;
#[path = "command/cli.rs"]
mod cli;
#[path = "command/collective_models.rs"]
mod collective_models;
#[path = "command/foreign.rs"]
mod foreign;
#[path = "command/outputs.rs"]
mod outputs;
#[path = "command/pages.rs"]
mod pages;
#[path = "command/place.rs"]
mod place;
#[path = "command/platform.rs"]
mod platform;
#[path = "command/tasks.rs"]
mod tasks;
#[path = "command/timeline.rs"]
mod timeline;
#[path = "command/traces.rs"]
mod traces;
#[path = "command/tuning_files.rs"]
mod tuning_files;
