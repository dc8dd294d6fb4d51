//! Checks of negation, modality, and contrast.

pub(crate) mod contrast;
pub(crate) mod modality;
pub(crate) mod modality_check;
pub(crate) mod negation_scope;
pub(crate) mod negative_prefixes;
pub(crate) mod polarity_check;
