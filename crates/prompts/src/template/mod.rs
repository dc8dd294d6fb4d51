//! Templates: rendered once, with values that stay values.
//!
//! The language is Jinja's, as far as prompts use it: `{{ x }}`, `if`/`elif`/`else`, `for`, `set`,
//! `macro`, `raw`, comments, and the filters of `filter`. `elseif`, `x.length`, `| dump` and
//! `for name, value in fields` work too. Two things differ from the language of older libraries:
//! an empty list is false here, and `===`, `!==`, `&&`, `||` and `!` are errors that say what to
//! write. A name that is neither declared nor given is an error; what is declared and not given
//! prints as nothing, is false, has length 0 and takes its `default`. So does a field that an
//! object does not have.
//!
//! `{{ref:prompt}}` and `{{script:id}}` put another prompt's text and a script's answer in. They
//! are found before a template is compiled and become variables, so that what they bring is never
//! rendered again.
//!
//! Knows the library only to find prompts and scripts by their ids. Reads no file, runs nothing.

mod condition;
mod error;
mod filter;
mod preprocess;
mod render;
mod value;
pub mod value_path;

use std::collections::{BTreeMap, BTreeSet};

pub use condition::{Expression, ExpressionError, ParsedCondition};
pub use error::TemplateError;
pub use preprocess::includes::{IncludeReference, IncludeTarget, find_includes};
pub use render::TemplateRenderer;
pub use render::render_prompt::{RenderedTemplates, ScriptCall};
pub use value_path::lookup;

use crate::{EngineLimits, model::TemplateSource};

/// Values by name. One that is null was declared and not given.
pub type TemplateValues = BTreeMap<String, serde_json::Value>;

/// What is wrong with a template before it is given any value. Whoever has a [`TemplateRenderer`] asks
/// that one, which remembers what it read.
pub fn compile_check(text: &TemplateSource) -> Option<TemplateError> {
    TemplateRenderer::new(&EngineLimits::default()).compile_check(text, "")
}

/// The names that a template uses and does not set itself; none if it can't be read.
pub fn names_used(text: &TemplateSource) -> BTreeSet<String> {
    TemplateRenderer::new(&EngineLimits::default()).names_used(text)
}
