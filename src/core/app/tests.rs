//! Tests of described applications through the public interface of `app`: files, calls, exact errors.

mod driver;
mod errors;
mod expressions;
mod fuzz;
mod statements;
mod timers;
mod workloads;
