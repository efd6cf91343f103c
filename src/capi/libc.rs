//! What a rank must not share of the C library: exit, time, standard streams.
