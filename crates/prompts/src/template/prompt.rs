//! Renders a whole prompt: its two texts, with what they take in from other prompts and from
//! scripts. What is taken in is a value and is never rendered again. Runs no script itself: it
//! says which are needed and is given what they answered.

use std::collections::{BTreeMap, BTreeSet};

use deliberate_core::nearest;
use minijinja::value::Value as Inner;
use serde_json::{Map, Value};

use super::{
    Values,
    cache::Compiled,
    error::{Fault, TemplateError},
    prepare::Taken,
    reference::Target,
    render::{Renderer, Scope, placed},
    value::from_json,
};
use crate::{
    library::Library,
    model::{Prompt, Text},
};

/// Prompts that one prompt may take in, directly or not, and scripts.
const TAKEN_IN: usize = 200;

/// A prompt, rendered.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Rendered {
    /// What stands before it.
    pub system: Option<String>,
    /// What the person says.
    pub user: String,
}

/// A script with what it is given. The same call is made once.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ScriptCall {
    /// Its key in the library.
    pub script: String,
    /// What it is given, as a JSON object.
    pub input: String,
}

impl ScriptCall {
    /// What it is given.
    pub fn input(&self) -> Map<String, Value> {
        serde_json::from_str(&self.input).unwrap_or_default()
    }
}

impl Renderer {
    /// Renders a prompt with everything it takes in. What it declares and is not given is absent,
    /// or what it is by default.
    pub fn render_prompt(
        &self,
        library: &Library,
        prompt: &Prompt,
        values: &Values,
        scripts: &BTreeMap<ScriptCall, Value>,
    ) -> Result<Rendered, TemplateError> {
        let mut walk = Walk {
            renderer: self,
            library,
            values,
            scripts,
            chain: vec![prompt.id.clone()],
            done: BTreeMap::new(),
        };
        let system = match &prompt.system {
            Some(text) => Some(walk.text(prompt, text)?),
            None => None,
        };
        let user = match &prompt.template {
            Some(text) => walk.text(prompt, text)?,
            None => String::new(),
        };
        Ok(Rendered { system, user })
    }

    /// All the scripts that a prompt and what it takes in need, each call once.
    pub fn script_calls(
        &self,
        library: &Library,
        prompt: &Prompt,
    ) -> Result<Vec<ScriptCall>, TemplateError> {
        let mut calls = Vec::new();
        let mut seen = BTreeSet::new();
        self.visit(library, prompt, &mut |owner, text, compiled| {
            for taken in &compiled.prepared.taken {
                if let Target::Script { id, input, .. } = &taken.target {
                    let call = script_call(library, owner, text, taken, id, input)?;
                    if seen.insert(call.clone()) {
                        calls.push(call);
                    }
                    if calls.len() > TAKEN_IN {
                        let message = format!("a prompt may run at most {TAKEN_IN} scripts");
                        let fault = Fault::at(taken.at, message).help("run fewer");
                        return Err(placed(&fault, text, &owner.id));
                    }
                }
            }
            Ok(())
        })?;
        Ok(calls)
    }

    /// The names that a prompt and what it takes in use.
    pub fn names_used_by(
        &self,
        library: &Library,
        prompt: &Prompt,
    ) -> Result<BTreeSet<String>, TemplateError> {
        let mut names = BTreeSet::new();
        self.visit(library, prompt, &mut |_, _, compiled| {
            names.extend(compiled.names.iter().cloned());
            Ok(())
        })?;
        Ok(names)
    }

    /// Goes through the texts of a prompt and of all it takes in, each once.
    fn visit(
        &self,
        library: &Library,
        prompt: &Prompt,
        see: &mut dyn FnMut(&Prompt, &Text, &Compiled) -> Result<(), TemplateError>,
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
        library: &Library,
        prompt: &Prompt,
        text: &Text,
        chain: &mut Vec<String>,
        seen: &mut BTreeSet<String>,
        see: &mut dyn FnMut(&Prompt, &Text, &Compiled) -> Result<(), TemplateError>,
    ) -> Result<(), TemplateError> {
        let compiled = self.compiled(text, &prompt.id)?;
        see(prompt, text, &compiled)?;
        for taken in &compiled.prepared.taken {
            let Target::Prompt(id) = &taken.target else {
                continue;
            };
            let step = Step {
                library,
                prompt,
                text,
                at: taken.at,
            };
            let (other, inner) = step.to(id, chain, self.limits.depth, seen.len())?;
            if seen.insert(other.id.clone()) {
                chain.push(other.id.clone());
                self.visit_text(library, other, inner, chain, seen, see)?;
                chain.pop();
            }
        }
        Ok(())
    }
}

/// A rendering on its way through what is taken in.
struct Walk<'a> {
    renderer: &'a Renderer,
    library: &'a Library,
    values: &'a Values,
    scripts: &'a BTreeMap<ScriptCall, Value>,
    chain: Vec<String>,
    done: BTreeMap<String, String>,
}

