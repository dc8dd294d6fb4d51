//! What an id names, with what belongs to it.

use deliberate_core::{
    Branch, CrossRef, Graph, GraphEdge, GraphNode, Session, SessionId, Thought, cut_to_chars,
};
use deliberate_store::{Page, StoreError, Which};
use deliberate_toolkit::{Call, Issue, ToolError};
use serde::Serialize;
use serde_json::Value;

/// What one answer holds at the most, in characters of text: about what a model can read at once.
/// A single thing is always given whole.
const TEXT_CHARS: usize = 60_000;

/// Pages of a graph that are read at the most.
const PAGES: u32 = 20;

/// What an id names.
#[derive(Debug, Serialize)]
#[serde(untagged)]
pub(super) enum Thing {
    Session(Box<WholeSession>),
    Branch(Box<WholeBranch>),
    Graph(Box<WholeGraph>),
    Thought(Box<Thought>),
    Node(Box<WholeNode>),
}

/// A session, and a part of its thoughts.
#[derive(Debug, Serialize)]
pub(super) struct WholeSession {
    pub(super) session: Session,
    pub(super) thoughts: Vec<Thought>,
    pub(super) branches: Vec<Branch>,
    pub(super) cross_references: Vec<CrossRef>,
    pub(super) graphs: Vec<WholeGraph>,
    pub(super) checkpoints: usize,
    /// Where the thoughts begin, and where the next part does.
    #[serde(skip)]
    pub(super) part: Part,
}

/// A part of a list.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Part {
    pub(super) offset: u32,
    pub(super) next: Option<u32>,
}

/// A branch, and a part of the thoughts on it.
#[derive(Debug, Serialize)]
pub(super) struct WholeBranch {
    pub(super) branch: Branch,
    pub(super) thoughts: Vec<Thought>,
}

/// A graph with its nodes and edges.
#[derive(Debug, Serialize)]
pub(super) struct WholeGraph {
    pub(super) graph: Graph,
    pub(super) nodes: Vec<GraphNode>,
    pub(super) edges: Vec<GraphEdge>,
}

/// A node and what leads to it and from it.
#[derive(Debug, Serialize)]
pub(super) struct WholeNode {
    pub(super) node: GraphNode,
    pub(super) edges: Vec<GraphEdge>,
}

/// What is asked for.
#[derive(Debug, Clone, Copy)]
pub(super) struct Wanted {
    pub(super) which: Which,
    pub(super) page: Page,
}

impl Thing {
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

    /// Where the next part of a session begins.
    pub(super) fn next(&self) -> Option<u32> {
        match self {
            Self::Session(it) => it.part.next,
            _ => None,
        }
    }

    /// Finds what the id names, whatever kind it is. Ids are unique over all kinds.
    pub(super) async fn find(id: &str, wanted: Wanted, call: &Call) -> Result<Self, ToolError> {
        let store = call.store();
        if let Some(session) = store.session(&id.into()).await? {
            let whole = WholeSession::read(session, wanted, call).await?;
            return Ok(Self::Session(Box::new(whole)));
        }
        if let Some(thought) = store.thought(&id.into()).await? {
            return Ok(Self::Thought(Box::new(thought)));
        }
        if let Some(branch) = store.branch(&id.into()).await? {
            let mut thoughts = store
                .latest_on_branch(&branch.id, wanted.page.limit)
                .await?;
            thoughts.reverse();
            return Ok(Self::Branch(Box::new(WholeBranch { branch, thoughts })));
        }
        if let Some(graph) = store.graph(&id.into()).await? {
            let whole = WholeGraph::read(graph, wanted.which, call).await?;
            return Ok(Self::Graph(Box::new(whole)));
        }
        if let Some(node) = store.node(&id.into()).await? {
            let edges = edges(&node.graph_id, Which::All, call).await?;
            let edges = edges.into_iter();
            let edges = edges.filter(|edge| edge.from_node == node.id || edge.to_node == node.id);
            return Ok(Self::Node(Box::new(WholeNode {
                edges: edges.collect(),
                node,
            })));
        }
        let rule = "names no session, thought, branch, graph or node";
        let issue = Issue::new("id", rule).given(&cut_to_chars(id, 80).into());
        Err(ToolError::Invalid(vec![issue]))
    }
}

impl WholeSession {
    async fn read(mut session: Session, wanted: Wanted, call: &Call) -> Result<Self, StoreError> {
        let store = call.store();
        without_thread(&mut session);
        let all = Page::first(Page::MOST);
        let (thoughts, part) = thoughts(&session.id, wanted, call).await?;
        let mut graphs = Vec::new();
        for graph in store.graphs(&session.id, wanted.which, all).await? {
            graphs.push(WholeGraph::read(graph, wanted.which, call).await?);
        }
        let branches = store.branches(&session.id, wanted.which, all).await?;
        Ok(Self {
            branches: branches.into_iter().map(|entry| entry.branch).collect(),
            cross_references: store.cross_refs(&session.id, wanted.which, all).await?,
            checkpoints: store.checkpoints(&session.id, all).await?.len(),
            thoughts,
            graphs,
            session,
            part,
        })
    }
}

/// Which conversation of a provider it continues is our affair.
fn without_thread(session: &mut Session) {
    let Some(fields) = session.metadata.as_mut().and_then(Value::as_object_mut) else {
        return;
    };
    fields.shift_remove("thread");
    if fields.is_empty() {
        session.metadata = None;
    }
}

/// The thoughts of the page, as many as fit an answer.
async fn thoughts(
    session: &SessionId,
    wanted: Wanted,
    call: &Call,
) -> Result<(Vec<Thought>, Part), StoreError> {
    let page = Page {
        // One more, to know whether there is a next part.
        limit: wanted.page.limit + 1,
        ..wanted.page
    };
    let mut read = call.store().thoughts(session, wanted.which, page).await?;
    let mut left = TEXT_CHARS;
    let most = usize::try_from(wanted.page.limit).unwrap_or(usize::MAX);
    let fits = read
        .iter()
        .take(most)
        .take_while(|thought| {
            let input = thought.input.as_ref().map_or(0, String::len);
            let before = left;
            left = left.saturating_sub(thought.content.len() + input);
            before > 0
        })
        .count();
    let more = read.len() > fits;
    read.truncate(fits);
    let fits = u32::try_from(fits).unwrap_or(u32::MAX);
    let part = Part {
        offset: page.offset,
        next: more.then(|| page.offset.saturating_add(fits)),
    };
    Ok((read, part))
}

impl WholeGraph {
    async fn read(graph: Graph, which: Which, call: &Call) -> Result<Self, StoreError> {
        let mut nodes = Vec::new();
        for number in 0..PAGES {
            let part = call
                .store()
                .nodes(&graph.id, which, numbered(number))
                .await?;
            let last = part.len() < Page::MOST as usize;
            nodes.extend(part);
            if last {
                break;
            }
        }
        Ok(Self {
            edges: edges(&graph.id, which, call).await?,
            nodes,
            graph,
        })
    }
}

async fn edges(
    graph: &deliberate_core::GraphId,
    which: Which,
    call: &Call,
) -> Result<Vec<GraphEdge>, StoreError> {
    let mut edges = Vec::new();
    for number in 0..PAGES {
        let part = call.store().edges(graph, which, numbered(number)).await?;
        let last = part.len() < Page::MOST as usize;
        edges.extend(part);
        if last {
            break;
        }
    }
    Ok(edges)
}

fn numbered(number: u32) -> Page {
    Page {
        offset: number * Page::MOST,
        limit: Page::MOST,
    }
}
