//! One thought after another, each building on the last.

use std::{collections::BTreeMap, sync::LazyLock};

use deliberate_core::{
    Change, Mode, ModelScore, Percent, Score, Session, SessionId, Thought, ThoughtId, cut_to_chars,
};
use deliberate_thinker::{Ask, Message, PlainText, Purpose};
use deliberate_toolkit::{
    About, Annotations, Call, Limits, Outcome, Thinking, Tool, ToolError, answer_schema,
};
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, de};
use serde_json::{Value, json};

use crate::{
    context::{Past, past},
    prompt::AskTemplate,
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
}

/// What it answers.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Output {
    thought_id: ThoughtId,
    session_id: SessionId,
    content: String,
    confidence: Score,
    previous_thought: Option<ThoughtId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    below_threshold: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    weakest_point: Option<String>,
}

/// What the model is asked for. `confidence` and `metadata` are what pipes written for the
/// original server answer; they are understood but not asked for.
#[derive(Debug, Deserialize, JsonSchema)]
// All is asked for, though an answer without some of it can be used.
#[schemars(extend("required" = ["thought", "confidence_percent", "weakest_point"]))]
struct Step {
    /// The next step of the reasoning
    #[schemars(length(min = 1))]
    #[serde(deserialize_with = "something")]
    thought: String,
    /// How sure you are, 0 to 100
    #[serde(default, deserialize_with = "Percent::or_none")]
    #[schemars(with = "Percent")]
    confidence_percent: Option<Percent>,
    /// What is most likely to be wrong with it
    #[schemars(with = "String", length(max = 300))]
    weakest_point: Option<String>,
    #[serde(default, deserialize_with = "ModelScore::or_none")]
    #[schemars(skip)]
    confidence: Option<ModelScore>,
    #[schemars(skip)]
    metadata: Option<Value>,
}

/// Text that says something. The schema can't see that blanks say nothing; refused here, they are
/// asked for again.
fn something<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    let text = String::deserialize(deserializer)?;
    if text.chars().all(is_blank) {
        return Err(de::Error::custom("`thought` must not be blank"));
    }
    Ok(text)
}

/// Whether nobody can see it: blanks, and characters of no width.
fn is_blank(letter: char) -> bool {
    letter.is_whitespace()
        || letter.is_control()
        || matches!(letter, '\u{200b}'..='\u{200f}' | '\u{2060}' | '\u{feff}')
}

impl Step {
    fn plain(thought: String) -> Self {
        Self {
            thought,
            confidence_percent: None,
            weakest_point: None,
            confidence: None,
            metadata: None,
        }
    }

    fn score(&self) -> Score {
        let percent = self.confidence_percent.map(|percent| percent.0);
        percent
            .or(self.confidence.map(|score| score.0))
            .unwrap_or(Score::DEFAULT_CONFIDENCE)
    }
}

/// What the ask shows.
#[derive(Serialize)]
struct Shown<'a> {
    #[serde(flatten)]
    past: &'a Past,
    content: &'a str,
}

static ASK: LazyLock<AskTemplate> =
    LazyLock::new(|| AskTemplate::new("linear", include_str!("linear.md")));

static SCHEMA: LazyLock<Value> = LazyLock::new(answer_schema::<Step>);

/// As in the pipes of the original server.
const MAX_TOKENS: u32 = 2_000;
const TEMPERATURE: f32 = 0.7;

/// A title is read in a list.
const TITLE_CHARS: usize = 80;

impl Tool for Linear {
    type Input = Input;
    type Output = Output;

    fn about(&self) -> About {
        About {
            name: "reasoning_linear",
            title: "Think one step",
            description: "Single-pass sequential reasoning: process a thought and get the logical \
                          continuation or analysis. Pass session_id to build on earlier steps.",
            annotations: Annotations {
                read_only: false,
                destructive: false,
                idempotent: false,
                open_world: true,
            },
            thinks: true,
            limits: Limits::default(),
        }
    }

    async fn run(&self, input: Input, call: &Call) -> Result<Outcome<Output>, ToolError> {
        let content = call.checked_content("content", &input.content)?;
        let known = match &input.session_id {
            Some(id) => Some(linear_session(id, call).await?),
            None => None,
        };
        let mut past = match &known {
            Some(session) => past(session, call).await?,
            None => Past::default(),
        };
        past.latest = call.keep("parent", past.latest);
        call.progress(0.0, Some(1.0), "thinking");
        let ask = ask(content, &past, known.as_ref())?;
        let answer = call.think(ask, Some(Step::plain)).await?;
        Ok(outcome(&input, known, past, answer, call))
    }
}

