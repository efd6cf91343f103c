//! Described applications: a TOML language for the actions of ranks. mcpsim compiles an application once into code that
//! all ranks share. A small state machine per rank executes the code.
//!
//! ```text
//! Document ──App::load──▶ App ──bind(Target)──▶ BoundApp ──program(rank)──▶ AppProgram: MpiProgram
//!            parameters,        grids, communicators,        names, requests,
//!            all errors         folded code (shared)         a program counter
//! ```
//!
//! A task-based application (with data and computation fragments) has a table `[tasks]` instead of statements (module
//! `tasks`).
//!
//! `workloads/README.md` describes the language. A rank has no stack: procedures are not recursive, so every loop
//! variable, parameter and return address has a fixed slot (a variable index) that the compiler assigns. This module
//! does not depend on virtual time, messages in transfer or the algorithms of collectives. Module `driven` connects the
//! ranks to the engine.

mod bind;
mod code;
mod compile;
mod driven;
mod equation;
mod expr;
mod formula;
mod functions;
mod grid;
mod lexer;
mod load;
mod loops;
mod messages;
mod node;
mod parser;
mod permute;
mod program;
mod random;
mod requests;
mod results;
mod schema;
mod scope;
mod slots;
mod tasks;
mod timers;
mod value;
mod work;
mod world;

#[cfg(test)]
mod tests;

pub use bind::{BoundApp, TargetMachine};
pub use driven::DrivenApp;
pub use equation::Equation;
pub use load::App;
pub use program::{AppProgram, FragmentProgram, RankProgram};
