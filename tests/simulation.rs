//! What holds of any run of the engine: outcomes for any number of workers, errors, growth, shares over time, traces.

#[path = "support/mod.rs"]
mod support;

#[path = "simulation/determinism.rs"]
mod determinism;
#[path = "simulation/failures.rs"]
mod failures;
#[path = "simulation/fair_shares.rs"]
mod fair_shares;
#[path = "simulation/scaling.rs"]
mod scaling;
#[path = "simulation/trace_collectives.rs"]
mod trace_collectives;
#[path = "simulation/trace_damage.rs"]
mod trace_damage;
#[path = "simulation/workers.rs"]
mod workers;
