//! The reasoning tools on a real store, with a scripted model.

use std::{fmt::Write, ops::Deref, sync::Arc};

use deliberate_core::{Change, Mode, Score, Session, Thought, Timestamp};
use deliberate_llm::{FinishReason, ModelReply, ModelRequest};
use deliberate_reasoning::{TextEmbedder, register_with_embedder};
use deliberate_store::EpochFilter;
pub(crate) use deliberate_testkit::fixtures::{FULL_PAGE, reply as text_reply};
use deliberate_testkit::fixtures::{RegistryBuilder, RegistryFixture, ScriptedModel, expect_done};
use deliberate_toolkit::{CallLimits, CallOutcome, NeedsReply, Tool, ToolError};
use serde_json::{Value, json};

pub(crate) fn truncated_reply(text: &str) -> ModelReply {
    ModelReply {
        finish_reason: FinishReason::Length,
        ..text_reply(text)
    }
}

/// A model that takes one step after the other when the script has ended.
fn steady_model() -> Arc<ScriptedModel> {
    ScriptedModel::from_fn(|_, number| Ok(text_reply(&step_text(&format!("thought {number}")))))
}

/// A step in the requested format: the text, then the fields.
pub(crate) fn step_text(thought: &str) -> String {
    let fields = json!({ "answer": null, "weakest_point": "a guess", "confidence_percent": 70 });
    format!("{thought}\n\n{fields}")
}

/// A step as one JSON object, as a caller's reply and some models write it.
pub(crate) fn step_json(thought: &str) -> String {
    json!({ "thought": thought, "confidence_percent": 70, "weakest_point": "a guess" }).to_string()
}

/// Renders a request for snapshots.
pub(crate) fn render_request(ask: &ModelRequest) -> String {
    let mut text = format!(
        "key {}, purpose {}, at most {} tokens, temperature {}, {:?}\nvariables {:?}\nschema {:#}\n",
        ask.key,
        ask.purpose.as_str(),
        ask.max_tokens,
        ask.temperature,
        ask.plain_text,
        ask.variables,
        ask.schema,
    );
    write!(text, "\n=== system\n{}\n", ask.system).unwrap();
    text + &conversation(ask)
}

/// The system text and the messages of a request.
pub(crate) fn conversation(ask: &ModelRequest) -> String {
    let mut text = String::new();
    for message in &ask.messages {
        write!(text, "\n=== {:?}\n{}\n", message.role, message.text).unwrap();
    }
    text
}

pub(crate) struct ReasoningTestRegistry(RegistryFixture);

impl Deref for ReasoningTestRegistry {
    type Target = RegistryFixture;

    fn deref(&self) -> &RegistryFixture {
        &self.0
    }
}

impl ReasoningTestRegistry {
    pub(crate) fn new() -> Self {
        Self::with_bounds(CallLimits::default())
    }

    pub(crate) fn with_bounds(bounds: CallLimits) -> Self {
        let parts = RegistryBuilder::new().limits(bounds);
        Self::build(parts.scripted_model(steady_model()), None)
    }

    /// Finds thoughts by meaning if there is an embedder.
    pub(crate) fn with_embedder(embedder: Option<Arc<dyn TextEmbedder>>) -> Self {
        Self::build(
            RegistryBuilder::new().scripted_model(steady_model()),
            embedder,
        )
    }

    /// Without a model, so that the client must reply.
    pub(crate) fn without_model() -> Self {
        Self::build(RegistryBuilder::new(), None)
    }

    /// With another tool.
    pub(crate) fn with_tool(bounds: CallLimits, tool: impl Tool) -> Self {
        let parts = RegistryBuilder::new().limits(bounds);
        Self(parts.build(|registry| register_with_embedder(registry, None).with(tool)))
    }

    fn build(parts: RegistryBuilder, embedder: Option<Arc<dyn TextEmbedder>>) -> Self {
        Self(parts.build(|registry| register_with_embedder(registry, embedder)))
    }

    /// Scripts the next replies of the model.
    pub(crate) fn script_replies(&self, replies: impl IntoIterator<Item = ModelReply>) {
        self.model.script_replies(replies);
    }

    /// Drops the remaining scripted replies.
    pub(crate) fn clear_script(&self) {
        self.model.clear_script();
    }

    /// The requests to the model, in order.
    pub(crate) fn requests(&self) -> Vec<ModelRequest> {
        self.model.requests()
    }

    pub(crate) fn last_request(&self) -> ModelRequest {
        self.model.last_request()
    }

    pub(crate) async fn call_linear(&self, arguments: Value) -> Result<CallOutcome, ToolError> {
        self.call_tool("reasoning_linear", arguments).await
    }

