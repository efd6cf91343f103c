//! A compiled program, loaded once a rank, each with globals of its own.
