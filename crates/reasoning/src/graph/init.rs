//! `reasoning_got_init`: creates a graph with a root node.

use deliberate_core::{
    Change, Graph, GraphId, GraphNode, Mode, NodeId, NodeKind, Score, Session, SessionId, Thought,
    ThoughtId, shorten_tokens,
};
use deliberate_toolkit::{
    Tool, ToolContext, ToolError, ToolHints, ToolLimits, ToolMeta, ToolOutput,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::{
    config::{GraphConfig, GraphConfigInput},
    data::node_answer,
    expand::{Continuation, ExpandFrom, Expansion, request_continuations},
    new_node,
    prompt_context::NodeSurroundings,
};
use crate::{
    agreement::{group_answers, plurality},
    history::{first_of_line, latest_thought, with_question},
    session::{TargetSession, optional_session},
};

/// The `reasoning_got_init` tool.
pub(crate) struct GotInit;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Input {
    /// Initial thought content for root node
    #[schemars(length(min = 1))]
    content: String,
    session_id: Option<SessionId>,
    /// Grow from this thought
    thought_id: Option<ThoughtId>,
    /// Problem description for context
    problem: Option<String>,
    config: Option<GraphConfigInput>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Output {
    /// The new graph
    graph_id: GraphId,
    /// The session it belongs to
    session_id: SessionId,
    /// Its root, to continue from
    root_node_id: NodeId,
    /// The text of the root
    content: String,
    /// The default, because no model was asked
    confidence: Score,
    /// The limits of the graph, given or default
    #[schemars(with = "Map<String, Value>")]
    config: GraphConfig,
}

impl Tool for GotInit {
    type Input = Input;
    type Output = Output;

    fn meta(&self) -> ToolMeta {
        ToolMeta {
            name: "reasoning_got_init",
            title: "Begin a graph of thoughts",
            description: "Initialize a Graph-of-Thoughts reasoning graph with a root node, to \
                          merge partial answers; takes several calls.",
            hints: ToolHints::ADDITIVE,
            asks_model: false,
            limits: ToolLimits::default(),
        }
    }

    async fn run(&self, input: Input, call: &ToolContext) -> Result<ToolOutput<Output>, ToolError> {
        let session_id = input.session_id.as_ref();
        let (session, thought) = if let Some(id) = &input.thought_id {
            let thought = crate::lookup::current_thought(call, id, session_id).await?;
            let session = crate::lookup::session(call, &thought.session_id).await?;
            (Some(session), Some(thought))
        } else {
            let session = optional_session(session_id, call).await?;
            let latest = match &session {
                Some(session) => latest_thought(session, call).await?,
                None => None,
            };
            (session, latest)
        };
        let context = match &thought {
            Some(thought) => Some(line_as_problem(thought, call).await?),
            None => None,
        };
        let config = GraphConfig::from(input.config.unwrap_or_default());
        if let Some(problem) = &input.problem {
            call.check_content("problem", problem)?;
        }
        let problem = match (input.problem, context) {
            (Some(problem), Some(context)) if !context.contains(problem.trim()) => {
                Some(format!("{problem}\n\n{context}"))
            }
            (problem, context) => context.or(problem),
        };
        let start = GraphStart::new(&input.content, problem, config, session, call)?;
        let mut changes = start.changes();
        changes.push(Change::AddNode(start.root.clone()));
        Ok(ToolOutput {
            session: Some(start.target.id()),
            output: Output {
                graph_id: start.graph.id,
                session_id: start.target.id(),
                root_node_id: start.root.id,
                content: start.root.content,
                confidence: Score::DEFAULT_CONFIDENCE,
                config: start.config,
            },
            changes,
        })
    }
}

/// The thought that a graph grows from with its own question, after the question that its line began
/// with: the context of every later request about the graph.
async fn line_as_problem(thought: &Thought, call: &ToolContext) -> Result<String, ToolError> {
    let first = first_of_line(&thought.id, call).await?;
    let first_question = first.and_then(|first| first.input);
    let own_question = with_question(thought.clone(), call).await?.input;
    let own_question = own_question.filter(|own| first_question.as_ref() != Some(own));
    // Every later request shows the problem whole, so a very long thought is shortened here.
    let text = shorten_tokens(&thought.content, call.context_tokens());
    let questions = first_question.into_iter().chain(own_question);
    let parts: Vec<String> = questions.chain([text]).collect();
    Ok(parts.join("\n\n"))
}

/// A new graph that is not stored yet.
struct GraphStart {
    target: TargetSession,
    graph: Graph,
    config: GraphConfig,
    root: GraphNode,
}

impl GraphStart {
    fn new(
        content: &str,
        problem: Option<String>,
        config: GraphConfig,
        session: Option<Session>,
        call: &ToolContext,
    ) -> Result<Self, ToolError> {
        let content = call.check_content("content", content)?;
        let home = TargetSession::existing_or_new(session, Mode::Got, content, call);
        let now = call.now();
        let graph = Graph {
            id: call.new_id(),
            session_id: home.id(),
            problem,
            config: json!(config),
            set_aside: false,
            created_at: now,
            updated_at: now,
        };
        let root = new_node(&graph, NodeKind::Root, 0, content.to_owned(), call);
        Ok(Self {
            target: home,
            graph,
            config,
            root,
        })
    }

    /// The changes that must precede the root.
    fn changes(&self) -> Vec<Change> {
        let mut changes = self.target.changes();
        changes.push(Change::AddGraph(self.graph.clone()));
        changes
    }
}

/// A graph that was created and continued in one call.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct NewGraph {
    /// The new graph
    pub(crate) graph_id: GraphId,
    /// The session it belongs to
    pub(crate) session_id: SessionId,
    /// Its root
    pub(crate) root_node_id: NodeId,
    /// The result that most of the new nodes reach; null if none does
    pub(crate) answer: Option<String>,
    /// The new nodes that continue the root
    pub(crate) continuations: Vec<Continuation>,
    /// How many there are
    pub(crate) count: usize,
    /// What failed; omitted if nothing did
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) note: Option<String>,
}

/// Creates a graph with the default limits, in the given session or in a new one, and continues its
/// root.
pub(crate) async fn start_and_expand(
    content: &str,
    session: Option<Session>,
    call: &ToolContext,
) -> Result<ToolOutput<NewGraph>, ToolError> {
    let mut start = GraphStart::new(content, None, GraphConfig::default(), session, call)?;
    let source = ExpandFrom {
        graph: &start.graph,
        node: &start.root,
        children: Vec::new(),
    };
    let (thoughts, found) = request_continuations(
        &source,
        &NodeSurroundings::default(),
        start.config.continuation_count(None)?,
        None,
        call,
    )
    .await?;
    let growth = Expansion::from_reply(&source, thoughts, &found, call);
    let groups = group_answers(growth.nodes.iter().map(node_answer));
    start.root.is_active = growth.nodes.is_empty();
    let mut changes = start.changes();
    changes.push(Change::AddNode(start.root.clone()));
    changes.extend(growth.changes());
    Ok(ToolOutput {
        session: Some(start.target.id()),
        output: NewGraph {
            graph_id: start.graph.id,
            session_id: start.target.id(),
            root_node_id: start.root.id,
            answer: plurality(&groups).map(|group| group.answer.clone()),
            count: growth.continuations.len(),
            note: growth.note(),
            continuations: growth.continuations,
        },
        changes,
    })
}
