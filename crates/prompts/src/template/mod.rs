//! Templates: rendered exactly once, with values that are never interpreted as templates.
//!
//! The language is the part of Jinja that prompts use: `{{ x }}`, `if`/`elif`/`else`, `for`, `set`,
//! `macro`, `raw`, comments, and the filters in `filter`. `elseif`, `x.length`, `| dump` and
//! `for name, value in fields` work too. Two things differ from the language of older libraries:
//! an empty list is false here, and `===`, `!==`, `&&`, `||` and `!` are errors that say what to
//! write instead. A name that is neither declared nor given is an error; a value that is declared
//! but not given prints as nothing, is false, has length 0 and takes its `default`. The same holds
//! for a field that an object does not have.
//!
//! `{{ref:prompt}}` and `{{script:id}}` include the text of another prompt and the output of a
//! script. They are found before a template is compiled and become variables, so that included text
//! is never rendered again.
//!
//! Uses the library only to find prompts and scripts by id. Reads no files and runs no processes.

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

/// Values by name; null means declared but not given.
pub type TemplateValues = BTreeMap<String, serde_json::Value>;

/// Returns the error in a template, if any, before it is given values. A caller with a
/// [`TemplateRenderer`] should use its method, which caches compiled templates.
pub fn compile_check(text: &TemplateSource) -> Option<TemplateError> {
    TemplateRenderer::new(&EngineLimits::default()).compile_check(text, "")
}

/// Returns the names that a template uses but does not set; none if the template is invalid.
pub fn names_used(text: &TemplateSource) -> BTreeSet<String> {
    TemplateRenderer::new(&EngineLimits::default()).names_used(text)
}