impl Walk<'_> {
    fn text(&mut self, prompt: &Prompt, text: &Text) -> Result<String, TemplateError> {
        let compiled = self.renderer.compiled(text, &prompt.id)?;
        let mut taken_in = BTreeMap::new();
        for taken in &compiled.prepared.taken {
            let value = match &taken.target {
                Target::Prompt(id) => Inner::from(self.prompt(prompt, text, taken, id)?),
                Target::Script { .. } => self.script(prompt, text, taken)?,
            };
            taken_in.insert(taken.variable.clone(), value);
        }
        let given = Scope {
            values: self.values,
            declared: &prompt.arguments,
            taken_in,
        };
        self.renderer.run(&compiled, text, &prompt.id, &given)
    }

    fn prompt(
        &mut self,
        prompt: &Prompt,
        text: &Text,
        taken: &Taken,
        id: &str,
    ) -> Result<String, TemplateError> {
        let step = Step {
            library: self.library,
            prompt,
            text,
            at: taken.at,
        };
        let depth = self.renderer.limits.depth;
        let (other, inner) = step.to(id, &self.chain, depth, self.done.len())?;
        if let Some(done) = self.done.get(&other.id) {
            return Ok(done.clone());
        }
        self.chain.push(other.id.clone());
        let rendered = self.text(other, inner)?;
        self.chain.pop();
        self.done.insert(other.id.clone(), rendered.clone());
        Ok(rendered)
    }

    fn script(&self, prompt: &Prompt, text: &Text, taken: &Taken) -> Result<Inner, TemplateError> {
        let Target::Script { id, field, input } = &taken.target else {
            return Ok(Inner::from(""));
        };
        let call = script_call(self.library, prompt, text, taken, id, input)?;
        let failed = |fault: Fault| placed(&fault, text, &prompt.id);
        let Some(mut found) = self.scripts.get(&call) else {
            let fault = Fault::at(taken.at, format!("script `{id}` was not run"));
            return Err(failed(fault.help("allow it in the settings")));
        };
        for part in field {
            found = found.get(part).ok_or_else(|| {
                let message = format!("the answer of script `{id}` has no field `{part}`");
                failed(Fault::at(taken.at, message).help(fields_of(found)))
            })?;
        }
        Ok(match found {
            Value::Array(_) | Value::Object(_) => Inner::from(found.to_string()),
            plain => from_json(plain),
        })
    }
}

/// What the fields of a script's answer are, for who named another one.
fn fields_of(answer: &Value) -> String {
    match answer.as_object() {
        Some(fields) if !fields.is_empty() => {
            let names: Vec<&str> = fields.keys().map(String::as_str).take(20).collect();
            format!("it has {}", names.join(", "))
        }
        _ => "its answer is not an object with fields".to_owned(),
    }
}

/// A step from a text to a prompt that it takes in.
struct Step<'a, 'b> {
    library: &'a Library,
    prompt: &'b Prompt,
    text: &'b Text,
    at: usize,
}

impl<'a> Step<'a, '_> {
    /// The prompt and its text, if the step may be taken.
    fn to(
        &self,
        id: &str,
        chain: &[String],
        depth: usize,
        taken_in: usize,
    ) -> Result<(&'a Prompt, &'a Text), TemplateError> {
        let Some(other) = self.library.prompt(id) else {
            let fault = Fault::at(self.at, format!("there is no prompt `{id}` to put in"));
            let known = nearest(id, self.library.prompts.keys().map(String::as_str));
            return Err(self.failed(&match known {
                Some(known) => fault.help(format!("did you mean `{known}`?")),
                None => fault.help("create it, or take the reference out"),
            }));
        };
        let way = || {
            let mut way = chain.to_vec();
            way.push(other.id.clone());
            way.join(" → ")
        };
        if chain.contains(&other.id) {
            let fault = Fault::at(self.at, format!("prompts put each other in: {}", way()));
            return Err(self.failed(&fault.help("take one of these references out")));
        }
        if chain.len() > depth || taken_in >= TAKEN_IN {
            let message = format!("too many prompts put each other in: {}", way());
            let help = format!("at most {depth} may follow one another, {TAKEN_IN} in all");
            return Err(self.failed(&Fault::at(self.at, message).help(help)));
        }
        other
            .template
            .as_ref()
            .map(|text| (&**other, text))
            .ok_or_else(|| {
                let message = format!("prompt `{}` has no text to put in", other.id);
                let fault = Fault::at(self.at, message);
                self.failed(&fault.help("refer to a prompt with a message of its own"))
            })
    }

    fn failed(&self, fault: &Fault) -> TemplateError {
        placed(fault, self.text, &self.prompt.id)
    }
}

fn script_call(
    library: &Library,
    prompt: &Prompt,
    text: &Text,
    taken: &Taken,
    id: &str,
    input: &str,
) -> Result<ScriptCall, TemplateError> {
    let own = format!("{}:{id}", prompt.id);
    let key = [own.as_str(), id]
        .into_iter()
        .find(|key| library.scripts.contains_key(*key));
    let Some(key) = key else {
        let message = format!("there is no script `{id}`, neither of this prompt nor a shared one");
        let fault = Fault::at(taken.at, message);
        let names = library
            .scripts
            .keys()
            .map(|key| key.rsplit(':').next().unwrap_or(key));
        let fault = match nearest(id, names) {
            Some(known) => fault.help(format!("did you mean `{known}`?")),
            None => fault.help("add it to the tools of the prompt or to the shared scripts"),
        };
        return Err(placed(&fault, text, &prompt.id));
    };
    Ok(ScriptCall {
        script: key.to_owned(),
        input: input.to_owned(),
    })
}
