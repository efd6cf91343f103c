//! The module as its users meet it: files in, calls out, errors word by word.

mod driver;
mod errors;
mod expressions;
mod fuzz;
mod statements;
mod timers;
mod workloads;
