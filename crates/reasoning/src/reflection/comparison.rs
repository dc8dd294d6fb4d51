//! Compares the original of a text with its revision. Both orders are asked for, because a model
//! tends to prefer what it reads first or last; only a preference in both orders counts.

use std::sync::LazyLock;

use deliberate_llm::ModelRequest;
use deliberate_toolkit::{ToolContext, ToolError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    history::SessionHistory,
    model_fields::{lenient_option, optional_text},
    prompt_template::{GenerationParams, ReasoningPromptTemplate},
};

/// The answer that the model is asked for: the reason as free text, then the choice.
#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(extend("required" = ["better"]))]
struct ComparisonReply {
    #[serde(default, deserialize_with = "optional_text")]
    #[schemars(skip)]
    #[expect(dead_code, reason = "the model reasons before it chooses")]
    reason: Option<String>,
    #[serde(default, deserialize_with = "lenient_option")]
    #[schemars(with = "BetterVersion")]
    better: Option<BetterVersion>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
enum BetterVersion {
    A,
    B,
    #[serde(rename = "same")]
    Same,
}

/// The values that the prompt template shows.
#[derive(Serialize)]
struct ComparisonPromptContext<'a> {
    #[serde(flatten)]
    past: &'a SessionHistory,
    question: Option<&'a str>,
    first: &'a str,
    second: &'a str,
}

/// A low temperature, because a judgment should be reproducible.
static ASK: LazyLock<ReasoningPromptTemplate> = LazyLock::new(|| {
    let params = GenerationParams {
        max_tokens: 1_200,
        temperature: 0.2,
    };
    ReasoningPromptTemplate::free_text::<ComparisonReply>(
        "reflection_compare",
        include_str!("compare.md"),
        "reason",
        params,
    )
});

/// Tells whether the revision is preferred to the original in both orders.
pub(super) async fn prefers_revision(
    past: &SessionHistory,
    question: Option<&str>,
    (original, revision): (&str, &str),
    number: usize,
    call: &ToolContext,
) -> Result<bool, ToolError> {
    let ask = |first: &str, second: &str, order: &str| {
        let context = ComparisonPromptContext {
            past,
            question,
            first,
            second,
        };
        let ask = ASK.render(context, call)?;
        Ok::<_, ToolError>(ModelRequest {
            key: format!("reflection_compare_{number}_{order}"),
            ..ask
        })
    };
    let asks = vec![ask(original, revision, "1")?, ask(revision, original, "2")?];
    let mut chosen = Vec::new();
    for answer in call.ask_all::<ComparisonReply>(asks).await? {
        chosen.push(answer?.value.better);
    }
    Ok(chosen == [Some(BetterVersion::B), Some(BetterVersion::A)])
}
