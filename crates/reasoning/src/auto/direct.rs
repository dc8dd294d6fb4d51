//! The choice to answer without a reasoning tool.

use crate::modes::{ModeDefinition, ModeRouting, ModeRunner, RoutingExample};

pub(crate) static DIRECT_MODE: ModeDefinition = ModeDefinition {
    name: "direct",
    tool: None,
    register: |registry| registry,
    prompt: None,
    routing: Some(&DIRECT_ROUTING),
};

pub(super) static DIRECT_ROUTING: ModeRouting = ModeRouting {
    summary: "no thinking: a greeting, a plain fact, the translation of a word",
    examples: &[
        RoutingExample {
            problem: "What is \"bread\" in French?",
            reason: "It asks for a word that is known by heart.",
        },
        RoutingExample {
            problem: "Which ocean is the largest?",
            reason: "It asks for a fact that is known by heart.",
        },
    ],
    complexity: 0.1,
    run: ModeRunner::Skip("Nothing was run: answer it directly."),
    ..ModeRouting::DEFAULT
};
