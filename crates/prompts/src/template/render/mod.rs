//! Renders a template once. What is given are values: text that looks like a template stays text.
//! A rendering can't read files or the environment, takes a bounded number of steps and makes a
//! bounded amount of text. Knows nothing of the library.

pub(crate) mod bounded_writer;
pub(crate) mod cache;
pub(crate) mod render_prompt;

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use deliberate_core::did_you_mean;
use minijinja::{AutoEscape, Environment, UndefinedBehavior, syntax::SyntaxConfig, value::Value};
use serde_json::Value as Json;

use super::{
    TemplateValues,
    error::{TemplateError, TemplateFault, TemplateLocation, explain, undefined_name},
    filter::{RenderUsage, add_all, output_too_large},
    preprocess::preprocess,
    value::{ValueSizeBudget, ValueTooLarge, from_json, write_text},
};
use crate::{
    EngineLimits,
    model::{ArgumentDefinition, TemplateSource},
};
use bounded_writer::{BYTE_COUNT_VARIABLE, BoundedWriter, bytes_written};
use cache::{CompiledTemplate, TemplateCache};

/// How deep macros and loops may lie in one another.
const MAX_RECURSION: usize = 64;

/// Steps that every template may take, however much text it keeps aside.
const MIN_FUEL: u64 = 2_000;

/// Renders templates.
pub struct TemplateRenderer {
    pub(super) limits: EngineLimits,
    pub(super) base: Environment<'static>,
    cache: TemplateCache,
}

impl std::fmt::Debug for TemplateRenderer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TemplateRenderer").finish_non_exhaustive()
    }
}

impl TemplateRenderer {
    /// A renderer that keeps to these limits.
    pub fn new(limits: &EngineLimits) -> Self {
        Self {
            limits: limits.clone(),
            base: base_environment(limits),
            cache: TemplateCache::default(),
        }
    }

    /// Renders a template with values. A value that is null is one that was declared and not
    /// given. Nothing can be taken in from prompts or scripts; see
    /// [`Self::render_prompt`] for that.
    pub fn render(
        &self,
        text: &TemplateSource,
        prompt_id: &str,
        values: &TemplateValues,
    ) -> Result<String, TemplateError> {
        let compiled = self.get_compiled(text, prompt_id)?;
        if let Some(taken) = compiled.preprocessed.includes.first() {
            let fault = TemplateFault::at_byte(
                taken.offset,
                "prompts and scripts can't be put in at this place",
            );
            let help = "do so in the text of a prompt";
            return Err(to_template_error(&fault.with_help(help), text, prompt_id));
        }
        let given = TemplateScope {
            values,
            declared: &[],
            includes: BTreeMap::new(),
        };
        self.run(&compiled, text, prompt_id, &given)
    }

    /// What is wrong with a template before it is given any value.
    pub fn compile_check(&self, text: &TemplateSource, prompt_id: &str) -> Option<TemplateError> {
        self.get_compiled(text, prompt_id).err()
    }

    /// The names that a template uses and does not set itself; none if it can't be read.
    pub fn names_used(&self, text: &TemplateSource) -> BTreeSet<String> {
        self.get_compiled(text, "")
            .map(|compiled| compiled.names.clone())
            .unwrap_or_default()
    }

    pub(super) fn get_compiled(
        &self,
        text: &TemplateSource,
        prompt_id: &str,
    ) -> Result<Arc<CompiledTemplate>, TemplateError> {
        self.cache
            .get(&text.body, || self.compile(&text.body))
            .map_err(|fault| to_template_error(&fault, text, prompt_id))
    }

    fn compile(&self, body: &str) -> Result<CompiledTemplate, TemplateFault> {
        let prepared = preprocess(body)?;
        let mut environment = self.base.clone();
        if let Some(longest) = prepared.longest_captured {
            // What is kept aside does not pass the bound on what is printed.
            let room = (self.limits.rendered_bytes as u64).saturating_mul(16);
            let fuel = room / (longest.max(1) as u64);
            environment.set_fuel(Some(fuel.max(MIN_FUEL).min(self.limits.fuel)));
        } else {
            set_formatter(&mut environment, self.limits.rendered_bytes, 1);
        }
        let added = environment.add_template_owned("", prepared.source.clone());
        if let Err(error) = added {
            return Err(to_fault(&error, &prepared, |_| None));
        }
        let mut names: BTreeSet<String> = environment
            .get_template("")
            .map(|template| template.undeclared_variables(false))
            .unwrap_or_default()
            .into_iter()
            .collect();
        for (global, _) in environment.globals() {
            names.remove(global);
        }
        for taken in &prepared.includes {
            names.remove(&taken.variable);
        }
        Ok(CompiledTemplate {
            preprocessed: prepared,
            environment,
            names,
        })
    }

