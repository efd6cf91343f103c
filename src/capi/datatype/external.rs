//! External
