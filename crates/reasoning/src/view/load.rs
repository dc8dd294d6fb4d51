//! Loads the entity of an id with its contents.

use std::{collections::HashSet, ops::Not};

use deliberate_core::{
    Branch, CrossRef, Graph, GraphEdge, GraphNode, NodeId, Session, SessionId, Thought,
    truncate_chars,
};
use deliberate_store::{EpochFilter, Pagination, StoreError};
use deliberate_toolkit::{ArgumentIssue, ToolContext, ToolError};
use serde::Serialize;
use serde_json::Value;

use super::size_budget::{PageInfo, ResponseSizeBudget};

/// The largest number of nodes of a graph, or branches or references of a session, in one answer.
const ITEMS_PAGE: Pagination = Pagination::limit(200);

/// The largest number of graphs of a session in one answer.
const GRAPHS_PAGE: Pagination = Pagination::limit(20);

/// An entity with its contents.
#[derive(Debug, Serialize)]
#[serde(untagged)]
pub(super) enum ReasoningEntity {
    Session(Box<SessionDetail>),
    Branch(Box<BranchDetail>),
    Graph(Box<GraphDetail>),
    Thought(Box<Thought>),
    Node(Box<NodeDetail>),
}

/// A session with one page of its thoughts.
#[derive(Debug, Serialize)]
pub(super) struct SessionDetail {
    pub(super) session: Session,
    pub(super) thoughts: Vec<Thought>,
    pub(super) branches: Vec<Branch>,
    #[serde(skip_serializing_if = "Not::not")]
    pub(super) branches_left_out: bool,
    pub(super) cross_references: Vec<CrossRef>,
    #[serde(skip_serializing_if = "Not::not")]
    pub(super) cross_references_left_out: bool,
    pub(super) graphs: Vec<SessionGraph>,
    #[serde(skip_serializing_if = "Not::not")]
    pub(super) graphs_left_out: bool,
    pub(super) checkpoints: usize,
    /// The page of `thoughts`.
    #[serde(skip)]
    pub(super) part: PageInfo,
}

/// A branch with one page of its thoughts.
#[derive(Debug, Serialize)]
pub(super) struct BranchDetail {
    pub(super) branch: Branch,
    pub(super) thoughts: Vec<Thought>,
    #[serde(skip)]
    pub(super) part: PageInfo,
}

/// A graph with one page of its nodes and the edges that lead to them.
#[derive(Debug, Serialize)]
pub(super) struct GraphDetail {
    pub(super) graph: Graph,
    pub(super) nodes: Vec<GraphNode>,
    pub(super) edges: Vec<GraphEdge>,
    #[serde(skip_serializing_if = "Not::not")]
    pub(super) edges_left_out: bool,
    #[serde(skip)]
    pub(super) part: PageInfo,
}

/// One of several graphs of a session, with its own offset of the next page.
#[derive(Debug, Serialize)]
pub(super) struct SessionGraph {
    #[serde(flatten)]
    pub(super) whole: GraphDetail,
    #[serde(skip_serializing_if = "Option::is_none")]
    next_offset: Option<u32>,
}

/// A node with its incoming and outgoing edges.
#[derive(Debug, Serialize)]
pub(super) struct NodeDetail {
    pub(super) node: GraphNode,
    pub(super) edges: Vec<GraphEdge>,
    #[serde(skip_serializing_if = "Not::not")]
    pub(super) edges_left_out: bool,
}

/// The options of a read.
#[derive(Debug, Clone, Copy)]
pub(super) struct ViewRequest {
    pub(super) include: EpochFilter,
    pub(super) page: Pagination,
}

impl ReasoningEntity {
    pub(super) fn kind(&self) -> &'static str {
        match self {
            Self::Session(_) => "session",
            Self::Branch(_) => "branch",
            Self::Graph(_) => "graph",
            Self::Thought(_) => "thought",
            Self::Node(_) => "node",
        }
    }

    pub(super) fn session_id(&self) -> &SessionId {
        match self {
            Self::Session(it) => &it.session.id,
            Self::Branch(it) => &it.branch.session_id,
            Self::Graph(it) => &it.graph.session_id,
            Self::Thought(it) => &it.session_id,
            Self::Node(it) => &it.node.session_id,
        }
    }

    /// The offset of the next page.
    pub(super) fn next_offset(&self) -> Option<u32> {
        match self {
            Self::Session(it) => it.part.next,
            Self::Branch(it) => it.part.next,
            Self::Graph(it) => it.part.next,
            Self::Thought(_) | Self::Node(_) => None,
        }
    }

    /// Loads the entity of an id of any kind. Ids are unique across all kinds.
    pub(super) async fn find(
        id: &str,
        request: ViewRequest,
        mut budget: ResponseSizeBudget,
        call: &ToolContext,
    ) -> Result<Self, ToolError> {
        let store = call.store();
        let room = &mut budget;
        if let Some(session) = store.session(&id.into()).await? {
            let whole = SessionDetail::load(session, request, room, call).await?;
            return Ok(Self::Session(Box::new(whole)));
        }
        if let Some(thought) = store.thought(&id.into()).await? {
            return Ok(Self::Thought(Box::new(thought)));
        }
        if let Some(branch) = store.branch(&id.into()).await? {
            let whole = BranchDetail::load(branch, request, room, call).await?;
            return Ok(Self::Branch(Box::new(whole)));
        }
        if let Some(graph) = store.graph(&id.into()).await? {
            room.try_take(&graph, true);
            let whole = GraphDetail::load(graph, request, true, room, call).await?;
            return Ok(Self::Graph(Box::new(whole)));
        }
        if let Some(node) = store.node(&id.into()).await? {
            let whole = NodeDetail::load(node, request, room, call).await?;
            return Ok(Self::Node(Box::new(whole)));
        }
        let rule = "names no session, thought, branch, graph or node";
        let issue = ArgumentIssue::new("id", rule).with_value(&truncate_chars(id, 80).into());
        Err(ToolError::Invalid(vec![issue]))
    }
}

