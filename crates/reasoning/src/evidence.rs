//! Reasoning that acts: before a step is taken, a model may use tools for it, and what they
//! answered goes into the ask for the step and is kept with it as evidence.

use std::sync::LazyLock;

use deliberate_core::{Change, truncate_tokens};
use deliberate_llm::{ModelRequest, PlainText};
use deliberate_toolkit::{AgentLimits, ToolContext, ToolError, ToolUse};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Value, json};

use super::ask_template::{AskTemplate, GenerationParams};

/// The share of the budget that what was found may take in the ask for the step.
const PROMPT_SHARE: usize = 2;

/// How much of an answer of a tool is told with the thought; the whole is kept with it.
const SUMMARY_CHARS: usize = 300;

/// What tools found out for a step.
#[derive(Debug, Clone, Default)]
pub(crate) struct StepEvidence {
    tool_uses: Vec<ToolUse>,
    summary: String,
    /// What the tools want remembered.
    pub(crate) changes: Vec<Change>,
}

/// What the ask for the step shows of it.
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

// One use of a tool.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub(crate) struct ToolUseSummary {
    /// The tool
    tool: String,
    /// What it answered, cut
    result: String,
    /// Whether it failed
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    failed: bool,
}

#[derive(JsonSchema)]
struct FreeTextReply {}

#[derive(Serialize)]
struct EvidenceAskContext<'a> {
    question: &'a str,
}

static ASK: LazyLock<AskTemplate> = LazyLock::new(|| {
    let freedom = GenerationParams {
        max_tokens: 1_500,
        temperature: 0.2,
    };
    AskTemplate::new::<FreeTextReply>("act", include_str!("gather_evidence.md"), freedom)
});

/// Lets a model use these tools for the step that `step` asks for. Without tools nothing is asked.
pub(crate) async fn gather_evidence(
    tools: Option<&[String]>,
    step: &ModelRequest,
    call: &ToolContext,
) -> Result<StepEvidence, ToolError> {
    let Some(tools) = tools.filter(|tools| !tools.is_empty()) else {
        return Ok(StepEvidence::default());
    };
    let hands = call.select_tools("tools", tools).await?;
    call.progress(0.0, Some(1.0), "looking things up");
    let question: Vec<&str> = step.messages.iter().map(|it| it.text.as_str()).collect();
    let ask = ModelRequest {
        schema: Value::Null,
        plain_text: PlainText::IsTheAnswer,
        ..ASK.render(EvidenceAskContext {
            question: &question.join("\n\n"),
        })?
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
    /// As much of it as the ask for the step has room for.
    pub(crate) fn to_prompt(&self, call: &ToolContext) -> EvidenceInPrompt {
        let budget = call.context_tokens() / PROMPT_SHARE;
        let one = budget / self.tool_uses.len().max(1);
        let evidence = self.tool_uses.iter().map(|evidence| ToolUseInPrompt {
            tool: evidence.tool.clone(),
            arguments: truncate_tokens(&evidence.arguments.to_string(), one / 4),
            result: truncate_tokens(&evidence.result, one - one / 4),
            failed: evidence.failed,
        });
        EvidenceInPrompt {
            evidence: evidence.collect(),
            summary: truncate_tokens(&self.summary, budget / 4),
        }
    }

    /// As it is kept with the thought; null if there is none.
    pub(crate) fn to_metadata(&self) -> Value {
        if self.tool_uses.is_empty() {
            return Value::Null;
        }
        json!(self.tool_uses)
    }

    /// As it is told with the thought.
    pub(crate) fn summarize(&self) -> Vec<ToolUseSummary> {
        let used = self.tool_uses.iter().map(|evidence| ToolUseSummary {
            tool: evidence.tool.clone(),
            result: deliberate_core::truncate_chars(&evidence.result, SUMMARY_CHARS),
            failed: evidence.failed,
        });
        used.collect()
    }
}
