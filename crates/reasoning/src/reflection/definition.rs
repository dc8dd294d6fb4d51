//! The entry of the reflection mode in the table of modes.

use deliberate_core::Mode;

use super::{Reflection, ReflectionEvaluate, reflect_on};
use crate::{
    mcp_prompts::{PROBLEM, ReasoningPrompt, ReasoningPromptArgument, SESSION, number_argument},
    modes::{ModeDefinition, ModeRouting, ModeRunner, RoutingExample, output_to_json},
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
        summary: "a given text, plan or argument is judged: what is weak, is it right, how to \
                  improve it",
        examples: &[
            RoutingExample {
                problem: "My plan is to study only on the last evening. What is weak about it?",
                reason: "It gives a plan and asks what is weak in it.",
            },
            RoutingExample {
                problem: "Is this right? Birds fly, planes fly, so planes are birds.",
                reason: "It gives an argument and asks if it is right.",
            },
        ],
        run: ModeRunner::Run(|content, session, call| {
            Box::pin(async move { output_to_json(reflect_on(content, session, call).await?) })
        }),
        ..ModeRouting::DEFAULT
    }),
};
