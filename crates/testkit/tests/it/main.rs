//! Checks of the house as a whole, which no lint makes.

mod house;