async fn linear_session(id: &SessionId, call: &Call) -> Result<Session, ToolError> {
    let session = call.session(id).await?;
    if session.mode == Mode::Linear {
        return Ok(session);
    }
    Err(ToolError::WrongMode {
        id: session.id.to_string(),
        mode: session.mode,
        wanted: Mode::Linear,
    })
}

fn ask(content: &str, past: &Past, session: Option<&Session>) -> Result<Ask, ToolError> {
    let rendered = ASK.render(Shown { past, content })?;
    Ok(Ask {
        key: "linear".to_owned(),
        purpose: Purpose::new("linear"),
        system: rendered.system,
        messages: vec![Message::user(rendered.question)],
        schema: SCHEMA.clone(),
        plain_text: PlainText::IsTheAnswer,
        max_tokens: MAX_TOKENS,
        temperature: TEMPERATURE,
        thread: session.and_then(thread_of),
        variables: BTreeMap::from([("content".to_owned(), content.to_owned())]),
    })
}

/// The provider's conversation that this session continues.
fn thread_of(session: &Session) -> Option<String> {
    let thread = session.metadata.as_ref()?.get("thread")?;
    thread.as_str().map(str::to_owned)
}

fn outcome(
    input: &Input,
    known: Option<Session>,
    past: Past,
    answer: Thinking<Step>,
    call: &Call,
) -> Outcome<Output> {
    let step = answer.value;
    let now = call.now();
    let confidence = step.score();
    let (session_id, change) = match known {
        Some(session) => continued(session, answer.thread, call),
        None => begun(input, answer.thread, call),
    };
    let mut changes = Vec::from_iter(change);
    let below = input.confidence.map(|threshold| confidence < threshold);
    let thought = Thought {
        id: call.fresh(),
        session_id: session_id.clone(),
        input: Some(input.content.clone()),
        content: step.thought.trim().to_owned(),
        confidence,
        mode: Mode::Linear,
        parent_id: past.latest,
        branch_id: None,
        created_at: now,
        metadata: about_step(step.weakest_point.as_deref(), step.metadata),
    };
    let output = Output {
        thought_id: thought.id.clone(),
        session_id: session_id.clone(),
        content: thought.content.clone(),
        confidence,
        previous_thought: thought.parent_id.clone(),
        below_threshold: below.filter(|below| *below),
        weakest_point: step.weakest_point.filter(|_| below == Some(true)),
    };
    changes.push(Change::AddThought(thought));
    Outcome {
        output,
        changes,
        session: Some(session_id),
    }
}

/// A session that goes on; it changes only if the provider opened another conversation.
fn continued(
    mut session: Session,
    thread: Option<String>,
    call: &Call,
) -> (SessionId, Option<Change>) {
    let id = session.id.clone();
    if thread.is_none() || thread == thread_of(&session) {
        return (id, None);
    }
    set_thread(&mut session, thread);
    session.updated_at = call.now();
    (id, Some(Change::UpdateSession(session)))
}

/// A session that begins with this step.
fn begun(input: &Input, thread: Option<String>, call: &Call) -> (SessionId, Option<Change>) {
    let now = call.now();
    let words: Vec<&str> = input.content.split_whitespace().collect();
    let mut session = Session {
        id: call.fresh(),
        mode: Mode::Linear,
        title: Some(cut_to_chars(&words.join(" "), TITLE_CHARS)),
        created_at: now,
        updated_at: now,
        active_branch_id: None,
        metadata: None,
    };
    set_thread(&mut session, thread);
    (session.id.clone(), Some(Change::AddSession(session)))
}

fn set_thread(session: &mut Session, thread: Option<String>) {
    let Some(thread) = thread else { return };
    match session.metadata.as_mut().and_then(Value::as_object_mut) {
        Some(fields) => {
            fields.insert("thread".to_owned(), thread.into());
        }
        None => session.metadata = Some(json!({ "thread": thread })),
    }
}

/// What else is worth keeping of a step.
fn about_step(weakest_point: Option<&str>, model_said: Option<Value>) -> Option<Value> {
    let model_said =
        model_said.filter(|said| said.as_object().is_none_or(|fields| !fields.is_empty()));
    match (weakest_point, model_said) {
        (None, None) => None,
        (weakest_point, model_said) => {
            let mut kept = serde_json::Map::new();
            if let Some(point) = weakest_point {
                kept.insert("weakest_point".to_owned(), point.into());
            }
            if let Some(said) = model_said {
                kept.insert("model".to_owned(), said);
            }
            Some(Value::Object(kept))
        }
    }
}
