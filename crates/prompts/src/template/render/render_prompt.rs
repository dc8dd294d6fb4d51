//! Renders a whole prompt: its system and user messages with their includes of other prompts and
//! scripts. Included text is a value and is never rendered again. Runs no script itself: it lists
//! the scripts that are needed and receives their output.

use std::collections::{BTreeMap, BTreeSet};

use deliberate_core::{PromptFence, did_you_mean};
use minijinja::value::Value as Inner;
use serde_json::{Map, Value};

use super::{TemplateRenderer, TemplateScope, cache::CompiledTemplate, to_template_error};
use crate::{
    library::PromptLibrary,
    model::{Prompt, TemplateSource},
    template::{
        TemplateValues,
        error::{TemplateError, TemplateFault},
        preprocess::{TemplateInclude, includes::IncludeTarget},
        value::from_json,
    },
};

/// The maximum number of prompts that one prompt includes, directly or not, and of scripts.
const MAX_INCLUDES: usize = 200;

/// The rendered messages of a prompt.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RenderedTemplates {
    /// The system message.
    pub system: Option<String>,
    /// The user message.
    pub user: String,
}

/// A script with its input. Equal calls are made once.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ScriptCall {
    /// The key of the script in the library.
    pub script: String,
    /// The input, as a JSON object.
    pub input: String,
}

impl ScriptCall {
    /// Returns the parsed input.
    pub fn input(&self) -> Map<String, Value> {
        serde_json::from_str(&self.input).unwrap_or_default()
    }
}

impl TemplateRenderer {
    /// Renders a prompt with all its includes. Arguments that are declared but not given have
    /// their default or are absent.
    pub fn render_prompt(
        &self,
        library: &PromptLibrary,
        prompt: &Prompt,
        values: &TemplateValues,
        scripts: &BTreeMap<ScriptCall, Value>,
        fence: &PromptFence,
    ) -> Result<RenderedTemplates, TemplateError> {
        let mut walk = PromptRendering {
            renderer: self,
            library,
            values,
            scripts,
            fence,
            include_path: vec![prompt.id.clone()],
            rendered: BTreeMap::new(),
        };
        let system = match &prompt.system {
            Some(text) => Some(walk.render_text(prompt, text)?),
            None => None,
        };
        let user = match &prompt.template {
            Some(text) => walk.render_text(prompt, text)?,
            None => String::new(),
        };
        Ok(RenderedTemplates { system, user })
    }

    /// Returns the script calls of a prompt and of its includes, each call once.
    pub fn script_calls(
        &self,
        library: &PromptLibrary,
        prompt: &Prompt,
    ) -> Result<Vec<ScriptCall>, TemplateError> {
        let mut calls = Vec::new();
        let mut script_calls = BTreeSet::new();
        self.visit(library, prompt, &mut |owner, text, compiled| {
            for include in &compiled.preprocessed.includes {
                if let IncludeTarget::Script { id, input, .. } = &include.target {
                    let call = resolve_script_call(library, owner, text, include, id, input)?;
                    if script_calls.insert(call.clone()) {
                        calls.push(call);
                    }
                    if calls.len() > MAX_INCLUDES {
                        let message = format!("a prompt may run at most {MAX_INCLUDES} scripts");
                        let fault =
                            TemplateFault::at_byte(include.offset, message).with_help("run fewer");
                        return Err(to_template_error(&fault, text, &owner.id));
                    }
                }
            }
            Ok(())
        })?;
        Ok(calls)
    }

    /// Returns the names that a prompt and its includes use.
    pub fn names_used_by(
        &self,
        library: &PromptLibrary,
        prompt: &Prompt,
    ) -> Result<BTreeSet<String>, TemplateError> {
        let mut names = BTreeSet::new();
        self.visit(library, prompt, &mut |_, _, compiled| {
            names.extend(compiled.names.iter().cloned());
            Ok(())
        })?;
        Ok(names)
    }

