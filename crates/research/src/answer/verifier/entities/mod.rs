//! Checks of names: entities and domain terms that a claim replaces with others.

pub(crate) mod domain_terms;
pub(crate) mod substitution;
