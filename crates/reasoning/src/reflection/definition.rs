//! The entry of the reflection mode in the table of modes.

use deliberate_core::Mode;

use super::{Reflection, ReflectionEvaluate, reflect_on};
use crate::{
    auto::{CODE_WORDS, IntentPattern},
    mcp_prompts::{PROBLEM, ReasoningPrompt, ReasoningPromptArgument, SESSION, number_argument},
    modes::{ModeDefinition, ModeRouting, ModeRunner, output_to_json},
};

pub(crate) static MODE: ModeDefinition = ModeDefinition {
    name: Mode::Reflection.as_str(),
    tool: Some("reasoning_reflection"),
    register: |registry| registry.with(Reflection).with(ReflectionEvaluate),
    prompt: Some(ReasoningPrompt {
        name: "reflect",
        title: "Reflect and improve",
        description: "Find the weak points of a text or thought and write a better version.",
        text: include_str!("../mcp_prompts/reflect.md"),
        arguments: &[
            ReasoningPromptArgument {
                description: "The text, answer or plan to reflect on",
                ..PROBLEM
            },
            SESSION,
            number_argument("rounds", "How often to improve it, 1 to 5", 1, 5),
        ],
    }),
    routing: Some(&ModeRouting {
        summary: "judging and improving reasoning that is there already",
        names: &["reflection"],
        intents: INTENTS,
        signals: &["critique", "critiquing", "evaluate", "flaws", "reflect on"],
        run: ModeRunner::Run(|content, session, call| {
            Box::pin(async move { output_to_json(reflect_on(content, session, call).await?) })
        }),
        ..ModeRouting::DEFAULT
    }),
};

/// Instructions that ask for this mode.
#[rustfmt::skip]
const INTENTS: &[IntentPattern] = &[
    IntentPattern {
        verbs: &[
            "critique", "evaluate", "review", "assess", "check", "examine", "scrutinize",
            "scrutinise", "criticize", "criticise", "reflect on",
        ],
        objects: &[(1, &["my", "our", "this", "the following"]), (2, REASONING_NOUNS)],
        followed_by: REASONING_QUALIFIERS,
        unless: &[CODE_WORDS, LANGUAGE_WORDS],
        ..IntentPattern::DEFAULT
    },
    IntentPattern {
        verbs: &["find", "point out", "show me", "look for", "poke", "name"],
        objects: &[
            (3, &["flaw", "flaws", "holes", "gaps", "weaknesses", "fallacy", "fallacies"]),
            (2, &["my", "our", "this", "the following"]),
            (2, REASONING_NOUNS),
        ],
        followed_by: REASONING_QUALIFIERS,
        unless: &[CODE_WORDS, LANGUAGE_WORDS],
        ..IntentPattern::DEFAULT
    },
];

/// Nouns for the reasoning that is judged.
#[rustfmt::skip]
const REASONING_NOUNS: &[&str] = &[
    "reasoning", "line of reasoning", "argument", "arguments", "logic", "thinking", "conclusion",
    "conclusions", "hypothesis", "proof",
];

/// Words that continue with which reasoning is meant; "proof of purchase" is no reasoning.
const REASONING_QUALIFIERS: &[&str] = &[
    "about", "against", "below", "for", "here", "on", "so", "that",
];

/// Words that show that language is judged rather than reasoning.
#[rustfmt::skip]
const LANGUAGE_WORDS: &[&str] = &[
    "essay", "grammar", "paragraph", "section", "sentence", "spelling", "style", "tone", "typo",
    "typos", "wording",
];
