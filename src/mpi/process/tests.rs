//! Runs MPI programs on an engine without virtual time, see [`engine`].

mod calls;
mod engine;
mod matching;
