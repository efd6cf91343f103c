//! mcpsim predicts how long an MPI program would take on a multi-core cluster, and why.
//!
//! As a library, mcpsim starts from a [`run::RunRequest`], which names an application and overrides keys of the
//! application and platform files. [`run::RunRequest::resolve`] yields the simulated machine and the settings;
//! [`run::Resolved::run`] yields an [`run::Outcome`].
//!
//! ```
//! # fn main() -> Result<(), mcpsim::run::PredictError> {
//! use mcpsim::run::RunRequest;
//!
//! let jacobi = RunRequest::new("workloads/jacobi3d.toml").set("run.nct=4,2,2")?.set("app.n=64")?;
//! let today = jacobi.resolve()?.run()?;
//! let faster = jacobi.set("platform.inter_node.latency=500ns")?.resolve()?.run()?;
//! println!("{} instead of {}", faster.predicted, today.predicted);
//! assert!(faster.predicted < today.predicted);
//! assert_eq!(today.ranks, 16);
//! // The exported JSON reads back as the same outcome.
//! let json = serde_json::to_string(&today).expect("an outcome has a JSON form");
//! assert_eq!(serde_json::from_str::<mcpsim::run::Outcome>(&json).expect("it reads back"), today);
//! # Ok(())
//! # }
//! ```
//!
//! Input errors, and simulations that end without a prediction, are returned as a [`run::PredictError`].
//!
//! The modules of the library are listed in the order of their dependencies. A module uses only the modules above it,
//! which `tests/tidy.rs` checks. ARCHITECTURE.md has a diagram of the modules.

#[doc(inline)]
pub use mcpsim_core::{app, config, engine, mpi, platform, profile, rank, trace, units};

#[doc(inline)]
pub use mcpsim_matrices as matrices;

#[doc(inline)]
pub use mcpsim_measure as measure;

#[doc(inline)]
pub use mcpsim_revisions as revisions;

#[doc(inline)]
pub use mcpsim_real::{as_built, cc, loader, mpi_api, process};

pub mod run;

pub mod study;

pub mod report;

pub mod cli;
