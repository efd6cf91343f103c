//! The compiler wrapper: behaves like `mpicc`, and makes programs that `image` can load.
