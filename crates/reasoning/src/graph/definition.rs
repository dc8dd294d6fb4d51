//! The entry of the graph-of-thoughts mode in the table of modes.

use deliberate_core::Mode;

use super::{
    GotAggregate, GotFinalize, GotGenerate, GotInit, GotPrune, GotRefine, GotScore, GotState,
    start_and_expand,
};
use crate::{
    auto::{CODE_WORDS, IntentPattern},
    mcp_prompts::{PROBLEM, ReasoningPrompt, SESSION, number_argument},
    modes::{ModeDefinition, ModeRouting, ModeRunner, output_to_json},
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
        summary: "a graph of thoughts that are scored, merged and refined; many factors that \
                  depend on each other",
        complexity: 0.7,
        names: &["got", "graph of thoughts", "graph of thought"],
        qualified_names: &["got init"],
        intents: INTENTS,
        signals: &[
            "interconnected",
            "interdependent",
            "merge",
            "combine",
            "synthesize",
            "synthesise",
            "graph of thoughts",
        ],
        run: ModeRunner::Run(|content, session, call| {
            Box::pin(
                async move { output_to_json(start_and_expand(&content, session, call).await?) },
            )
        }),
        ..ModeRouting::DEFAULT
    }),
};

/// Instructions that ask for this mode.
#[rustfmt::skip]
const INTENTS: &[IntentPattern] = &[
    IntentPattern {
        verbs: &[
            "analyze", "analyse", "untangle", "map", "map out", "explore", "examine", "model",
            "think through",
        ],
        objects: &[
            (3, &["interconnected", "interdependent", "interacting", "interrelated", "intertwined"]),
            (2, &["factors", "causes", "effects", "forces", "drivers", "influences", "problems"]),
        ],
        unless: &[CODE_WORDS],
        ..IntentPattern::DEFAULT
    },
    IntentPattern {
        verbs: &["use", "build", "make"],
        objects: &[(3, &["graph of thoughts"])],
        unless: &[CODE_WORDS],
        ..IntentPattern::DEFAULT
    },
];
