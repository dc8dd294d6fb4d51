//! The table of reasoning modes. Tools, the choices of `reasoning_auto`, its rules and the prompts
//! of the client's menu are all derived from it; nothing else lists the modes.

use deliberate_core::{Mode, Session};
use deliberate_toolkit::{Registry, ToolContext, ToolError, ToolOutput};
use futures::future::BoxFuture;
use serde::Serialize;
use serde_json::Value;

use crate::{
    auto, checkpoint, divergent, graph, linear, mcp_prompts::ReasoningPrompt, reflection, tree,
};

/// Every mode, in the order in which clients see their tools.
pub(crate) static MODES: &[&ModeDefinition] = &[
    &linear::MODE,
    &tree::MODE,
    &divergent::MODE,
    &reflection::MODE,
    &auto::MODE,
    &checkpoint::MODE,
    &graph::MODE,
    &auto::DIRECT_MODE,
];

/// One way of reasoning: its tools, its menu prompt, and when `reasoning_auto` recommends it.
pub(crate) struct ModeDefinition {
    /// The name that is stored and answered. It equals the name of the core `Mode`, if the mode has
    /// one.
    pub(crate) name: &'static str,
    /// The tool that a client calls first. `None` if the mode needs no tool.
    pub(crate) tool: Option<&'static str>,
    /// Adds all tools of the mode, in the order in which clients see them.
    pub(crate) register: fn(Registry) -> Registry,
    /// The prompt in the client's menu.
    pub(crate) prompt: Option<ReasoningPrompt>,
    /// `None` for a mode that `reasoning_auto` never recommends.
    pub(crate) routing: Option<&'static ModeRouting>,
}

/// When `reasoning_auto` recommends a mode, and how it runs the mode.
pub(crate) struct ModeRouting {
    /// When the mode helps; the line about it in the router's prompt and in the answer.
    pub(crate) summary: &'static str,
    /// Problems for the mode, shown to the router. A small model routes by their reasons, so that
    /// each says what its problem asks for.
    pub(crate) examples: &'static [RoutingExample],
    /// Whether the mode can be chosen only in a session that has a checkpoint.
    pub(crate) requires_checkpoint: bool,
    /// The complexity, from 0 to 1, of a typical problem for the mode.
    pub(crate) complexity: f64,
    pub(crate) run: ModeRunner,
}

impl ModeRouting {
    /// The values of a mode that the rules never choose; the base of struct updates.
    pub(crate) const DEFAULT: Self = Self {
        summary: "",
        examples: &[],
        requires_checkpoint: false,
        complexity: 0.5,
        run: ModeRunner::Skip("Nothing was run."),
    };
}

/// A problem with the reason for its mode.
#[derive(Clone, Copy, Serialize)]
pub(crate) struct RoutingExample {
    pub(crate) problem: &'static str,
    pub(crate) reason: &'static str,
}

/// Runs a mode on a content, in the given session or in a new one. The session may be of any mode,
/// because a session may mix modes.
pub(crate) type RunMode = for<'a> fn(
    content: String,
    session: Option<Session>,
    call: &'a ToolContext,
) -> BoxFuture<'a, Result<ToolOutput<Value>, ToolError>>;

/// How `reasoning_auto` with `run` continues after it chose a mode.
pub(crate) enum ModeRunner {
    Run(RunMode),
    /// The mode cannot be run from the content alone. The text says what to do instead.
    Skip(&'static str),
}

/// The definition of a mode that sessions can have.
pub(crate) fn definition(mode: Mode) -> Option<&'static ModeDefinition> {
    let mut all = MODES.iter().copied();
    all.find(|definition| definition.name == mode.as_str())
}

/// The output of a mode's tool, with its answer as JSON.
pub(crate) fn output_to_json<T: Serialize>(
    output: ToolOutput<T>,
) -> Result<ToolOutput<Value>, ToolError> {
    let answer = serde_json::to_value(output.output).map_err(|error| {
        tracing::error!(%error, "the answer of a mode cannot be serialized as JSON");
        ToolError::Internal
    })?;
    Ok(ToolOutput {
        output: answer,
        changes: output.changes,
        session: output.session,
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_mode_of_a_session_has_one_definition_with_a_tool_and_a_prompt() {
        let names: BTreeSet<&str> = MODES.iter().map(|it| it.name).collect();
        assert_eq!(names.len(), MODES.len());
        for mode in Mode::ALL {
            let definition = definition(mode).unwrap();
            assert!(definition.tool.is_some(), "{mode}");
            assert!(definition.prompt.is_some(), "{mode}");
        }
    }
}