    /// Visits the templates of a prompt and of all its includes, each once.
    fn visit(
        &self,
        library: &PromptLibrary,
        prompt: &Prompt,
        see: &mut dyn FnMut(
            &Prompt,
            &TemplateSource,
            &CompiledTemplate,
        ) -> Result<(), TemplateError>,
    ) -> Result<(), TemplateError> {
        let mut chain = vec![prompt.id.clone()];
        let mut seen = BTreeSet::new();
        for text in prompt.system.iter().chain(&prompt.template) {
            self.visit_text(library, prompt, text, &mut chain, &mut seen, see)?;
        }
        Ok(())
    }

    fn visit_text(
        &self,
        library: &PromptLibrary,
        prompt: &Prompt,
        text: &TemplateSource,
        chain: &mut Vec<String>,
        seen: &mut BTreeSet<String>,
        see: &mut dyn FnMut(
            &Prompt,
            &TemplateSource,
            &CompiledTemplate,
        ) -> Result<(), TemplateError>,
    ) -> Result<(), TemplateError> {
        let compiled = self.get_compiled(text, &prompt.id)?;
        see(prompt, text, &compiled)?;
        for include in &compiled.preprocessed.includes {
            let IncludeTarget::Prompt(id) = &include.target else {
                continue;
            };
            let step = IncludeStep {
                library,
                prompt,
                text,
                offset: include.offset,
            };
            let (other, inner) = step.resolve(id, chain, self.limits.depth, seen.len())?;
            if seen.insert(other.id.clone()) {
                chain.push(other.id.clone());
                self.visit_text(library, other, inner, chain, seen, see)?;
                chain.pop();
            }
        }
        Ok(())
    }
}

/// The state of rendering a prompt and its includes.
struct PromptRendering<'a> {
    renderer: &'a TemplateRenderer,
    library: &'a PromptLibrary,
    values: &'a TemplateValues,
    scripts: &'a BTreeMap<ScriptCall, Value>,
    fence: &'a PromptFence,
    include_path: Vec<String>,
    rendered: BTreeMap<String, String>,
}

impl PromptRendering<'_> {
    fn render_text(
        &mut self,
        prompt: &Prompt,
        text: &TemplateSource,
    ) -> Result<String, TemplateError> {
        let compiled = self.renderer.get_compiled(text, &prompt.id)?;
        let mut taken_in = BTreeMap::new();
        for include in &compiled.preprocessed.includes {
            let value = match &include.target {
                IncludeTarget::Prompt(id) => {
                    Inner::from(self.render_include(prompt, text, include, id)?)
                }
                IncludeTarget::Script { .. } => self.script_value(prompt, text, include)?,
            };
            taken_in.insert(include.variable.clone(), value);
        }
        let scope = TemplateScope {
            values: self.values,
            declared: &prompt.arguments,
            includes: taken_in,
            fence: self.fence,
        };
        self.renderer.run(&compiled, text, &prompt.id, &scope)
    }

    fn render_include(
        &mut self,
        prompt: &Prompt,
        text: &TemplateSource,
        include: &TemplateInclude,
        id: &str,
    ) -> Result<String, TemplateError> {
        let step = IncludeStep {
            library: self.library,
            prompt,
            text,
            offset: include.offset,
        };
        let depth = self.renderer.limits.depth;
        let (other, inner) = step.resolve(id, &self.include_path, depth, self.rendered.len())?;
        if let Some(done) = self.rendered.get(&other.id) {
            return Ok(done.clone());
        }
        self.include_path.push(other.id.clone());
        let rendered = self.render_text(other, inner)?;
        self.include_path.pop();
        self.rendered.insert(other.id.clone(), rendered.clone());
        Ok(rendered)
    }

    fn script_value(
        &self,
        prompt: &Prompt,
        text: &TemplateSource,
        include: &TemplateInclude,
    ) -> Result<Inner, TemplateError> {
        let IncludeTarget::Script { id, field, input } = &include.target else {
            return Ok(Inner::from(""));
        };
        let call = resolve_script_call(self.library, prompt, text, include, id, input)?;
        let failed = |fault: TemplateFault| to_template_error(&fault, text, &prompt.id);
        let Some(mut found) = self.scripts.get(&call) else {
            let fault =
                TemplateFault::at_byte(include.offset, format!("script `{id}` was not run"));
            return Err(failed(fault.with_help("allow it in the settings")));
        };
        for part in field {
            found = found.get(part).ok_or_else(|| {
                let message = format!("the output of script `{id}` has no field `{part}`");
                failed(
                    TemplateFault::at_byte(include.offset, message)
                        .with_help(describe_fields(found)),
                )
            })?;
        }
        Ok(match found {
            Value::Array(_) | Value::Object(_) => Inner::from(found.to_string()),
            plain => from_json(plain),
        })
    }
}

