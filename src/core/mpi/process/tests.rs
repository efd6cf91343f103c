//! Runs MPI programs on an engine without time, see [`engine`].

mod calls;
mod engine;
mod matching;
