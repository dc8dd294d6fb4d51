//! What can be said about a prompt by looking at it: what kind it is, which gates it has and which
//! would come by themselves.

use deliberate_toolkit::ToolError;

use super::{
    Desk, Done,
    change::wanted_id,
    failure::unknown,
    inspect::what,
    place,
    request::{Input, Told},
    users,
};
use crate::{
    library::same,
    model::{Gate, Kind, Prompt},
};

/// How to use the tool.
const GUIDE: &str = include_str!("guide.md");

impl Desk {
    /// Says what kind of prompt it is, and why.
    pub(super) fn analyze_type(&self, kind: Kind, input: &Input) -> Result<Done, ToolError> {
        let library = self.engine.shelf.now().unwrap_or_default();
        let prompt = wanted(&library, kind, input)?;
        let mut why = Vec::new();
        if prompt.is_chain() {
            let steps: Vec<String> = prompt
                .steps
                .iter()
                .map(super::inspect::step_words)
                .collect();
            why.push(format!("steps: {}", steps.join(" → ")));
        } else {
            why.push("it has no steps: it is rendered once".to_owned());
        }
        let taken_in = users::references_of(prompt);
        if !taken_in.is_empty() {
            why.push(format!("takes in: {}", taken_in.join(", ")));
        }
        if !prompt.tools.is_empty() {
            why.push(format!("owns tools: {}", prompt.tools.join(", ")));
        }
        let said = format!("`{}` is a {}.\n{}", prompt.id, what(prompt), why.join("\n"));
        let told = Told::new(said)
            .with("id", prompt.id.clone())
            .with("type", if prompt.is_chain() { "chain" } else { "prompt" })
            .with("total_steps", prompt.steps.len());
        Ok(Done::said(told, Vec::new()))
    }

    /// Says which gates a prompt has and where each comes from.
    pub(super) fn analyze_gates(&self, kind: Kind, input: &Input) -> Result<Done, ToolError> {
        let library = self.engine.shelf.now().unwrap_or_default();
        let prompt = wanted(&library, kind, input)?;
        let own: Vec<&str> = users::gates_of(prompt);
        let excluded = |gate: &Gate| {
            let without = &prompt.gates.exclude;
            without.iter().any(|name| same(name, &gate.id))
        };
        let by_themselves: Vec<&str> = library
            .gates
            .values()
            .filter(|gate| comes_along(gate, prompt, self.in_use.as_deref()) && !excluded(gate))
            .map(|gate| gate.id.as_str())
            .filter(|id| !own.iter().any(|name| same(name, id)))
            .collect();
        let inline: Vec<&str> = prompt
            .gates
            .inline_gate_definitions
            .iter()
            .map(|gate| {
                gate.id
                    .as_deref()
                    .or(gate.name.as_deref())
                    .unwrap_or("(unnamed)")
            })
            .collect();
        let missing: Vec<&str> = prompt
            .gates
            .include
            .iter()
            .map(String::as_str)
            .filter(|name| library.gate(name).is_none() && !is_inline(prompt, name))
            .collect();
        let listed = |names: &[&str]| {
            if names.is_empty() {
                "none".to_owned()
            } else {
                names.join(", ")
            }
        };
        let said = format!(
            "Gates of `{}`\nits own: {}\ndefined in it: {}\nby themselves: {}\nleft out: {}\nnot there: {}",
            prompt.id,
            listed(&own),
            listed(&inline),
            listed(&by_themselves),
            if prompt.gates.exclude.is_empty() {
                "none".to_owned()
            } else {
                prompt.gates.exclude.join(", ")
            },
            listed(&missing)
        );
        let told = Told::new(said)
            .with("id", prompt.id.clone())
            .with("own", own)
            .with("inline", inline)
            .with("by_themselves", by_themselves)
            .with("missing", missing);
        Ok(Done::said(told, Vec::new()))
    }

    /// Says how to use the tool.
    pub(super) fn guide() -> Done {
        Done::said(Told::new(GUIDE.trim_end()), Vec::new())
    }
}

fn is_inline(prompt: &Prompt, name: &str) -> bool {
    let defined = &prompt.gates.inline_gate_definitions;
    defined.iter().any(|gate| gate.id.as_deref() == Some(name))
}

/// Whether a gate is active without being asked for.
fn comes_along(gate: &Gate, prompt: &Prompt, methodology: Option<&str>) -> bool {
    let Some(when) = &gate.activation else {
        return true;
    };
    let category = when.prompt_categories.is_empty()
        || when
            .prompt_categories
            .iter()
            .any(|it| same(it, &prompt.category));
    let framework = when.framework_context.is_empty()
        || methodology
            .is_some_and(|active| when.framework_context.iter().any(|it| same(it, active)));
    !when.explicit_request && category && framework
}

fn wanted<'l>(
    library: &'l crate::library::Library,
    kind: Kind,
    input: &Input,
) -> Result<&'l Prompt, ToolError> {
    let id = wanted_id(input)?;
    let found = library.prompt(id).filter(|_| kind == Kind::Prompt);
    found
        .map(AsRef::as_ref)
        .ok_or_else(|| unknown("prompt", id, place::ids(library, Kind::Prompt)))
}
