//! Reasoning that acts: before a step is taken, a model may use tools for it, and what they
//! answered goes into the ask for the step and is kept with it as evidence.

use std::sync::LazyLock;

use deliberate_core::{Change, cut_to_tokens};
use deliberate_thinker::{Ask, PlainText};
use deliberate_toolkit::{Acting, Call, Evidence, ToolError};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Value, json};

use crate::prompt::{Asking, Freedom};

/// The share of the budget that what was found may take in the ask for the step.
const SHARE: usize = 2;

/// How much of an answer of a tool is told with the thought; the whole is kept with it.
const TOLD_CHARS: usize = 300;

/// What tools found out for a step.
#[derive(Debug, Clone, Default)]
pub(crate) struct Found {
    evidence: Vec<Evidence>,
    summary: String,
    /// What the tools want remembered.
    pub(crate) changes: Vec<Change>,
}

/// What the ask for the step shows of it.
#[derive(Debug, Clone, Default, Serialize)]
pub(crate) struct ShownFound {
    evidence: Vec<ShownEvidence>,
    summary: String,
}

#[derive(Debug, Clone, Serialize)]
struct ShownEvidence {
    tool: String,
    arguments: String,
    result: String,
    failed: bool,
}

// One use of a tool.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub(crate) struct Used {
    /// The tool
    tool: String,
    /// What it answered, cut
    result: String,
    /// Whether it failed
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    failed: bool,
}

#[derive(JsonSchema)]
struct Anything {}

#[derive(Serialize)]
struct Question<'a> {
    question: &'a str,
}

static ASK: LazyLock<Asking> = LazyLock::new(|| {
    let freedom = Freedom {
        max_tokens: 1_500,
        temperature: 0.2,
    };
    Asking::new::<Anything>("act", include_str!("act.md"), freedom)
});

/// Lets a model use these tools for the step that `step` asks for. Without tools nothing is asked.
pub(crate) async fn find_out(
    tools: Option<&[String]>,
    step: &Ask,
    call: &Call,
) -> Result<Found, ToolError> {
    let Some(tools) = tools.filter(|tools| !tools.is_empty()) else {
        return Ok(Found::default());
    };
    let hands = call.hands("tools", tools).await?;
    call.progress(0.0, Some(1.0), "looking things up");
    let question: Vec<&str> = step.messages.iter().map(|it| it.text.as_str()).collect();
    let ask = Ask {
        schema: Value::Null,
        plain_text: PlainText::IsTheAnswer,
        ..ASK.ask(Question {
            question: &question.join("\n\n"),
        })?
    };
    let acted = call.act(ask, &hands, Acting::default()).await?;
    Ok(Found {
        evidence: acted.evidence,
        summary: acted.text,
        changes: acted.changes,
    })
}

impl Found {
    /// As much of it as the ask for the step has room for.
    pub(crate) fn shown(&self, call: &Call) -> ShownFound {
        let budget = call.context_tokens() / SHARE;
        let one = budget / self.evidence.len().max(1);
        let evidence = self.evidence.iter().map(|evidence| ShownEvidence {
            tool: evidence.tool.clone(),
            arguments: cut_to_tokens(&evidence.arguments.to_string(), one / 4),
            result: cut_to_tokens(&evidence.result, one - one / 4),
            failed: evidence.failed,
        });
        ShownFound {
            evidence: evidence.collect(),
            summary: cut_to_tokens(&self.summary, budget / 4),
        }
    }

    /// As it is kept with the thought; null if there is none.
    pub(crate) fn kept(&self) -> Value {
        if self.evidence.is_empty() {
            return Value::Null;
        }
        json!(self.evidence)
    }

    /// As it is told with the thought.
    pub(crate) fn told(&self) -> Vec<Used> {
        let used = self.evidence.iter().map(|evidence| Used {
            tool: evidence.tool.clone(),
            result: deliberate_core::cut_to_chars(&evidence.result, TOLD_CHARS),
            failed: evidence.failed,
        });
        used.collect()
    }
}
