//! Checks of quotes: exact, fuzzy, and those that a model points to.

pub(crate) mod exact_match;
pub(crate) mod fuzzy_match;
pub(crate) mod model_quote;
pub(crate) mod quote_check;
