//! Measuring a machine: which tests ranks make, what their samples say, and the platform file that says it to others.
//!
//! Knows neither MPI nor files: ranks reach each other through a [`Port`], which a real MPI or a simulated machine is.
//!
//! ```text
//! places of ranks ─ topology ─▶ Plan ─ campaign(Port) ─▶ Samples ─ link ─▶ LinkFit ─ text ─▶ platform file
//! ```

mod campaign;
pub mod cluster;
mod fit;
mod import;
mod kernels;
mod link;
pub mod matrices;
mod occupancy;
pub mod pairs;
mod port;
mod protocol;
mod rings;
mod samples;
mod simulated;
mod statistics;
#[cfg(test)]
mod tests;
mod text;
mod topology;

pub use campaign::{LevelPlan, Plan, measure};
pub use fit::{Floor, Piece, pieces};
pub use import::{Import, Part};
pub use kernels::{Figures, Kernel, Speed};
pub use link::{Corrections, LinkFit, RowFit};
pub use occupancy::Occupancy;
pub use port::Port;
pub use protocol::Pair;
pub use samples::{Samples, Series, Test};
pub use simulated::simulate;
pub use statistics::Summary;
pub use text::Measured;
pub use topology::{Binding, Cpu, Place, Seen, bind, cpu_list, levels, places, shape, sites};
