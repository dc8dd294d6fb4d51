//! One thought after another, each building on the last.

use std::sync::LazyLock;

use deliberate_core::{Change, Mode, Score, Session, SessionId, Thought, ThoughtId};
use deliberate_thinker::{Ask, PlainText};
use deliberate_toolkit::{About, Annotations, Call, Limits, Outcome, Thinking, Tool, ToolError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::{
    acting::{Found, ShownFound, Used, find_out},
    context::{Past, open_standing},
    prompt::{Asking, Freedom},
    said::{Doubt, Sure, any_text, something},
    session::{Home, WorksOn, known_if_named, metadata, open, thread_of},
};

/// `reasoning_linear`.
pub struct Linear;

/// What it is called with.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Input {
    /// The thought content to process
    #[schemars(length(min = 1))]
    content: String,
    /// Session to continue; leave out to begin one
    session_id: Option<SessionId>,
    /// Confidence threshold (0.0-1.0): below it the answer says so
    confidence: Option<Score>,
    /// Tools to use first, by name; their answers are kept as evidence
    #[schemars(length(max = 16))]
    tools: Option<Vec<String>>,
}

impl Input {
    /// The usual, about `content`.
    pub(crate) fn about(content: String) -> Self {
        Self {
            content,
            session_id: None,
            confidence: None,
            tools: None,
        }
    }
}

/// What it answers.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Output {
    /// The new thought
    thought_id: ThoughtId,
    /// Pass it to build on this thought
    session_id: SessionId,
    /// The reasoning of the new thought
    content: String,
    /// How sure the model is of it
    confidence: Score,
    /// The thought it builds on; null for the first
    previous_thought: Option<ThoughtId>,
    #[serde(flatten)]
    doubt: Doubt,
    /// What tools answered for it
    #[serde(skip_serializing_if = "Vec::is_empty")]
    evidence: Vec<Used>,
}

/// What the model is asked for. `metadata` is what pipes written for the original server answer; it
/// is understood but not asked for.
#[derive(Debug, Deserialize, JsonSchema)]
// All is asked for, though an answer without some of it can be used.
#[schemars(extend("required" = ["thought", "confidence_percent", "weakest_point"]))]
struct Step {
    /// The next step of the reasoning
    #[schemars(length(min = 1))]
    #[serde(deserialize_with = "something")]
    thought: String,
    #[serde(flatten)]
    sure: Sure,
    /// What is most likely to be wrong with it
    #[serde(default, deserialize_with = "any_text")]
    #[schemars(with = "String", length(max = 300))]
    weakest_point: Option<String>,
    #[schemars(skip)]
    metadata: Option<Value>,
}

impl Step {
    #[expect(
        clippy::needless_pass_by_value,
        reason = "the thinker hands its text over"
    )]
    fn plain(thought: String) -> Self {
        Self {
            thought: thought.trim().to_owned(),
            sure: Sure::default(),
            weakest_point: None,
            metadata: None,
        }
    }
}

/// What the ask shows.
#[derive(Serialize)]
struct Shown<'a> {
    #[serde(flatten)]
    past: &'a Past,
    #[serde(flatten)]
    found: ShownFound,
    content: &'a str,
}

/// Limits as in the pipes of the original server.
static ASK: LazyLock<Asking> = LazyLock::new(|| {
    let freedom = Freedom {
        max_tokens: 2_000,
        temperature: 0.7,
    };
    Asking::new::<Step>("linear", include_str!("linear.md"), freedom)
});

impl Tool for Linear {
    type Input = Input;
    type Output = Output;

    fn about(&self) -> About {
        About {
            name: "reasoning_linear",
            title: "Think one step",
            description: "Single-pass sequential reasoning: process a thought and get the logical \
                          continuation or analysis. Pass session_id to build on earlier steps.",
            annotations: Annotations::THINKS,
            thinks: true,
            limits: Limits::default(),
        }
    }

    async fn run(&self, input: Input, call: &Call) -> Result<Outcome<Output>, ToolError> {
        let session =
            known_if_named(input.session_id.as_ref(), WorksOn::Mode(Mode::Linear), call).await?;
        step(input, session, call).await
    }
}

/// Takes one step in a session of any mode, or in a new one.
pub(crate) async fn step(
    input: Input,
    session: Option<Session>,
    call: &Call,
) -> Result<Outcome<Output>, ToolError> {
    let content = call.checked_content("content", &input.content)?;
    let past = open_standing(session.as_ref(), call).await?;
    call.progress(0.0, Some(1.0), "thinking");
    let plain = ask(content, &past, ShownFound::default(), session.as_ref())?;
    let found = find_out(input.tools.as_deref(), &plain, call).await?;
    let ask = ask(content, &past, found.shown(call), session.as_ref())?;
    let answer = call.think(ask, Some(Step::plain)).await?;
    let home = Home::of(session, Mode::Linear, content, call);
    Ok(outcome(input, &home, past, found, answer, call))
}

fn ask(
    content: &str,
    past: &Past,
    found: ShownFound,
    session: Option<&Session>,
) -> Result<Ask, ToolError> {
    let ask = ASK.ask(Shown {
        past,
        found,
        content,
    })?;
    Ok(Ask {
        plain_text: PlainText::IsTheAnswer,
        thread: session.and_then(thread_of),
        variables: [("content".to_owned(), content.to_owned())].into(),
        ..ask
    })
}

fn outcome(
    input: Input,
    home: &Home,
    past: Past,
    found: Found,
    answer: Thinking<Step>,
    call: &Call,
) -> Outcome<Output> {
    let step = answer.value;
    let confidence = step.sure.score();
    let thought = Thought {
        id: call.fresh(),
        session_id: home.id(),
        input: Some(input.content),
        content: step.thought,
        confidence,
        mode: Mode::Linear,
        parent_id: past.latest,
        branch_id: past.branch,
        set_aside: false,
        created_at: call.now(),
        metadata: metadata([
            ("weakest_point", json!(step.weakest_point)),
            ("model", json!(step.metadata)),
            ("evidence", found.kept()),
        ]),
    };
    let output = Output {
        thought_id: thought.id.clone(),
        session_id: home.id(),
        content: thought.content.clone(),
        confidence,
        previous_thought: thought.parent_id.clone(),
        doubt: Doubt::of(input.confidence, confidence, step.weakest_point.as_deref()),
        evidence: found.told(),
    };
    let mut changes = home.changes_with(answer.thread);
    changes.extend(found.changes);
    changes.extend(open(thought.branch_id.as_ref()));
    changes.push(Change::AddThought(thought));
    Outcome {
        output,
        changes,
        session: Some(home.id()),
    }
}
