//! Info objects (MPI-3.1, chapter 9).
