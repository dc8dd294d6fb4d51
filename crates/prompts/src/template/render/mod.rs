//! Renders a template once. Values that look like a template stay text. A rendering cannot read
//! files or the environment, executes a bounded number of instructions and produces a bounded
//! amount of text. Knows nothing of the library.

pub(crate) mod bounded_writer;
pub(crate) mod cache;
pub(crate) mod render_prompt;

use std::{
    borrow::Cow,
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use deliberate_core::{PromptFence, did_you_mean};
use minijinja::{AutoEscape, Environment, UndefinedBehavior, syntax::SyntaxConfig, value::Value};
use serde_json::Value as Json;

use super::{
    TemplateValues,
    error::{TemplateError, TemplateFault, TemplateLocation, explain, undefined_name},
    filter::{
        FENCE_FILTER, FENCE_VARIABLE, RenderUsage, add_all, add_size_guard, check_copies,
        largest_copied, output_too_large,
    },
    preprocess::{PreprocessedTemplate, preprocess},
    value::{ValueSizeBudget, ValueTooLarge, from_json, write_text},
};
use crate::{
    EngineLimits,
    model::{ArgumentDefinition, TemplateSource},
};
use bounded_writer::{BYTE_COUNT_VARIABLE, BoundedWriter, bytes_written};
use cache::{CompiledTemplate, TemplateCache};

/// The maximum nesting of macros and loops.
const MAX_RECURSION: usize = 64;

/// Renders templates within the limits of the engine, and caches compiled templates.
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
    pub fn new(limits: &EngineLimits) -> Self {
        Self {
            limits: limits.clone(),
            base: base_environment(limits),
            cache: TemplateCache::default(),
        }
    }

    /// Renders a template with values. A null value was declared but not given. Includes of prompts
    /// or scripts are errors; see [`Self::render_prompt`] for those.
    pub fn render(
        &self,
        text: &TemplateSource,
        prompt_id: &str,
        values: &TemplateValues,
        fence: &PromptFence,
    ) -> Result<String, TemplateError> {
        let compiled = self.get_compiled(text, prompt_id)?;
        if let Some(template_include) = compiled.preprocessed.includes.first() {
            let fault = TemplateFault::at_byte(
                template_include.offset,
                "prompts and scripts cannot be included here",
            );
            let help = "include them in the template of a prompt";
            return Err(to_template_error(&fault.with_help(help), text, prompt_id));
        }
        let scope = TemplateScope {
            values,
            declared: &[],
            includes: BTreeMap::new(),
            fence,
        };
        self.run(&compiled, text, prompt_id, &scope)
    }

    /// Returns the error in a template, if any, before it is given values.
    pub fn compile_check(&self, text: &TemplateSource, prompt_id: &str) -> Option<TemplateError> {
        self.get_compiled(text, prompt_id).err()
    }

    /// Returns the names that a template uses but does not set; none if the template is invalid.
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
        let most = self.limits.rendered_bytes;
        let largest = largest_copied(prepared.most_copies, most);
        if largest < most {
            if prepared.has_captures {
                // Captured text is no variable whose size is limited.
                let message = "too many operators that copy values in one tag";
                return Err(TemplateFault::at_byte(0, message)
                    .with_help("assign parts of it to variables first"));
            }
            add_size_guard(&mut environment, largest, most);
        }
        if !prepared.has_captures {
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
        names.extend(prepared.sliced.iter().cloned());
        for (global, _) in environment.globals() {
            names.remove(global);
        }
        for include in &prepared.includes {
            names.remove(&include.variable);
        }
        Ok(CompiledTemplate {
            preprocessed: prepared,
            environment,
            names,
        })
    }

    /// Renders a compiled template, with the values of its includes in the scope.
    pub(super) fn run(
        &self,
        compiled: &CompiledTemplate,
        text: &TemplateSource,
        prompt_id: &str,
        template_scope: &TemplateScope<'_>,
    ) -> Result<String, TemplateError> {
        let mut scope = BTreeMap::new();
        for name in &compiled.names {
            if let Some(value) = template_scope.get(name) {
                scope.insert(name.clone(), from_json(value));
            }
        }
        let known: Vec<&str> = template_scope.names().collect();
        scope.extend(template_scope.includes.clone());
        let mut writer = BoundedWriter::new(&self.limits, text.body.len());
        scope.insert(BYTE_COUNT_VARIABLE.to_owned(), writer.count());
        let mut environment = Cow::Borrowed(&compiled.environment);
        if compiled.preprocessed.source.contains(FENCE_FILTER) {
            // A global, because macros do not see the scope.
            let nonce = template_scope.fence.nonce();
            environment.to_mut().add_global(FENCE_VARIABLE, nonce);
        }
        let most_copies = compiled.preprocessed.most_copies;
        let outcome = check_copies(most_copies, scope.values(), self.limits.rendered_bytes)
            .and_then(|()| environment.get_template(""))
            .and_then(|template| template.render_captured_to(scope, &mut writer).map(drop));
        match outcome {
            Ok(()) => Ok(writer.into_text()),
            Err(error) => {
                let error = if writer.has_overflowed() {
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

/// The values that a template can access.
pub(super) struct TemplateScope<'a> {
    /// The values that were given.
    pub(super) values: &'a TemplateValues,
    /// The arguments that were declared, given or not.
    pub(super) declared: &'a [ArgumentDefinition],
    /// The included values, by variable name.
    pub(super) includes: BTreeMap<String, Value>,
    /// The fence of the call.
    pub(super) fence: &'a PromptFence,
}

impl TemplateScope<'_> {
    /// Returns the value of a name; null if it is declared but has no value.
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

/// Creates the environment that all templates share, without any template.
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

/// Sets the formatter of values. Captured text is printed again, so it may be counted `times`
/// times.
fn set_formatter(environment: &mut Environment<'static>, most: usize, times: usize) {
    environment.set_formatter(move |out, state, value| {
        // Without captures, the bytes written are known, and so is the location that exceeds the
        // limit.
        let before = if times == 1 { bytes_written(state) } else { 0 };
        let mut budget = ValueSizeBudget(most.saturating_sub(before));
        write_text(value, out, &mut budget).map_err(|ValueTooLarge| output_too_large())?;
        let used = state.get_or_insert_extension_with(RenderUsage::default);
        used.count_printed(most - before - budget.0, most.saturating_mul(times))
    });
}

/// Converts an error of the template engine to an error in the original template.
fn to_fault(
    error: &minijinja::Error,
    prepared: &PreprocessedTemplate,
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
            None => format!("declare `{root}` as an argument, or pass it"),
        });
    }
    TemplateFault {
        location: at,
        message,
        help,
    }
}

/// Adds the file and prompt of the template to an error.
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
