//! Model replies for the tests of `reasoning_reflection`.

use std::collections::BTreeSet;

use deliberate_core::Mode;
use deliberate_llm::ModelReply;
use serde_json::{Value, json};

use super::test_registry::{ReasoningTestRegistry, conversation, reply_with_fields};

pub(crate) const REFLECT: &str = "reasoning_reflection";

/// A check of a text with this quality. The revised text, if it is not empty, stands below its
/// heading.
pub(crate) fn check_reply(quality: i64, revised: &str) -> ModelReply {
    let fields = json!({
        "strengths": ["short"], "weaknesses": ["vague"], "recommendations": ["say why"],
        "reaches_result": true, "quality_percent": quality, "answer": null,
        "weakest_point": "tone", "confidence_percent": 70,
    });
    let text = if revised.is_empty() {
        "It holds.".to_owned()
    } else {
        format!("about {revised}\n\n## Revised\n\n{revised}")
    };
    reply_with_fields(&text, &fields)
}

/// The answers to the comparison of the original (A) with its revision (B), and of the same in the
/// other order.
pub(crate) fn comparison_replies(choices: [&str; 2]) -> [ModelReply; 2] {
    choices.map(|better| reply_with_fields("By the last step.", &json!({ "better": better })))
}

/// A check with a revision that the comparison prefers in both orders.
pub(crate) fn preferred_round(quality: i64, revised: &str) -> Vec<ModelReply> {
    let mut replies = vec![check_reply(quality, revised)];
    replies.extend(comparison_replies(["B", "A"]));
    replies
}

/// The texts of replies, as a client sends them.
pub(crate) fn client_replies(replies: &[ModelReply]) -> Vec<Value> {
    replies.iter().map(|reply| json!(reply.text)).collect()
}

pub(crate) async fn linear_registry() -> ReasoningTestRegistry {
    let desk = ReasoningTestRegistry::new();
    add_linear_steps(&desk).await;
    desk
}

/// Adds a session with three steps.
pub(crate) async fn add_linear_steps(registry: &ReasoningTestRegistry) {
    let steps = [("in 1", "out 1"), ("in 2", "out 2"), ("in 3", "out 3")];
    registry.add_session(Mode::Linear, steps).await;
}

pub(crate) fn request_keys(registry: &ReasoningTestRegistry) -> Vec<String> {
    registry.requests().into_iter().map(|ask| ask.key).collect()
}

/// Asserts that no request was made twice.
pub(crate) fn assert_requests_distinct(registry: &ReasoningTestRegistry) {
    let asked = registry.requests();
    let texts: BTreeSet<String> = asked.iter().map(conversation).collect();
    assert_eq!(texts.len(), asked.len());
}
