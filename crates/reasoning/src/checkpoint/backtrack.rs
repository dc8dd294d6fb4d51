//! `reasoning_backtrack`: returns a session to a checkpoint and optionally takes a new direction.

use std::sync::LazyLock;

use deliberate_core::{
    Branch, BranchId, BranchState, Change, Checkpoint, CheckpointId, CheckpointKind, Graph,
    GraphNode, Mode, NodeId, Score, Session, SessionId, Thought, ThoughtId, truncate_chars,
};
use deliberate_llm::{ModelRequest, PlainText};
use deliberate_store::{BacktrackPreview, EntityCounts};
use deliberate_toolkit::{
    ArgumentIssue, REPLY_FIELD, Tool, ToolContext, ToolError, ToolHints, ToolLimits, ToolMeta,
    ToolOutput,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::{checkpoint_latest_thought, new_checkpoint};
use crate::{
    graph::add_direction_node,
    history::{SessionHistory, ancestor_history, graph_at, metadata_text, with_graph},
    model_fields::{StepFields, below_threshold, non_blank},
    prompt_template::{GenerationParams, ReasoningPromptTemplate},
    session::metadata_object,
};

/// The `reasoning_backtrack` tool.
pub(crate) struct Backtrack;

/// The longest name, so that it fits a list.
const NAME_CHARS: usize = 80;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Input {
    checkpoint_id: CheckpointId,
    /// New direction to explore from there
    #[schemars(length(min = 1))]
    new_direction: Option<String>,
    session_id: Option<SessionId>,
    /// Confidence threshold
    confidence: Option<Score>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Output {
    /// The session that was restored
    session_id: SessionId,
    /// The checkpoint it was restored to
    checkpoint_restored: CheckpointId,
    /// Its name
    checkpoint_name: String,
    /// The thought that is latest now; null if there is none
    thought_id: Option<ThoughtId>,
    /// The text of that thought
    content: Option<String>,
    /// The result of that thought; null if it has none
    answer: Option<String>,
    /// How sure the model is of that thought
    confidence: Option<Score>,
    /// What is most likely to be wrong with it
    #[serde(skip_serializing_if = "Option::is_none")]
    weakest_point: Option<String>,
    /// The active branch; null if none is
    active_branch: Option<BranchId>,
    /// The branch that `new_direction` opened; null without one
    new_branch_id: Option<BranchId>,
    /// In a session of graphs, the node with the new thought; omitted if none was added
    #[serde(skip_serializing_if = "Option::is_none")]
    new_node_id: Option<NodeId>,
    /// How much was set aside
    set_aside: BacktrackCounts,
    /// How much is current again
    brought_back: BacktrackCounts,
    /// Backtrack to it to undo this
    undo_checkpoint_id: CheckpointId,
    /// true if `confidence` is below the given threshold, else omitted
    #[serde(skip_serializing_if = "Option::is_none")]
    below_threshold: Option<bool>,
}

// Counts of entities whose state changed.
#[derive(Debug, Serialize, JsonSchema)]
struct BacktrackCounts {
    /// Number of thoughts
    thoughts: u64,
    /// Number of branches
    branches: u64,
    /// Number of graph nodes
    nodes: u64,
}

impl From<EntityCounts> for BacktrackCounts {
    fn from(moved: EntityCounts) -> Self {
        Self {
            thoughts: moved.thoughts,
            branches: moved.branches,
            nodes: moved.nodes,
        }
    }
}

// The answer that the model is asked for: the reasoning as free text, then the fields.
#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(extend("required" = ["answer", "weakest_point", "confidence_percent"]))]
struct DirectionReply {
    #[serde(deserialize_with = "non_blank")]
    #[schemars(skip)]
    thought: String,
    #[serde(flatten)]
    fields: StepFields,
}

impl DirectionReply {
    fn from_plain_text(thought: String) -> Self {
        Self {
            thought,
            fields: StepFields::default(),
        }
    }
}

/// The values that the prompt template shows.
#[derive(Serialize)]
struct BacktrackPromptContext<'a> {
    #[serde(flatten)]
    past: &'a SessionHistory,
    name: &'a str,
    description: &'a str,
    direction: &'a str,
}

static ASK: LazyLock<ReasoningPromptTemplate> = LazyLock::new(|| {
    let freedom = GenerationParams {
        max_tokens: 2_000,
        temperature: 0.7,
    };
    ReasoningPromptTemplate::free_text::<DirectionReply>(
        "backtracking",
        include_str!("direction.md"),
        "thought",
        freedom,
    )
});

impl Tool for Backtrack {
    type Input = Input;
    type Output = Output;

    fn meta(&self) -> ToolMeta {
        ToolMeta {
            name: "reasoning_backtrack",
            title: "Go back to a checkpoint",
            description: "Restore from a checkpoint and explore alternative reasoning paths: later \
                          steps are set aside, and new_direction opens a branch from there. Can be \
                          undone.",
            hints: ToolHints::ASKS_MODEL,
            asks_model: true,
            limits: ToolLimits::default(),
        }
    }

    fn takes_reply(&self) -> bool {
        true
    }

    async fn run(&self, input: Input, call: &ToolContext) -> Result<ToolOutput<Output>, ToolError> {
        if let Some(id) = &input.session_id {
            crate::lookup::session(call, id).await?;
        }
        let session_id = input.session_id.as_ref();
        let checkpoint = crate::lookup::checkpoint(call, &input.checkpoint_id, session_id).await?;
        let session = crate::lookup::session(call, &checkpoint.session_id).await?;
        let back = BacktrackPlan::prepare(checkpoint, session, call).await?;
        match &input.new_direction {
            None if call.has_reply() => {
                let rule = "is the thought in a new direction and needs new_direction";
                let issue = ArgumentIssue::new(REPLY_FIELD, rule);
                Err(ToolError::Invalid(vec![issue]))
            }
            None => Ok(back.into_output()),
            Some(direction) => {
                let direction = call.check_content("new_direction", direction)?;
                let past =
                    ancestor_history(back.latest_thought.as_ref().map(|it| &it.id), call).await?;
                let past = with_graph(past, &back.session, Some(&back.checkpoint), call).await?;
                let past = call.memoize("past", past.for_model(call).await);
                call.progress(0.0, Some(1.0), "thinking");
                let ask = direction_request(&back.checkpoint, &past, direction, call)?;
                let way = call.ask(ask, Some(DirectionReply::from_plain_text));
                let way = way.await?.value;
                let graph = back.latest_open_graph(call).await?;
                Ok(back.into_output_with_branch(direction, way, input.confidence, graph, call))
            }
        }
    }
}

fn direction_request(
    checkpoint: &Checkpoint,
    past: &SessionHistory,
    direction: &str,
    call: &ToolContext,
) -> Result<ModelRequest, ToolError> {
    let context = BacktrackPromptContext {
        past,
        name: &checkpoint.name,
        description: checkpoint.description.as_deref().unwrap_or_default(),
        direction,
    };
    let ask = ASK.render(context, call)?;
    Ok(ModelRequest {
        plain_text: PlainText::IsTheAnswer,
        variables: [("content".to_owned(), direction.to_owned())].into(),
        ..ask
    })
}

/// A backtrack before its commit.
struct BacktrackPlan {
    checkpoint: Checkpoint,
    session: Session,
    /// The latest thought at the checkpoint.
    latest_thought: Option<Thought>,
    /// The checkpoint of the position before the backtrack.
    undo_checkpoint: Checkpoint,
    preview: BacktrackPreview,
}

impl BacktrackPlan {
    async fn prepare(
        checkpoint: Checkpoint,
        session: Session,
        call: &ToolContext,
    ) -> Result<Self, ToolError> {
        let latest = match checkpoint_latest_thought(&checkpoint) {
            Some(id) => call.store().thought(&id).await?,
            None => None,
        };
        let name = truncate_chars(
            &format!("before the backtrack to {}", checkpoint.name),
            NAME_CHARS,
        );
        Ok(Self {
            latest_thought: latest,
            undo_checkpoint: new_checkpoint(&session, name, None, CheckpointKind::Undo, call)
                .await?,
            preview: call
                .store()
                .preview_backtrack(&checkpoint.id)
                .await?
                .unwrap_or_default(),
            checkpoint,
            session,
        })
    }

    /// The changes of the backtrack. It also drops the provider's thread, because that holds the
    /// thoughts that are set aside.
    fn changes(&self) -> Vec<Change> {
        vec![
            Change::Backtrack {
                session_id: self.session.id.clone(),
                to: self.checkpoint.id.clone(),
                left: self.undo_checkpoint.clone(),
            },
            Change::SetProviderThread {
                session_id: self.session.id.clone(),
                thread: None,
            },
        ]
    }

    /// The output of the backtrack without a new direction.
    fn output(&self) -> Output {
        let latest = self.latest_thought.as_ref();
        Output {
            session_id: self.session.id.clone(),
            checkpoint_restored: self.checkpoint.id.clone(),
            checkpoint_name: self.checkpoint.name.clone(),
            thought_id: latest.map(|thought| thought.id.clone()),
            content: latest.map(|thought| thought.content.clone()),
            answer: latest.and_then(|thought| metadata_text(thought, "answer")),
            confidence: latest.map(|thought| thought.confidence),
            weakest_point: latest.and_then(|thought| metadata_text(thought, "weakest_point")),
            active_branch: self.checkpoint.branch_id.clone(),
            new_branch_id: None,
            new_node_id: None,
            set_aside: self.preview.set_aside.into(),
            brought_back: self.preview.restored.into(),
            undo_checkpoint_id: self.undo_checkpoint.id.clone(),
            below_threshold: None,
        }
    }

    /// Finishes the backtrack without a new direction.
    fn into_output(self) -> ToolOutput<Output> {
        ToolOutput {
            output: self.output(),
            changes: self.changes(),
            session: Some(self.session.id),
        }
    }

    /// In a session of graphs: the latest graph at the checkpoint, with the nodes that were usable
    /// then.
    async fn latest_open_graph(
        &self,
        call: &ToolContext,
    ) -> Result<Option<(Graph, Vec<GraphNode>)>, ToolError> {
        // Not the current nodes: the restore changes which of them are pruned or concluded.
        let found = graph_at(&self.checkpoint.id, call).await?;
        let Some((graph, mut nodes)) = found else {
            return Ok(None);
        };
        nodes.retain(|node| !node.is_terminal);
        Ok(Some((graph, nodes)))
    }

    /// Finishes the backtrack with a new branch for `direction`, and in a graph with a new node.
    fn into_output_with_branch(
        self,
        direction: &str,
        reply: DirectionReply,
        threshold: Option<Score>,
        graph: Option<(Graph, Vec<GraphNode>)>,
        call: &ToolContext,
    ) -> ToolOutput<Output> {
        let confidence = reply.fields.confidence();
        let StepFields {
            answer,
            weakest_point,
            ..
        } = reply.fields;
        let now = call.now();
        let words: Vec<&str> = direction.split_whitespace().collect();
        let branch = Branch {
            id: call.new_id(),
            session_id: self.session.id.clone(),
            name: Some(truncate_chars(&words.join(" "), NAME_CHARS)),
            parent_id: self.checkpoint.branch_id.clone(),
            state: BranchState::Active,
            confidence,
            priority: 1,
            set_aside: false,
            created_at: now,
            updated_at: now,
            metadata: metadata_object([("from_checkpoint", json!(self.checkpoint.id))]),
        };
        let thought = Thought {
            id: call.new_id(),
            session_id: self.session.id.clone(),
            input: Some(direction.to_owned()),
            content: reply.thought,
            confidence,
            mode: Mode::Backtracking,
            parent_id: self
                .latest_thought
                .as_ref()
                .map(|thought| thought.id.clone()),
            branch_id: Some(branch.id.clone()),
            set_aside: false,
            created_at: now,
            metadata: metadata_object([
                ("answer", json!(answer)),
                ("weakest_point", json!(weakest_point)),
            ]),
        };
        let node = graph.and_then(|(graph, nodes)| {
            let from = nodes.get(1).or(nodes.first())?;
            add_direction_node(&graph, from, nodes.len(), &thought, call)
        });
        let (new_node_id, grown) = node.unzip();
        let output = Output {
            new_node_id,
            thought_id: Some(thought.id.clone()),
            content: Some(thought.content.clone()),
            answer,
            confidence: Some(confidence),
            weakest_point,
            active_branch: Some(branch.id.clone()),
            new_branch_id: Some(branch.id.clone()),
            below_threshold: below_threshold(threshold, confidence),
            ..self.output()
        };
        let mut changes = self.changes();
        let follow = Change::SetActiveBranch {
            session_id: self.session.id.clone(),
            branch_id: Some(branch.id.clone()),
            at: now,
        };
        changes.extend([
            Change::AddBranch(branch),
            Change::AddThought(thought),
            follow,
        ]);
        changes.extend(grown.unwrap_or_default());
        ToolOutput {
            output,
            changes,
            session: Some(self.session.id),
        }
    }
}
