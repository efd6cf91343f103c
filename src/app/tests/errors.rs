//! Errors word by word.
