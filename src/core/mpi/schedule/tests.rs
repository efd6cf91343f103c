//! Runs the schedules of all ranks on symbolic data and checks who ends with what.

mod formulas;
mod outputs;
mod symbolic;
