//! The entry of the tree mode in the table of modes.

use deliberate_core::Mode;

use super::{ExploreRequest, TreeComplete, TreeExplore, TreeFocus, TreeList, explore};
use crate::{
    mcp_prompts::{PROBLEM, ReasoningPrompt, SESSION, number_argument},
    modes::{ModeDefinition, ModeRouting, ModeRunner, RoutingExample, output_to_json},
};

pub(crate) static MODE: ModeDefinition = ModeDefinition {
    name: Mode::Tree.as_str(),
    tool: Some("reasoning_tree"),
    register: |registry| {
        registry
            .with(TreeExplore)
            .with(TreeFocus)
            .with(TreeList)
            .with(TreeComplete)
    },
    prompt: Some(ReasoningPrompt {
        name: "tree",
        title: "Explore a tree of approaches",
        description: "Lay out several approaches, follow the best, close the others.",
        text: include_str!("../mcp_prompts/tree.md"),
        arguments: &[
            PROBLEM,
            SESSION,
            number_argument("branches", "How many approaches, 2 to 10", 2, 10),
        ],
    }),
    routing: Some(&ModeRouting {
        summary: "options are named, and one of them has to be chosen: A or B, which of these, \
                  should I",
        examples: &[
            RoutingExample {
                problem: "Should I learn the piano or the violin?",
                reason: "It names two instruments, and one has to be chosen.",
            },
            RoutingExample {
                problem: "Rent, buy or build: what suits a young couple?",
                reason: "It names three ways to live, and one has to be chosen.",
            },
        ],
        run: ModeRunner::Run(|content, session, call| {
            Box::pin(async move {
                let request = ExploreRequest::from_content(content);
                output_to_json(explore(request, session, call).await?)
            })
        }),
        ..ModeRouting::DEFAULT
    }),
};
