//! The arms: ways to ask a model about a task. Each returns what is judged.

use clap::ValueEnum;
use deliberate_bench::BenchTask;
use serde_json::{Value, json};

use super::{
    answer_shape::{self, ModeAnswer},
    server_session::{ModelSide, ServerSession, SessionSettings, completion_text},
};

/// The number of continuations in a graph.
const CONTINUATIONS: usize = 3;

/// What a session is told between two steps of the same thought.
const NEXT_STEP: &str = "Go on, and check the result.";

/// A way to ask a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, ValueEnum)]
#[value(rename_all = "snake_case")]
pub(crate) enum BenchArm {
    /// The task as one message, nothing else.
    Direct,
    /// The most frequent answer of several direct ones; as many as the arm it is compared with needs.
    Vote,
    /// `reasoning_linear`.
    Linear,
    /// Three steps of `reasoning_linear` in one session.
    #[value(name = "linear_3")]
    LinearThree,
    /// `reasoning_linear`, then `reasoning_reflection` on its thought.
    LinearReflection,
    /// `reasoning_tree`: the recommended branch.
    Tree,
    /// A graph: three continuations, scored, merged, concluded.
    Graph,
    /// `linear` with the client's model.
    LinearClient,
    /// `linear_3` with the client's model.
    #[value(name = "linear_3_client")]
    LinearThreeClient,
    /// `linear_reflection` with the client's model.
    LinearReflectionClient,
    /// `tree` with the client's model.
    TreeClient,
    /// `graph` with the client's model.
    GraphClient,
}

/// What an arm is compared with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ReferenceArm {
    None,
    Arm(BenchArm),
    /// A vote with as many calls as the arm needed.
    VoteOfEqualCalls,
}

/// What an arm said about a task.
#[derive(Debug, Clone, Default)]
pub(crate) struct ArmAnswer {
    pub(crate) last: ModeAnswer,
    /// What was said before a reflection.
    pub(crate) before_reflection: Option<ModeAnswer>,
}

impl BenchArm {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Direct => "direct",
            Self::Vote => "vote",
            Self::Linear => "linear",
            Self::LinearThree => "linear_3",
            Self::LinearReflection => "linear_reflection",
            Self::Tree => "tree",
            Self::Graph => "graph",
            Self::LinearClient => "linear_client",
            Self::LinearThreeClient => "linear_3_client",
            Self::LinearReflectionClient => "linear_reflection_client",
            Self::TreeClient => "tree_client",
            Self::GraphClient => "graph_client",
        }
    }

    pub(crate) fn reference(self) -> ReferenceArm {
        match self {
            Self::Direct => ReferenceArm::None,
            Self::Vote | Self::Linear | Self::LinearReflection => ReferenceArm::Arm(Self::Direct),
            Self::LinearThree | Self::Tree | Self::Graph => ReferenceArm::VoteOfEqualCalls,
            Self::LinearClient => ReferenceArm::Arm(Self::Linear),
            Self::LinearThreeClient => ReferenceArm::Arm(Self::LinearThree),
            Self::LinearReflectionClient => ReferenceArm::Arm(Self::LinearReflection),
            Self::TreeClient => ReferenceArm::Arm(Self::Tree),
            Self::GraphClient => ReferenceArm::Arm(Self::Graph),
        }
    }

    fn side(self) -> ModelSide {
        match self {
            Self::LinearClient
            | Self::LinearThreeClient
            | Self::LinearReflectionClient
            | Self::TreeClient
            | Self::GraphClient => ModelSide::Client,
            _ => ModelSide::Provider,
        }
    }

    /// Asks about a task. The requests are counted for the scope.
    pub(crate) async fn run(
        self,
        settings: &SessionSettings,
        task: &BenchTask,
        scope: &str,
    ) -> anyhow::Result<ArmAnswer> {
        if matches!(self, Self::Direct | Self::Vote) {
            let body = direct_body(settings, task);
            let (response, _) = settings.proxy.complete(scope, &body).await?;
            return Ok(ArmAnswer::new(ModeAnswer::from_text(&completion_text(
                &response,
            ))));
        }
        let mut server = ServerSession::start(settings, self.side(), scope).await?;
        match self {
            Self::Direct | Self::Vote | Self::Linear | Self::LinearClient => {
                linear(&mut server, task, 1)
                    .await
                    .map(|output| ArmAnswer::new(answer_shape::linear(&output)))
            }
            Self::LinearThree | Self::LinearThreeClient => linear(&mut server, task, 3)
                .await
                .map(|output| ArmAnswer::new(answer_shape::linear(&output))),
            Self::LinearReflection | Self::LinearReflectionClient => {
                reflection(&mut server, task).await
            }
            Self::Tree | Self::TreeClient => {
                let output = server
                    .call("reasoning_tree", json!({ "content": task.prompt }))
                    .await?;
                Ok(ArmAnswer::new(answer_shape::tree(&output)))
            }
            Self::Graph | Self::GraphClient => graph(&mut server, task).await.map(ArmAnswer::new),
        }
    }
}

