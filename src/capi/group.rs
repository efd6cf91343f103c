//! Groups of ranks (MPI-3.1, section 6.3).
