//! The choice to answer without a reasoning tool.

use crate::modes::{ModeDefinition, ModeRouting, ModeRunner};

pub(crate) static DIRECT_MODE: ModeDefinition = ModeDefinition {
    name: "direct",
    tool: None,
    register: |registry| registry,
    prompt: None,
    routing: Some(&DIRECT_ROUTING),
};

pub(super) static DIRECT_ROUTING: ModeRouting = ModeRouting {
    summary: "no tool; what can be answered at once, such as a greeting or a plain fact",
    complexity: 0.1,
    // "Direct reasoning" is no name: a direct proof is not a direct answer.
    names: &["use direct", "mode direct", "direct mode"],
    run: ModeRunner::Skip("Nothing was run: answer it directly."),
    ..ModeRouting::DEFAULT
};
