//! Reduction operations (MPI-3.1, section 5.9).