    pub(crate) async fn call_tool(
        &self,
        tool: &str,
        arguments: Value,
    ) -> Result<CallOutcome, ToolError> {
        self.call(tool, arguments).await
    }

    /// Calls a tool without a model; the client gives these replies, one per round, and all are
    /// used.
    pub(crate) async fn call_with_client_replies(
        &self,
        tool: &str,
        arguments: Value,
        replies: &[Value],
    ) -> Value {
        let mut replies = replies.iter();
        let next = |_: &NeedsReply| vec![replies.next().expect("one reply more").clone()];
        let output = self.call_with_client(tool, arguments, next).await;
        assert_eq!(replies.next(), None);
        output
    }

    /// Calls a tool without a model; the client answers all asks of a round at once, and all rounds
    /// are used.
    pub(crate) async fn call_with_client_rounds(
        &self,
        tool: &str,
        arguments: Value,
        rounds: &[Vec<Value>],
    ) -> Value {
        let mut rounds = rounds.iter();
        let next = |needs: &NeedsReply| {
            let replies = rounds.next().expect("one round more").clone();
            assert_eq!(needs.asks.len(), replies.len(), "{tool}");
            replies
        };
        let output = self.call_with_client(tool, arguments, next).await;
        assert_eq!(rounds.next(), None);
        output
    }

    /// The stored state without new ids and times, to compare two registries.
    pub(crate) async fn stored_summary(&self) -> Vec<Value> {
        let thoughts = self.thoughts().await;
        let place = |id: &deliberate_core::ThoughtId| thoughts.iter().position(|it| it.id == *id);
        let mut all = Vec::new();
        for thought in &thoughts {
            let mut metadata = thought.metadata.clone().unwrap_or_default();
            if let Some(ids) = metadata.get_mut("perspectives") {
                *ids = json!(ids.as_array().unwrap().len());
            }
            if let Some(id) = metadata.get_mut("synthesis") {
                *id = json!(place(&id.as_str().unwrap().into()));
            }
            let session = self
                .store
                .session(&thought.session_id)
                .await
                .unwrap()
                .unwrap();
            all.push(json!({
                "session": [session.mode, session.title],
                "input": thought.input,
                "content": thought.content,
                "confidence": thought.confidence,
                "mode": thought.mode,
                "parent": thought.parent_id.as_ref().map(place),
                "branch": thought.branch_id,
                "metadata": metadata,
            }));
        }
        all
    }

    /// Takes one step that must succeed.
    pub(crate) async fn think_ok(&self, arguments: Value) -> Value {
        expect_done(self.call_linear(arguments).await)
    }

    /// Takes one step that must fail.
    pub(crate) async fn think_err(&self, arguments: Value) -> ToolError {
        self.call_linear(arguments).await.unwrap_err()
    }

    /// All stored thoughts.
    pub(crate) async fn thoughts(&self) -> Vec<Thought> {
        self.0.thoughts(EpochFilter::All).await
    }

    /// The only stored thought.
    pub(crate) async fn only_thought(&self) -> Thought {
        let mut thoughts = self.thoughts().await;
        assert_eq!(thoughts.len(), 1, "{thoughts:?}");
        thoughts.remove(0)
    }

    /// Asserts that the store holds nothing but the invocation log.
    pub(crate) async fn assert_empty(&self) {
        assert_eq!(self.store.sessions(FULL_PAGE).await.unwrap(), []);
    }

    /// Adds a session `s` of the mode with these steps, each an input and a thought.
    pub(crate) async fn add_session<S: Into<String>>(
        &self,
        mode: Mode,
        steps: impl IntoIterator<Item = (S, S)>,
    ) {
        let moment = Timestamp::parse("2025-12-31T00:00:00Z").unwrap();
        let mut changes = vec![Change::AddSession(Session {
            id: "s".into(),
            mode,
            title: Some("a session".to_owned()),
            created_at: moment,
            updated_at: moment,
            active_branch_id: None,
            metadata: None,
        })];
        let steps = steps
            .into_iter()
            .enumerate()
            .map(|(number, (input, content))| {
                let number = number + 1;
                let parent = (number > 1).then(|| format!("t{}", number - 1));
                Change::AddThought(Thought {
                    id: format!("t{number}").into(),
                    session_id: "s".into(),
                    input: Some(input.into()),
                    content: content.into(),
                    confidence: Score::DEFAULT_CONFIDENCE,
                    mode,
                    parent_id: parent.map(Into::into),
                    branch_id: None,
                    set_aside: false,
                    created_at: moment,
                    metadata: None,
                })
            });
        changes.extend(steps);
        self.store.commit(changes).await.unwrap();
    }
}

/// A reply in the requested format: the text, then the fields.
pub(crate) fn reply_with_fields(text: &str, fields: &Value) -> ModelReply {
    text_reply(&format!("{text}\n\n{fields}"))
}