/// Lists the fields of a script's output, for an error about a missing field.
fn describe_fields(answer: &Value) -> String {
    match answer.as_object() {
        Some(fields) if !fields.is_empty() => {
            let names: Vec<&str> = fields.keys().map(String::as_str).take(20).collect();
            format!("it has {}", names.join(", "))
        }
        _ => "its output is not an object with fields".to_owned(),
    }
}

/// A reference from a template to an included prompt.
struct IncludeStep<'a, 'b> {
    library: &'a PromptLibrary,
    prompt: &'b Prompt,
    text: &'b TemplateSource,
    offset: usize,
}

impl<'a> IncludeStep<'a, '_> {
    /// Returns the included prompt and its template, if the include is allowed.
    fn resolve(
        &self,
        id: &str,
        chain: &[String],
        depth: usize,
        taken_in: usize,
    ) -> Result<(&'a Prompt, &'a TemplateSource), TemplateError> {
        let Some(other) = self.library.prompt(id) else {
            let fault = TemplateFault::at_byte(
                self.offset,
                format!("there is no prompt `{id}` to include"),
            );
            let known = did_you_mean(id, self.library.prompts.keys().map(String::as_str));
            return Err(self.error(&match known {
                Some(known) => fault.with_help(format!("did you mean `{known}`?")),
                None => fault.with_help("create it, or remove the reference"),
            }));
        };
        let way = || {
            let mut way = chain.to_vec();
            way.push(other.id.clone());
            way.join(" → ")
        };
        if chain.contains(&other.id) {
            let fault = TemplateFault::at_byte(
                self.offset,
                format!("prompts include each other: {}", way()),
            );
            return Err(self.error(&fault.with_help("remove one of these references")));
        }
        if chain.len() > depth || taken_in >= MAX_INCLUDES {
            let message = format!("too many prompts include other prompts: {}", way());
            let help =
                format!("at most {depth} levels and {MAX_INCLUDES} includes in total are allowed");
            return Err(self.error(&TemplateFault::at_byte(self.offset, message).with_help(help)));
        }
        other
            .template
            .as_ref()
            .map(|text| (&**other, text))
            .ok_or_else(|| {
                let message = format!("prompt `{}` has no text to include", other.id);
                let fault = TemplateFault::at_byte(self.offset, message);
                self.error(&fault.with_help("refer to a prompt that has a template"))
            })
    }

    fn error(&self, fault: &TemplateFault) -> TemplateError {
        to_template_error(fault, self.text, &self.prompt.id)
    }
}

fn resolve_script_call(
    library: &PromptLibrary,
    prompt: &Prompt,
    text: &TemplateSource,
    include: &TemplateInclude,
    id: &str,
    input: &str,
) -> Result<ScriptCall, TemplateError> {
    let own = format!("{}:{id}", prompt.id);
    let key = [own.as_str(), id]
        .into_iter()
        .find(|key| library.scripts.contains_key(*key));
    let Some(key) = key else {
        let message =
            format!("there is no script `{id}` in this prompt or among the shared scripts");
        let fault = TemplateFault::at_byte(include.offset, message);
        let names = library
            .scripts
            .keys()
            .map(|key| key.rsplit(':').next().unwrap_or(key));
        let fault = match did_you_mean(id, names) {
            Some(known) => fault.with_help(format!("did you mean `{known}`?")),
            None => fault.with_help("add it to the tools of the prompt or to the shared scripts"),
        };
        return Err(to_template_error(&fault, text, &prompt.id));
    };
    Ok(ScriptCall {
        script: key.to_owned(),
        input: input.to_owned(),
    })
}
