//! Datatypes against layouts derived by hand and against a naive type map.

mod arrays;
mod errors;
mod external;
mod layouts;
mod naive;
mod random;
