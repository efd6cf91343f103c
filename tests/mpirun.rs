//! A simulation in several host processes, under the real `mpirun` of every MPI library of the machine. The Outcome and
//! the output are those of one process, and every failure ends all processes.
//!
//! The tests build mcpsim with the feature `mpi` for each library, in separate directories below `target`. Without a
//! library, or without the libclang for the build, they print a note and are skipped.

#[path = "mpirun/by_nodes.rs"]
mod by_nodes;
#[path = "workloads/cases.rs"]
mod cases;
#[path = "mpirun/clocks.rs"]
mod clocks;
#[path = "mpirun/failures.rs"]
mod failures;
#[path = "mpirun/hosts.rs"]
mod hosts;
#[path = "mpirun/inputs.rs"]
mod inputs;
#[path = "mpirun/jobs.rs"]
mod jobs;
#[path = "mpirun/matrix.rs"]
mod matrix;
#[path = "mpirun/measure.rs"]
mod measure;
#[path = "mpirun/programs.rs"]
mod programs;
#[path = "support/random.rs"]
mod random;
#[path = "mpirun/random_runs.rs"]
mod random_runs;
#[allow(dead_code)]
#[path = "support/real.rs"]
mod real;
#[path = "mpirun/recordings.rs"]
mod recordings;
#[path = "mpirun/results.rs"]
mod results;
#[path = "support/sends.rs"]
mod sends;
#[path = "support/binary.rs"]
mod support;
#[path = "mpirun/two_nodes.rs"]
mod two_nodes;
