//! The prompt engine, from outside.
