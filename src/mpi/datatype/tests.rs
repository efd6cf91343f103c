//! Compares datatypes with layouts derived by hand and with a naive type map.

mod arrays;
mod errors;
mod external;
mod layouts;
mod naive;
mod random;
