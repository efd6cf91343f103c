//! Cartesian, graph and distributed-graph topologies (MPI-3.1, chapter 7).
