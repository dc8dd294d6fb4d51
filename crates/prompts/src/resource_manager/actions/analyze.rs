//! Static analysis of a prompt: its type, the gates it names, and the gates that are active
//! automatically.

use deliberate_toolkit::ToolError;

use super::{inspect::prompt_kind, write::requested_id};
use crate::{
    library::is_same_name,
    model::{Gate, LibraryItemKind, Prompt},
    resource_manager::{
        ManageContext, ManageResult,
        disk::resource_path,
        edit::dependents,
        errors::unknown_name,
        request::{Input, ManageReply},
    },
};

/// The usage guide of the tool.
const GUIDE_TEXT: &str = include_str!("guide.md");

impl ManageContext {
    /// Reports the type of a prompt and the reason.
    pub(crate) fn analyze_type(
        &self,
        kind: LibraryItemKind,
        input: &Input,
    ) -> Result<ManageResult, ToolError> {
        let library = self.engine.live_library.current().unwrap_or_default();
        let prompt = requested_prompt(&library, kind, input)?;
        let mut why = Vec::new();
        if prompt.is_chain() {
            let steps: Vec<String> = prompt
                .steps
                .iter()
                .map(super::inspect::describe_step)
                .collect();
            why.push(format!("steps: {}", steps.join(" → ")));
        } else {
            why.push("it has no steps: it is rendered once".to_owned());
        }
        let taken_in = dependents::included_prompts(prompt);
        if !taken_in.is_empty() {
            why.push(format!("includes: {}", taken_in.join(", ")));
        }
        if !prompt.tools.is_empty() {
            why.push(format!("owns tools: {}", prompt.tools.join(", ")));
        }
        let text = format!(
            "`{}` is a {}.\n{}",
            prompt.id,
            prompt_kind(prompt),
            why.join("\n")
        );
        let reply = ManageReply::new(text)
            .with_fact("id", prompt.id.clone())
            .with_fact("type", if prompt.is_chain() { "chain" } else { "prompt" })
            .with_fact("total_steps", prompt.steps.len());
        Ok(ManageResult::without_changes(reply, Vec::new()))
    }

    /// Reports the gates of a prompt and their sources.
    pub(crate) fn analyze_gates(
        &self,
        kind: LibraryItemKind,
        input: &Input,
    ) -> Result<ManageResult, ToolError> {
        let library = self.engine.live_library.current().unwrap_or_default();
        let prompt = requested_prompt(&library, kind, input)?;
        let own: Vec<&str> = dependents::prompt_gates(prompt);
        let excluded = |gate: &Gate| {
            let without = &prompt.gates.exclude;
            without.iter().any(|name| is_same_name(name, &gate.id))
        };
        let by_themselves: Vec<&str> = library
            .gates
            .values()
            .filter(|gate| {
                is_active_by_default(gate, prompt, self.active_methodology.as_deref())
                    && !excluded(gate)
            })
            .map(|gate| gate.id.as_str())
            .filter(|id| !own.iter().any(|name| is_same_name(name, id)))
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
        let text = format!(
            "Gates of `{}`\nits own: {}\ndefined in it: {}\nautomatic: {}\nexcluded: {}\nmissing: \
             {}",
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
        let reply = ManageReply::new(text)
            .with_fact("id", prompt.id.clone())
            .with_fact("own", own)
            .with_fact("inline", inline)
            .with_fact("by_themselves", by_themselves)
            .with_fact("missing", missing);
        Ok(ManageResult::without_changes(reply, Vec::new()))
    }

    /// Returns the usage guide.
    pub(crate) fn guide() -> ManageResult {
        ManageResult::without_changes(ManageReply::new(GUIDE_TEXT.trim_end()), Vec::new())
    }
}

fn is_inline(prompt: &Prompt, name: &str) -> bool {
    let defined = &prompt.gates.inline_gate_definitions;
    defined.iter().any(|gate| gate.id.as_deref() == Some(name))
}

/// Returns whether a gate is active without being requested.
fn is_active_by_default(gate: &Gate, prompt: &Prompt, methodology: Option<&str>) -> bool {
    let Some(when) = &gate.activation else {
        return true;
    };
    let category = when.prompt_categories.is_empty()
        || when
            .prompt_categories
            .iter()
            .any(|it| is_same_name(it, &prompt.category));
    let framework = when.framework_context.is_empty()
        || methodology.is_some_and(|active| {
            when.framework_context
                .iter()
                .any(|it| is_same_name(it, active))
        });
    !when.explicit_request && category && framework
}

fn requested_prompt<'l>(
    library: &'l crate::library::PromptLibrary,
    kind: LibraryItemKind,
    input: &Input,
) -> Result<&'l Prompt, ToolError> {
    let id = requested_id(input)?;
    let found = library
        .prompt(id)
        .filter(|_| kind == LibraryItemKind::Prompt);
    found.map(AsRef::as_ref).ok_or_else(|| {
        unknown_name(
            "prompt",
            id,
            resource_path::resource_ids(library, LibraryItemKind::Prompt),
        )
    })
}
