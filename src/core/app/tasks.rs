//! Task-based programs. The table `[tasks]` describes computations and their data dependences. At run time, a task
//! manager on each MPI process decides when and on which process a computation runs.
//!
//! ```text
//! [tasks] ─▶ description ─▶ build, check ─▶ graph (shared) ─▶ process: MpiProgram
//!            families,       every index,                     pipeline, store, ready, balance, farm
//!            expressions     every reference
//! ```
//!
//! A computation fragment needs data fragments, produces data fragments, and may create further computation fragments.
//! When the number of MPI processes is known, mcpsim evaluates all indices and references and stores them in arrays. A
//! run evaluates no expressions, so no expression can fail during a run.

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
pub(super) use description::{DATA_KEYS, FRAGMENT_KEYS};
pub(super) use options::KEYS;
use options::Manager;
pub(super) use process::{SharedTasks, TaskProgram};

/// Reads the table `[tasks]` at `node` to find errors.
///
/// # Errors
/// Any error that does not depend on the number of MPI processes.
pub(super) fn load(node: &Node<'_>, mut scope: Scope) -> Result<(), ConfigError> {
    Description::read(node, &mut scope).map(|_| ())
}

/// Evaluates all fragments in the table at `node` for a number of MPI processes.
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

/// Creates the program of a simulated MPI process.
pub(super) fn program(shared: &Arc<SharedTasks>, rank: Rank, memory_share: MemoryPart) -> Box<TaskProgram> {
    Box::new(TaskProgram::new(shared.clone(), rank, memory_share))
}

/// Adds the names of the fragments to the logs of a run.
pub(super) fn named(shared: Arc<SharedTasks>) -> Arc<SharedTasks> {
    let mut shared = Arc::try_unwrap(shared).expect("no process has begun");
    shared.names = true;
    Arc::new(shared)
}
