//! Datatypes: layouts of data in memory, and their packed form (MPI-3.1, chapter 4).
