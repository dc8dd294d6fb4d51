//! The entry of the tree mode in the table of modes.

use deliberate_core::Mode;

use super::{ExploreRequest, TreeComplete, TreeExplore, TreeFocus, TreeList, explore};
use crate::{
    auto::{CODE_WORDS, IntentPattern},
    mcp_prompts::{PROBLEM, ReasoningPrompt, SESSION, number_argument},
    modes::{ModeDefinition, ModeRouting, ModeRunner, output_to_json},
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
        summary: "several approaches side by side; options to compare, trade-offs, decisions",
        names: &["tree of thoughts", "tree of thought"],
        qualified_names: &["tree"],
        intents: INTENTS,
        signals: &[
            "compare",
            "comparing",
            "comparison",
            "pros and cons",
            "trade off",
            "trade offs",
            "tradeoff",
            "tradeoffs",
            "options",
            "alternatives",
            "versus",
            "vs",
            "weigh",
            "tree of thoughts",
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

/// Instructions that ask for this mode.
#[rustfmt::skip]
const INTENTS: &[IntentPattern] = &[
    IntentPattern {
        verbs: &["weigh", "weigh up", "compare", "discuss", "explore", "analyze", "analyse"],
        objects: &[
            (3, &[
                "pros and cons", "trade offs", "tradeoffs", "trade off", "tradeoff",
                "advantages and disadvantages",
            ]),
            (1, &["of", "between"]),
        ],
        ..IntentPattern::DEFAULT
    },
    IntentPattern {
        verbs: &["weigh", "weigh up", "compare", "explore", "think through"],
        objects: &[(3, &[
            "my options", "our options", "these options", "several options", "different options",
            "my alternatives", "our alternatives", "several approaches", "different approaches",
        ])],
        followed_by: &["about", "for", "here", "on", "to", "regarding"],
        unless: &[CODE_WORDS],
        ..IntentPattern::DEFAULT
    },
    IntentPattern {
        verbs: &["compare"],
        objects: &[
            (3, &["and", "versus", "vs"]),
            (4, &["for a", "for an", "for this", "for my", "for our", "for their"]),
        ],
        unless: &[CODE_WORDS, LOOKUP_WORDS],
        ..IntentPattern::DEFAULT
    },
    IntentPattern {
        verbs: &["use"],
        objects: &[(3, &["tree of thoughts"])],
        unless: &[CODE_WORDS],
        ..IntentPattern::DEFAULT
    },
];

/// Words that show that something is only looked up.
#[rustfmt::skip]
const LOOKUP_WORDS: &[&str] = &[
    "both", "check", "find", "list", "look", "notes", "price", "prices", "return", "search", "show",
    "test", "these", "those", "two",
];
