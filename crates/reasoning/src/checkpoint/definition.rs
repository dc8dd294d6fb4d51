//! The entry of the backtracking mode in the table of modes.

use deliberate_core::Mode;

use super::{Backtrack, CheckpointCreate, CheckpointList};
use crate::{
    mcp_prompts::{
        REQUIRED_SESSION, ReasoningArgumentKind, ReasoningPrompt, ReasoningPromptArgument,
    },
    modes::{ModeDefinition, ModeRouting, ModeRunner},
};

pub(crate) static MODE: ModeDefinition = ModeDefinition {
    name: Mode::Backtracking.as_str(),
    tool: Some("reasoning_backtrack"),
    register: |registry| {
        registry
            .with(CheckpointCreate)
            .with(CheckpointList)
            .with(Backtrack)
    },
    prompt: Some(ReasoningPrompt {
        name: "backtrack",
        title: "Go back and try another way",
        description: "Review a session's checkpoints and take another way from one of them.",
        text: include_str!("../mcp_prompts/backtrack.md"),
        arguments: &[
            REQUIRED_SESSION,
            ReasoningPromptArgument {
                name: "direction",
                description: "What to try instead; omit it to get suggestions",
                required: false,
                kind: ReasoningArgumentKind::Text,
            },
        ],
    }),
    routing: Some(&ModeRouting {
        summary: "this way has failed, and another is taken from a checkpoint of the session",
        requires_checkpoint: true,
        run: ModeRunner::Skip(
            "Nothing was run: pick a checkpoint with reasoning_checkpoint_list, then call \
             reasoning_backtrack.",
        ),
        ..ModeRouting::DEFAULT
    }),
};
