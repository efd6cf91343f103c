//! Measurement of a machine: message tests between ranks, evaluation of the samples, and the resulting platform file.
//!
//! This crate calls no MPI functions and opens no files. Ranks communicate through a [`RankPort`], which a real MPI
//! library or a simulated machine implements.
//!
//! ```text
//! places of ranks ─ topology ─▶ Plan ─ campaign(Port) ─▶ Samples ─ link ─▶ LinkFit ─ text ─▶ platform file
//! ```

mod busy;
mod caches;
mod campaign;
mod classes;
mod collectives;
mod copies;
mod cores;
mod domains;
mod effects;
mod fit;
mod import;
mod infer_platform;
mod kernels;
mod library;
mod link;
mod memory_bound;
mod models;
mod node_groups;
mod occupancy;
pub mod pairs;
mod port;
mod program_memory;
mod protocol;
mod rings;
mod samples;
mod samples_csv;
mod sanity_checks;
mod shared_core;
mod simulated;
mod statistics;
mod structure;
#[cfg(test)]
mod tests;
mod text;
mod topology;

pub use caches::MeasuredCaches;
pub use campaign::{CampaignPlan, LevelPlan, WINDOW, measure, measure_levels};
pub use classes::MeasuredClasses;
pub use collectives::{CollectiveFit, CollectiveTests, Growth, GrowthForm, TimedCollective, time_collectives};
pub use cores::{Detours, MeasuredCores, PIECE, measure_cores};
pub use domains::{CoreDomains, CpuSets};
pub use effects::MeasuredEffects;
pub use fit::{FitPiece, Floor, pieces};
pub use import::{BenchmarkOutput, Import, ImportPart, ImportedKey, ImportedPlatform, MeasuredCalls, WindowSizes};
pub use infer_platform::{Guess, ReferredFiles};
pub use kernels::{Figures, Kernel, Speed};
pub use library::{MANY_BLOCKS, MeasuredLibrary, OWN_BYTES};
pub use link::{Corrections, LinkFit, RowFit};
pub use memory_bound::{CodeSeconds, HogTurn, MemoryParts, MemoryPartsError};
pub use models::{COURSE_MESSAGES, Course, LevelModels, Residual, SmallMessage, pairs_of, sample_models};
pub use node_groups::MeasuredGroups;
pub use occupancy::MeasuredOccupancy;
pub use port::{GroupPort, NeighbourMethod, RankPort, pass_over};
pub use program_memory::ProgramVec;
pub use protocol::RankPair;
pub use rings::{Effective, measure_effective};
pub use samples::{SampleSeries, Samples, Test};
pub use sanity_checks::{Judgement, doubts, doubts_of_collectives, doubts_of_rings, judged};
pub use simulated::{simulate, simulate_collectives, simulate_cores, simulate_rings};
pub use statistics::Summary;
pub use structure::{PairKind, Structure, structure};
pub use text::MeasuredMachine;
pub use topology::{
    Binding, Cpu, HostFacts, HostPlace, bind, cpu_list, levels, levels_on_own_cores, places, shape, sites,
};
