//! Evidence for a reasoning step: the model may use tools before the step. Their answers go into
//! the prompt of the step and are stored with its thought.

use std::sync::LazyLock;

use deliberate_core::{Change, shorten_tokens};
use deliberate_llm::{ModelRequest, PlainText};
use deliberate_toolkit::{AgentLimits, ArgumentIssue, ToolContext, ToolError, ToolUse};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Value, json};

use super::prompt_template::{GenerationParams, ReasoningPromptTemplate};

/// The evidence may take one part in this many of the context budget.
const PROMPT_SHARE: usize = 2;

/// The characters of a tool's answer that the output shows; the whole answer is stored with the
/// thought.
const SUMMARY_CHARS: usize = 300;

/// The answers of tools for a step.
#[derive(Debug, Clone, Default)]
pub(crate) struct StepEvidence {
    tool_uses: Vec<ToolUse>,
    summary: String,
    /// The changes that the tools returned.
    pub(crate) changes: Vec<Change>,
}

/// The part of the evidence that the prompt of the step shows.
#[derive(Debug, Clone, Default, Serialize)]
pub(crate) struct EvidenceInPrompt {
    evidence: Vec<ToolUseInPrompt>,
    summary: String,
}

#[derive(Debug, Clone, Serialize)]
struct ToolUseInPrompt {
    tool: String,
    arguments: String,
    result: String,
    failed: bool,
}

// One tool use.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub(crate) struct ToolUseSummary {
    /// The tool that was used
    tool: String,
    /// Its answer, shortened
    result: String,
    /// Whether it failed
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    failed: bool,
}

#[derive(JsonSchema)]
struct FreeTextReply {}

#[derive(Serialize)]
struct EvidencePromptContext<'a> {
    question: &'a str,
}

static ASK: LazyLock<ReasoningPromptTemplate> = LazyLock::new(|| {
    let freedom = GenerationParams {
        max_tokens: 1_500,
        temperature: 0.2,
    };
    ReasoningPromptTemplate::new::<FreeTextReply>(
        "act",
        include_str!("gather_evidence.md"),
        freedom,
    )
});

/// Lets a model use these tools for the step that `step` requests. Without tools it makes no
/// request.
pub(crate) async fn gather_evidence(
    tools: Option<&[String]>,
    step: &ModelRequest,
    call: &ToolContext,
) -> Result<StepEvidence, ToolError> {
    let Some(tools) = tools.filter(|tools| !tools.is_empty()) else {
        return Ok(StepEvidence::default());
    };
    if call.has_reply() {
        let rule = "cannot be combined with reply: no model is asked, so none can use tools";
        let issue = ArgumentIssue::new("tools", rule);
        return Err(ToolError::Invalid(vec![issue]));
    }
    let hands = call.select_tools("tools", tools).await?;
    call.progress(0.0, Some(1.0), "looking things up");
    let question: Vec<&str> = step.messages.iter().map(|it| it.text.as_str()).collect();
    let context = EvidencePromptContext {
        question: &question.join("\n\n"),
    };
    let ask = ModelRequest {
        schema: Value::Null,
        plain_text: PlainText::IsTheAnswer,
        ..ASK.render(context, call)?
    };
    let acted = call
        .run_agent_loop(ask, &hands, AgentLimits::default())
        .await?;
    Ok(StepEvidence {
        tool_uses: acted.tool_uses,
        summary: acted.text,
        changes: acted.changes,
    })
}

impl StepEvidence {
    /// Selects as much of the evidence as the prompt of the step has room for.
    pub(crate) fn to_prompt(&self, call: &ToolContext) -> EvidenceInPrompt {
        let budget = call.context_tokens() / PROMPT_SHARE;
        let one = budget / self.tool_uses.len().max(1);
        let evidence = self.tool_uses.iter().map(|evidence| ToolUseInPrompt {
            tool: evidence.tool.clone(),
            arguments: shorten_tokens(&evidence.arguments.to_string(), one / 4),
            result: shorten_tokens(&evidence.result, one - one / 4),
            failed: evidence.failed,
        });
        EvidenceInPrompt {
            evidence: evidence.collect(),
            summary: shorten_tokens(&self.summary, budget / 4),
        }
    }

    /// The evidence as stored with the thought; null if there is none.
    pub(crate) fn to_metadata(&self) -> Value {
        if self.tool_uses.is_empty() {
            return Value::Null;
        }
        json!(self.tool_uses)
    }

    /// The evidence as the tool's output shows it.
    pub(crate) fn summarize(&self) -> Vec<ToolUseSummary> {
        let used = self.tool_uses.iter().map(|evidence| ToolUseSummary {
            tool: evidence.tool.clone(),
            result: deliberate_core::truncate_chars(&evidence.result, SUMMARY_CHARS),
            failed: evidence.failed,
        });
        used.collect()
    }
}
