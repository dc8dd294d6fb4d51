//! The entry of the graph-of-thoughts mode in the table of modes.

use deliberate_core::Mode;

use super::{
    GotAggregate, GotFinalize, GotGenerate, GotInit, GotPrune, GotRefine, GotScore, GotState,
    start_and_expand,
};
use crate::{
    mcp_prompts::{PROBLEM, ReasoningPrompt, SESSION, number_argument},
    modes::{ModeDefinition, ModeRouting, ModeRunner, RoutingExample, output_to_json},
};

pub(crate) static MODE: ModeDefinition = ModeDefinition {
    name: Mode::Got.as_str(),
    tool: Some("reasoning_got_init"),
    register: |registry| {
        registry
            .with(GotInit)
            .with(GotGenerate)
            .with(GotScore)
            .with(GotAggregate)
            .with(GotRefine)
            .with(GotPrune)
            .with(GotFinalize)
            .with(GotState)
    },
    prompt: Some(ReasoningPrompt {
        name: "graph",
        title: "Build a graph of thoughts",
        description: "Grow, score, merge and prune partial answers until one stands out.",
        text: include_str!("../mcp_prompts/graph.md"),
        arguments: &[
            PROBLEM,
            SESSION,
            number_argument(
                "ideas",
                "How many ideas to grow from a node, 1 to 10",
                1,
                10,
            ),
        ],
    }),
    routing: Some(&ModeRouting {
        summary: "several partial answers, or factors that influence each other, are joined into one \
                  whole; takes several calls",
        examples: &[
            RoutingExample {
                problem: "Traffic, noise and rents in our town drive each other. How does it all connect?",
                reason: "It asks how factors that influence each other fit together.",
            },
            RoutingExample {
                problem: "Merge the drafts of our three teams into one plan.",
                reason: "It asks to join several partial answers.",
            },
        ],
        complexity: 0.7,
        run: ModeRunner::Run(|content, session, call| {
            Box::pin(
                async move { output_to_json(start_and_expand(&content, session, call).await?) },
            )
        }),
        ..ModeRouting::DEFAULT
    }),
};