    /// Runs a template that was read. What it takes in is given by its variables.
    pub(super) fn run(
        &self,
        compiled: &CompiledTemplate,
        text: &TemplateSource,
        prompt_id: &str,
        given: &TemplateScope<'_>,
    ) -> Result<String, TemplateError> {
        let mut scope = BTreeMap::new();
        for name in &compiled.names {
            if let Some(value) = given.get(name) {
                scope.insert(name.clone(), from_json(value));
            }
        }
        let known: Vec<&str> = given.names().collect();
        scope.extend(given.includes.clone());
        let mut written = BoundedWriter::new(&self.limits, text.body.len());
        scope.insert(BYTE_COUNT_VARIABLE.to_owned(), written.count());
        let outcome = compiled
            .environment
            .get_template("")
            .and_then(|template| template.render_captured_to(scope, &mut written).map(drop));
        match outcome {
            Ok(()) => Ok(written.into_text()),
            Err(error) => {
                let error = if written.has_overflowed() {
                    output_too_large()
                } else {
                    error
                };
                let fault = to_fault(&error, &compiled.preprocessed, |name| {
                    did_you_mean(name, known.iter().copied())
                });
                Err(to_template_error(&fault, text, prompt_id))
            }
        }
    }
}

/// What a template can see.
pub(super) struct TemplateScope<'a> {
    /// What was given.
    pub(super) values: &'a TemplateValues,
    /// What was declared, given or not.
    pub(super) declared: &'a [ArgumentDefinition],
    /// What was taken in, by the variables that stand for it.
    pub(super) includes: BTreeMap<String, Value>,
}

impl TemplateScope<'_> {
    /// The value of a name; null if it is declared and there is none.
    fn get(&self, name: &str) -> Option<&Json> {
        let declared = || {
            let argument = self.declared.iter().find(|it| it.name == name)?;
            Some(argument.default_value.as_ref().unwrap_or(&Json::Null))
        };
        let given = self.values.get(name);
        given
            .filter(|value| !value.is_null())
            .or_else(declared)
            .or(given)
    }

    fn names(&self) -> impl Iterator<Item = &str> {
        let declared = self.declared.iter().map(|it| it.name.as_str());
        self.values.keys().map(String::as_str).chain(declared)
    }
}

/// The engine as all templates see it, without any template.
pub(super) fn base_environment(limits: &EngineLimits) -> Environment<'static> {
    let mut environment = Environment::new();
    environment.set_undefined_behavior(UndefinedBehavior::Strict);
    environment.set_auto_escape_callback(|_| AutoEscape::None);
    environment.set_fuel(Some(limits.fuel));
    environment.set_recursion_limit(MAX_RECURSION);
    environment.set_debug(true);
    if let Ok(syntax) = SyntaxConfig::builder().keep_trailing_newline(true).build() {
        environment.set_syntax(syntax);
    }
    let most = limits.rendered_bytes;
    add_all(&mut environment, most);
    set_formatter(&mut environment, most, 4);
    environment
}

/// How values are printed. What is kept aside is printed again, so it may be counted some times.
fn set_formatter(environment: &mut Environment<'static>, most: usize, times: usize) {
    environment.set_formatter(move |out, state, value| {
        // With nothing kept aside, what was written is known, and so is the place that is too much.
        let before = if times == 1 { bytes_written(state) } else { 0 };
        let mut room = ValueSizeBudget(most.saturating_sub(before));
        write_text(value, out, &mut room).map_err(|ValueTooLarge| output_too_large())?;
        let used = state.get_or_insert_extension_with(RenderUsage::default);
        used.count_printed(most - before - room.0, most.saturating_mul(times))
    });
}

/// An error of the engine as a fault of the template.
fn to_fault(
    error: &minijinja::Error,
    prepared: &super::preprocess::PreprocessedTemplate,
    like: impl Fn(&str) -> Option<String>,
) -> TemplateFault {
    let at = match error.range() {
        Some(range) => TemplateLocation::Byte(prepared.original_offset(range.start)),
        None => TemplateLocation::Line(error.line().unwrap_or(1)),
    };
    let (mut message, mut help) = explain(error);
    if let Some(name) = undefined_name(error) {
        message = format!("there is no value named `{name}`");
        let root = name.split(['.', '[']).next().unwrap_or_default();
        help = Some(match like(root).filter(|known| known != root) {
            Some(known) => format!("did you mean `{known}`?"),
            None => format!("declare `{root}` among the arguments, or give it"),
        });
    }
    TemplateFault {
        location: at,
        message,
        help,
    }
}

/// A fault with the template it is in.
pub(super) fn to_template_error(
    fault: &TemplateFault,
    text: &TemplateSource,
    prompt_id: &str,
) -> TemplateError {
    let (line, column) = fault.line_and_column(&text.body);
    TemplateError {
        file: text.file.clone(),
        line: line.saturating_add(text.line.saturating_sub(1)),
        column,
        prompt: prompt_id.to_owned(),
        message: fault.message.clone(),
        help: fault.help.clone(),
    }
}
