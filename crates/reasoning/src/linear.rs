//! The linear mode: one thought after another, each building on the last.

use std::sync::LazyLock;

use deliberate_core::{Change, Mode, Score, Session, SessionId, Thought, ThoughtId};
use deliberate_llm::{ModelRequest, PlainText};
use deliberate_toolkit::{
    ModelAnswer, Tool, ToolContext, ToolError, ToolHints, ToolLimits, ToolMeta, ToolOutput,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{
    evidence::{EvidenceInPrompt, StepEvidence, ToolUseSummary, gather_evidence},
    history::{SessionHistory, current_open_history},
    model_fields::{StepFields, below_threshold, non_blank},
    prompt_template::{GenerationParams, ReasoningPromptTemplate},
};
use crate::{
    mcp_prompts::{PROBLEM, ReasoningPrompt, SESSION, number_argument},
    modes::{ModeDefinition, ModeRouting, ModeRunner, RoutingExample, output_to_json},
    session::{
        TargetSession, metadata_object, optional_session, provider_thread, require_open_branch,
    },
};

pub(crate) static MODE: ModeDefinition = ModeDefinition {
    name: Mode::Linear.as_str(),
    tool: Some("reasoning_linear"),
    register: |registry| registry.with(Linear),
    prompt: Some(ReasoningPrompt {
        name: "think",
        title: "Think step by step",
        description: "Work through a problem one recorded step after another.",
        text: include_str!("mcp_prompts/think.md"),
        arguments: &[
            PROBLEM,
            SESSION,
            number_argument("steps", "The largest number of steps, 1 to 20", 1, 20),
        ],
    }),
    routing: Some(&ModeRouting {
        summary: "one right answer has to be worked out: a calculation, a puzzle, a proof, a date, \
                  what code does",
        examples: &[
            RoutingExample {
                problem: "Two pipes fill a pool in 4 and 6 hours. How long do both need?",
                reason: "It asks for a time, which has to be calculated.",
            },
            RoutingExample {
                problem: "Why does this loop never end? i = 1; while i > 0: i = i + 1",
                reason: "It asks for a cause, which has to be deduced.",
            },
            RoutingExample {
                problem: "Ann is taller than Bo, and Cy is shorter than Bo. Who is the shortest?",
                reason: "It asks for an order, which has to be deduced.",
            },
        ],
        complexity: 0.4,
        run: ModeRunner::Run(|content, session, call| {
            Box::pin(async move {
                let input = Input::from_content(content);
                output_to_json(think_step(input, session, call).await?)
            })
        }),
        ..ModeRouting::DEFAULT
    }),
};

/// The `reasoning_linear` tool.
pub(crate) struct Linear;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Input {
    /// The thought content to process
    #[schemars(length(min = 1))]
    content: String,
    /// Session to continue; omit to begin one
    session_id: Option<SessionId>,
    /// Confidence threshold
    confidence: Option<Score>,
    /// Tools to use first, by name
    #[schemars(length(max = 16))]
    tools: Option<Vec<String>>,
}

impl Input {
    /// Builds the input for `content` with the defaults of every other field.
    pub(crate) fn from_content(content: String) -> Self {
        Self {
            content,
            session_id: None,
            confidence: None,
            tools: None,
        }
    }
}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Output {
    /// The new thought
    thought_id: ThoughtId,
    /// Pass it to build on this thought
    session_id: SessionId,
    /// The reasoning of the new thought
    content: String,
    /// The result so far; null if there is none yet
    answer: Option<String>,
    /// How sure the model is of it
    confidence: Score,
    /// What is most likely to be wrong; the next step should settle it
    #[serde(skip_serializing_if = "Option::is_none")]
    weakest_point: Option<String>,
    /// The thought it builds on; null for the first
    previous_thought: Option<ThoughtId>,
    /// true if `confidence` is below the given threshold, else omitted
    #[serde(skip_serializing_if = "Option::is_none")]
    below_threshold: Option<bool>,
    /// Answers of tools for this thought
    #[serde(skip_serializing_if = "Vec::is_empty")]
    evidence: Vec<ToolUseSummary>,
}

/// The answer that the model is asked for: the thought as free text, then the fields. Pipes written
/// for the original server also answer `metadata`; it is accepted but not requested.
#[derive(Debug, Deserialize, JsonSchema)]
// The schema requires every field, although an answer without some of them is accepted.
#[schemars(extend("required" = ["answer", "weakest_point", "confidence_percent"]))]
pub(crate) struct LinearStep {
    #[schemars(skip)]
    #[serde(deserialize_with = "non_blank")]
    pub(crate) thought: String,
    #[serde(flatten)]
    pub(crate) fields: StepFields,
    #[schemars(skip)]
    metadata: Option<Value>,
}

impl LinearStep {
    #[expect(
        clippy::needless_pass_by_value,
        reason = "the model layer passes the text by value"
    )]
    pub(crate) fn from_plain_text(thought: String) -> Self {
        Self {
            thought: thought.trim().to_owned(),
            fields: StepFields::default(),
            metadata: None,
        }
    }
}

