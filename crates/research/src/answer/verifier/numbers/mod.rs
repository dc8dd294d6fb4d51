//! Checks of numbers: parsing, equality, ranges, units, and roles.

pub(crate) mod consistency;
pub(crate) mod equality;
pub(crate) mod number;
pub(crate) mod number_words;
pub(crate) mod parser;
pub(crate) mod ranges;
pub(crate) mod roles;
pub(crate) mod units;