impl ViewRequest {
    /// Includes the entities that were set aside if the requested entity itself was.
    fn for_set_aside(self, set_aside: bool) -> Self {
        Self {
            include: if set_aside {
                EpochFilter::All
            } else {
                self.include
            },
            ..self
        }
    }
}

impl SessionDetail {
    async fn load(
        mut session: Session,
        request: ViewRequest,
        budget: &mut ResponseSizeBudget,
        call: &ToolContext,
    ) -> Result<Self, StoreError> {
        let (store, id, which) = (call.store(), session.id.clone(), request.include);
        remove_provider_thread(&mut session);
        let mut frame = budget.reserve_frame();
        let (branches, branch_part) = frame
            .read_page(ITEMS_PAGE, true, |page| store.branches(&id, which, page))
            .await?;
        let (cross_references, reference_part) = frame
            .read_page(ITEMS_PAGE, false, |page| store.cross_refs(&id, which, page))
            .await?;
        // The graphs are on the first page.
        let (graphs, graph_part) = if request.page.offset == 0 {
            frame
                .read_page(GRAPHS_PAGE, true, |page| store.graphs(&id, which, page))
                .await?
        } else {
            (Vec::new(), PageInfo::default())
        };
        budget.release_frame(&frame);
        let (thoughts, part) = budget
            .read_page(request.page, true, |page| store.thoughts(&id, which, page))
            .await?;
        let mut listed = Vec::new();
        for graph in graphs {
            let wanted = ViewRequest {
                page: ITEMS_PAGE,
                include: which,
            };
            let must = thoughts.is_empty() && listed.is_empty();
            let whole = GraphDetail::load(graph, wanted, must, budget, call).await?;
            listed.push(SessionGraph {
                next_offset: whole.part.next,
                whole,
            });
        }
        let checkpoints = store
            .checkpoints(&id, Pagination::limit(Pagination::MAX))
            .await?;
        Ok(Self {
            session,
            thoughts,
            branches: branches.into_iter().map(|entry| entry.branch).collect(),
            branches_left_out: branch_part.next.is_some(),
            cross_references,
            cross_references_left_out: reference_part.next.is_some(),
            graphs: listed,
            graphs_left_out: graph_part.next.is_some(),
            checkpoints: checkpoints.len(),
            part,
        })
    }
}

/// Removes the provider's thread, which is internal.
fn remove_provider_thread(session: &mut Session) {
    let Some(fields) = session.metadata.as_mut().and_then(Value::as_object_mut) else {
        return;
    };
    fields.shift_remove("thread");
    if fields.is_empty() {
        session.metadata = None;
    }
}

impl BranchDetail {
    async fn load(
        branch: Branch,
        request: ViewRequest,
        budget: &mut ResponseSizeBudget,
        call: &ToolContext,
    ) -> Result<Self, StoreError> {
        let (store, wanted) = (call.store(), request.for_set_aside(branch.set_aside));
        let (thoughts, part) = budget
            .read_page(wanted.page, true, |page| {
                store.branch_thoughts(&branch.id, wanted.include, page)
            })
            .await?;
        Ok(Self {
            branch,
            thoughts,
            part,
        })
    }
}

impl GraphDetail {
    async fn load(
        graph: Graph,
        request: ViewRequest,
        must: bool,
        budget: &mut ResponseSizeBudget,
        call: &ToolContext,
    ) -> Result<Self, StoreError> {
        let (store, wanted) = (call.store(), request.for_set_aside(graph.set_aside));
        let (nodes, part) = budget
            .read_page(wanted.page, must, |page| {
                store.nodes(&graph.id, wanted.include, page)
            })
            .await?;
        let (edges, edges_left_out) = if nodes.is_empty() {
            (Vec::new(), false)
        } else {
            let shown: HashSet<&NodeId> = nodes.iter().map(|node| &node.id).collect();
            budget
                .read_edges(
                    |edge| shown.contains(&edge.to_node),
                    |page| store.edges(&graph.id, wanted.include, page),
                )
                .await?
        };
        Ok(Self {
            graph,
            nodes,
            edges,
            edges_left_out,
            part,
        })
    }
}

impl NodeDetail {
    async fn load(
        node: GraphNode,
        request: ViewRequest,
        budget: &mut ResponseSizeBudget,
        call: &ToolContext,
    ) -> Result<Self, StoreError> {
        let (store, wanted) = (call.store(), request.for_set_aside(node.set_aside));
        budget.try_take(&node, true);
        let (edges, edges_left_out) = budget
            .read_edges(
                |edge| edge.from_node == node.id || edge.to_node == node.id,
                |page| store.edges(&node.graph_id, wanted.include, page),
            )
            .await?;
        Ok(Self {
            node,
            edges,
            edges_left_out,
        })
    }
}
