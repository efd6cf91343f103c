//! Runs the schedules of all ranks on symbolic data and checks the outputs of all ranks.

mod formulas;
mod outputs;
mod symbolic;