/// The values that the prompt template shows.
#[derive(Serialize)]
struct LinearPromptContext<'a> {
    #[serde(flatten)]
    past: &'a SessionHistory,
    #[serde(flatten)]
    found: EvidenceInPrompt,
    content: &'a str,
}

/// The same limits as the pipes of the original server have.
static ASK: LazyLock<ReasoningPromptTemplate> = LazyLock::new(|| {
    let freedom = GenerationParams {
        max_tokens: 2_000,
        temperature: 0.7,
    };
    ReasoningPromptTemplate::free_text::<LinearStep>(
        "linear",
        include_str!("linear.md"),
        "thought",
        freedom,
    )
});

impl Tool for Linear {
    type Input = Input;
    type Output = Output;

    fn meta(&self) -> ToolMeta {
        ToolMeta {
            name: "reasoning_linear",
            title: "Think one step",
            description: "Single-pass sequential reasoning: work a problem out step by step, or take \
                          the next step of a session. Best where one answer is right.",
            hints: ToolHints::ASKS_MODEL,
            asks_model: true,
            limits: ToolLimits::default(),
        }
    }

    fn takes_reply(&self) -> bool {
        true
    }

    async fn run(&self, input: Input, call: &ToolContext) -> Result<ToolOutput<Output>, ToolError> {
        let session = optional_session(input.session_id.as_ref(), call).await?;
        think_step(input, session, call).await
    }
}

/// Takes one step in a session of any mode, or in a new one.
pub(crate) async fn think_step(
    input: Input,
    session: Option<Session>,
    call: &ToolContext,
) -> Result<ToolOutput<Output>, ToolError> {
    let content = call.check_content("content", &input.content)?;
    let past = current_open_history(session.as_ref(), call).await?;
    call.progress(0.0, Some(1.0), "thinking");
    let plain = step_request(content, &past, session.as_ref(), call)?;
    let found = gather_evidence(input.tools.as_deref(), &plain, call).await?;
    let evidence = found.to_prompt(call);
    let ask = step_request_with(content, &past, evidence, session.as_ref(), call)?;
    let answer = call.ask(ask, Some(LinearStep::from_plain_text)).await?;
    let home = TargetSession::existing_or_new(session, Mode::Linear, content, call);
    Ok(step_output(input, &home, past, found, answer, call))
}

/// The request to work `content` out after these earlier steps.
pub(crate) fn step_request(
    content: &str,
    past: &SessionHistory,
    session: Option<&Session>,
    call: &ToolContext,
) -> Result<ModelRequest, ToolError> {
    step_request_with(content, past, EvidenceInPrompt::default(), session, call)
}

fn step_request_with(
    content: &str,
    past: &SessionHistory,
    found: EvidenceInPrompt,
    session: Option<&Session>,
    call: &ToolContext,
) -> Result<ModelRequest, ToolError> {
    let context = LinearPromptContext {
        past,
        found,
        content,
    };
    let ask = ASK.render(context, call)?;
    Ok(ModelRequest {
        plain_text: PlainText::IsTheAnswer,
        thread: session.and_then(provider_thread),
        variables: [("content".to_owned(), content.to_owned())].into(),
        ..ask
    })
}

fn step_output(
    input: Input,
    home: &TargetSession,
    past: SessionHistory,
    found: StepEvidence,
    answer: ModelAnswer<LinearStep>,
    call: &ToolContext,
) -> ToolOutput<Output> {
    let step = answer.value;
    let confidence = step.fields.confidence();
    let StepFields {
        answer: result,
        weakest_point,
        ..
    } = step.fields;
    let thought = Thought {
        id: call.new_id(),
        session_id: home.id(),
        input: Some(input.content),
        content: step.thought,
        confidence,
        mode: Mode::Linear,
        parent_id: past.latest,
        branch_id: past.branch,
        set_aside: false,
        created_at: call.now(),
        metadata: metadata_object([
            ("answer", json!(result)),
            ("weakest_point", json!(weakest_point)),
            ("model", json!(step.metadata)),
            ("evidence", found.to_metadata()),
        ]),
    };
    let output = Output {
        thought_id: thought.id.clone(),
        session_id: home.id(),
        content: thought.content.clone(),
        answer: result,
        confidence,
        weakest_point,
        previous_thought: thought.parent_id.clone(),
        below_threshold: below_threshold(input.confidence, confidence),
        evidence: found.summarize(),
    };
    let mut changes = home.changes_with_thread(answer.thread);
    changes.extend(found.changes);
    changes.extend(require_open_branch(thought.branch_id.as_ref()));
    changes.push(Change::AddThought(thought));
    ToolOutput {
        output,
        changes,
        session: Some(home.id()),
    }
}
