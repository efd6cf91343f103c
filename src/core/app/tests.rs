//! Tests of the module through its public interface: files, calls, exact errors.

mod driver;
mod errors;
mod expressions;
mod fuzz;
mod statements;
mod timers;
mod workloads;
