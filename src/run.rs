//! A simulation run: the request ([`RunRequest`]), the resolved form of the request ([`Resolved`]), and the result
//! ([`Outcome`]).
//!
//! ```text
//! RunRequest ─(read files, layer settings)─▶ Resolved ─(simulate)─▶ Outcome
//!  path, keys, settings                       Settings, PlatformSource, Application
//! ```
//!
//! All input errors are reported before the first simulated event. The module `run` prints nothing: the output of
//! simulated programs is passed to the caller's [`Console`]. A host process can execute several runs of described
//! applications or traces at a time. Real programs run one after another, because signal handlers and the state of the
//! C library are global to the process.

mod again;
mod application;
mod as_built;
mod basis;
mod collective_rules;
mod conduct;
mod described;
mod efficiency;
mod error;
mod files;
mod host;
mod inputs;
mod jobs;
mod kernels;
mod memory_bound;
mod mistake;
mod otf2;
mod other_algorithms;
mod placement;
mod real;
mod record;
mod repeat;
mod replay;
mod request;
mod resolved;
mod scale_range;
mod settings;
mod shipped;
mod trace_file;
mod typical;
mod values;
mod what_if;

pub use crate::config::InputHash;
pub use application::Application;
pub use collective_rules::with_rules;
pub use conduct::{Agreed, Conduct, Console, Prediction, agree, silent};
pub use error::{ErrorKind, PredictError};
pub use files::write_whole;
pub use host::{Stopwatch, available_memory};
pub use jobs::{COMMAND_LINE, JobSet, JobSpec, jobs_text};
pub use request::{Details, RunRequest, Sources};
pub use resolved::Resolved;
pub use scale_range::{COMPARED_KERNELS, host_scale};
pub use settings::{Given, Heading, SETTINGS, Setting, Settings};
pub use shipped::{Shipped, hides, list};
pub use trace_file::TraceFile;
pub use values::{BlockTimes, Model, PlacementChoice};

pub(crate) use application::{is_elf, is_program};
pub(crate) use files::{check_no_input, directory_of};
pub(crate) use otf2::{compile_with_otf2, run_to_end};
pub(crate) use placement::placed;

pub use crate::engine::Outcome;
