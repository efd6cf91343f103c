//! Tests of properties that every simulation has: equal Outcomes for any number of workers, errors, growth with the
//! number of ranks, fair shares, and traces.

#[path = "support/random.rs"]
mod random;
#[path = "support/mod.rs"]
mod support;
#[path = "support/tools.rs"]
mod tools;

#[path = "simulation/determinism.rs"]
mod determinism;
#[path = "simulation/failures.rs"]
mod failures;
#[path = "simulation/fair_shares.rs"]
mod fair_shares;
#[path = "simulation/random_runs.rs"]
mod random_runs;
#[path = "simulation/scaling.rs"]
mod scaling;
#[path = "simulation/trace_collectives.rs"]
mod trace_collectives;
#[path = "simulation/trace_damage.rs"]
mod trace_damage;
#[path = "simulation/trace_threads.rs"]
mod trace_threads;
#[path = "simulation/what_if.rs"]
mod what_if;
#[path = "simulation/workers.rs"]
mod workers;
