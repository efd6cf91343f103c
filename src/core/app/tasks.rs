//! Programs of fragments: `[tasks]` describes what there is to compute and what needs what; a manager on each process
//! decides where and when.
//!
//! ```text
//! [tasks] ─▶ description ─▶ build, check ─▶ graph (shared) ─▶ process: MpiProgram
//!            families,       every index,                     pipeline, store, ready, balance, farm
//!            expressions     every reference
//! ```
//!
//! A computation fragment needs data fragments, makes others, and may create further computation fragments. Once the
//! number of processes is known, all indices and references are evaluated into arrays; the run meets no expression and
//! no fault of one.

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
pub(super) use process::{Shared, TaskProgram};

/// Reads the table at `node`, to find what is wrong with it.
///
/// # Errors
/// Anything wrong that can be found without knowing the number of processes.
pub(super) fn load(node: &Node<'_>, mut scope: Scope) -> Result<(), ConfigError> {
    Description::read(node, &mut scope).map(|_| ())
}

/// Works out all fragments for a number of processes.
///
/// # Errors
/// See [`build::build`].
pub(super) fn bind(node: &Node<'_>, mut scope: Scope, target: TargetMachine) -> Result<Arc<Shared>, ConfigError> {
    let description = Description::read(node, &mut scope)?;
    let processes = target.ranks;
    let graph = build::build(&description, &scope, target)?;
    if graph.options.manager == Manager::Stealing && processes > message::MOST_THIEVES {
        return Err(node
            .error(format!("work stealing among {processes} processes, expected at most {}", message::MOST_THIEVES)));
    }
    Ok(Arc::new(Shared { graph, names: false }))
}

/// The program of a process.
pub(super) fn program(shared: &Arc<Shared>, rank: Rank, memory_share: MemoryPart) -> Box<TaskProgram> {
    Box::new(TaskProgram::new(shared.clone(), rank, memory_share))
}

/// The same with logs that name the fragments.
pub(super) fn named(shared: Arc<Shared>) -> Arc<Shared> {
    let mut shared = Arc::try_unwrap(shared).expect("no process has begun");
    shared.names = true;
    Arc::new(shared)
}