impl ArmAnswer {
    pub(crate) fn new(last: ModeAnswer) -> Self {
        Self {
            last,
            before_reflection: None,
        }
    }
}

/// Builds the request that asks about a task directly.
pub(crate) fn direct_body(settings: &SessionSettings, task: &BenchTask) -> Value {
    settings.chat_body(&[json!({ "role": "user", "content": task.prompt })])
}

async fn linear(
    server: &mut ServerSession,
    task: &BenchTask,
    steps: usize,
) -> anyhow::Result<Value> {
    let mut output = server
        .call("reasoning_linear", json!({ "content": task.prompt }))
        .await?;
    for _ in 1..steps {
        let arguments = json!({ "content": NEXT_STEP, "session_id": output["session_id"] });
        output = server.call("reasoning_linear", arguments).await?;
    }
    Ok(output)
}

async fn reflection(server: &mut ServerSession, task: &BenchTask) -> anyhow::Result<ArmAnswer> {
    let thought = linear(server, task, 1).await?;
    let before = answer_shape::linear(&thought);
    let arguments = json!({ "thought_id": thought["thought_id"] });
    let output = server.call("reasoning_reflection", arguments).await?;
    let last = answer_shape::reflection(&output).unwrap_or_else(|| before.clone());
    Ok(ArmAnswer {
        last,
        before_reflection: Some(before),
    })
}

async fn graph(server: &mut ServerSession, task: &BenchTask) -> anyhow::Result<ModeAnswer> {
    let init = server
        .call("reasoning_got_init", json!({ "content": task.prompt }))
        .await?;
    let graph = &init["graph_id"];
    let arguments =
        json!({ "graph_id": graph, "node_id": init["root_node_id"], "k": CONTINUATIONS });
    let generated = server.call("reasoning_got_generate", arguments).await?;
    let nodes = answer_shape::continuation_ids(&generated);
    if server.scores_many {
        let arguments = json!({ "graph_id": graph, "node_ids": nodes });
        server.call("reasoning_got_score", arguments).await?;
    } else {
        for node in &nodes {
            let arguments = json!({ "graph_id": graph, "node_id": node });
            server.call("reasoning_got_score", arguments).await?;
        }
    }
    let mut last_nodes = nodes.clone();
    if nodes.len() > 1 {
        let arguments = json!({ "graph_id": graph, "node_ids": nodes });
        let merged = server.call("reasoning_got_aggregate", arguments).await?;
        last_nodes = vec![merged["aggregated_node_id"].clone()];
    }
    let finalized = server
        .call("reasoning_got_finalize", json!({ "graph_id": graph }))
        .await?;
    if let Some(conclusion) = answer_shape::graph(&finalized) {
        return Ok(conclusion);
    }
    // Nothing was good enough to conclude with: the merged node is named.
    let arguments = json!({ "graph_id": graph, "terminal_node_ids": last_nodes });
    let finalized = server.call("reasoning_got_finalize", arguments).await?;
    Ok(answer_shape::graph(&finalized).unwrap_or_default())
}
