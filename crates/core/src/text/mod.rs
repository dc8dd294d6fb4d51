//! Text utilities: truncation, letter folding, token budgets, stop words and suggestions for
//! misspelled names.

pub(crate) mod letter_folding;
pub(crate) mod person_names;
pub(crate) mod shorten;
pub(crate) mod stop_words;
pub(crate) mod suggest;
pub(crate) mod token_budget;
pub(crate) mod truncate;
pub(crate) mod truncate_json;
