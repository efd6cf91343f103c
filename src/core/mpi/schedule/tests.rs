//! Runs the schedules of all ranks on symbolic data and checks the outputs.

mod formulas;
mod outputs;
mod symbolic;
