//! Programs of fragments. The table `[tasks]` describes computations and their data dependences. At run time, a
//! manager on each process decides on which process and when a computation runs.
//!
//! ```text
//! [tasks] ─▶ description ─▶ build, check ─▶ graph (shared) ─▶ process: MpiProgram
//!            families,       every index,                     pipeline, store, ready, balance, farm
//!            expressions     every reference
//! ```
//!
//! A computation fragment needs data fragments, produces data fragments, and may create further computation fragments.
//! Once the number of processes is known, all indices and references are evaluated and stored in arrays. A run
//! evaluates no expressions, so no expression can fail during a run.

mod agenda;
mod balance;
mod build;
mod check;
mod copies;
mod description;
mod farm;
mod graph;
mod message;
mod options;
mod pipeline;
mod process;
mod ready;
mod space;
mod store;

use std::sync::Arc;

use crate::config::ConfigError;
use crate::platform::MemoryPart;
use crate::rank::Rank;

use super::bind::TargetMachine;
use super::node::Node;
use super::scope::Scope;
use description::Description;
pub(super) use options::KEYS;
use options::Manager;
pub(super) use process::{SharedTasks, TaskProgram};

/// Reads the table `[tasks]` at `node` to find errors.
///
/// # Errors
/// Any error that does not depend on the number of processes.
pub(super) fn load(node: &Node<'_>, mut scope: Scope) -> Result<(), ConfigError> {
    Description::read(node, &mut scope).map(|_| ())
}

/// Evaluates all fragments of the table at `node` for a number of processes.
///
/// # Errors
/// The errors of [`build::build`].
pub(super) fn bind(node: &Node<'_>, mut scope: Scope, target: TargetMachine) -> Result<Arc<SharedTasks>, ConfigError> {
    let description = Description::read(node, &mut scope)?;
    let processes = target.ranks;
    let graph = build::build(&description, &scope, target)?;
    if graph.options.manager == Manager::Stealing && processes > message::MOST_THIEVES {
        return Err(node
            .error(format!("work stealing among {processes} processes, expected at most {}", message::MOST_THIEVES)));
    }
    Ok(Arc::new(SharedTasks { graph, names: false }))
}

/// Creates the program of a process.
pub(super) fn program(shared: &Arc<SharedTasks>, rank: Rank, memory_share: MemoryPart) -> Box<TaskProgram> {
    Box::new(TaskProgram::new(shared.clone(), rank, memory_share))
}

/// Adds the names of the fragments to logs.
pub(super) fn named(shared: Arc<SharedTasks>) -> Arc<SharedTasks> {
    let mut shared = Arc::try_unwrap(shared).expect("no process has begun");
    shared.names = true;
    Arc::new(shared)
}
