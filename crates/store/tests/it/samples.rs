//! Sample entities, with every field set (`full_*`) or with the required ones only.

use deliberate_core::{
    Branch, BranchState, Change, Checkpoint, CheckpointKind, CrossRef, CrossRefKind, EdgeKind,
    Graph, GraphEdge, GraphNode, Invocation, Mode, ModelUsage, NodeKind, Score, Session,
    StateSnapshot, StoredProgress, SuspendedCall, Thought, Timestamp,
};
use serde_json::{Value, json};

/// Text that has caused bugs in databases and drivers: scripts of several directions, characters
/// beyond the basic plane, quotes, percent signs, text that looks like SQL, line breaks.
pub(crate) const ODD_TEXT: &str = "naïve 思考 мысль فكرة 🧠👩‍👩‍👧 e\u{301} \u{feff}\u{202e}\u{1}\u{7f} 'quote' \"double\" \
     back\\slash %s $1 ?1 :a ; DROP TABLE sessions; -- \t\r\n  end ";

pub(crate) fn at_second(second: i64) -> Timestamp {
    Timestamp::from_micros(1_767_225_600_000_000 + second * 1_000_000)
}

pub(crate) fn score(value: f64) -> Score {
    Score::new(value).unwrap()
}

pub(crate) fn odd_json() -> Value {
    json!({
        "text": ODD_TEXT,
        "empty": {},
        "none": null,
        "list": [[], [1, [2, [3]]], true, false],
        "largest": u64::MAX,
        "smallest": i64::MIN,
        "huge": 1e308,
        "fraction": 0.1,
        "ключ \"'\\": "value",
    })
}

pub(crate) fn session(id: &str) -> Session {
    Session {
        id: id.into(),
        mode: Mode::Linear,
        title: None,
        created_at: at_second(0),
        updated_at: at_second(0),
        active_branch_id: None,
        metadata: None,
    }
}

pub(crate) fn full_session(id: &str) -> Session {
    Session {
        mode: Mode::Tree,
        title: Some(ODD_TEXT.to_owned()),
        created_at: Timestamp::from_micros(1_767_225_600_123_457),
        updated_at: Timestamp::from_micros(1_767_225_600_123_458),
        metadata: Some(odd_json()),
        ..session(id)
    }
}

pub(crate) fn thought(id: &str, session: &str) -> Thought {
    Thought {
        id: id.into(),
        session_id: session.into(),
        input: None,
        content: "a thought".to_owned(),
        confidence: score(0.5),
        mode: Mode::Linear,
        parent_id: None,
        branch_id: None,
        set_aside: false,
        created_at: at_second(1),
        metadata: None,
    }
}

/// A thought whose text is `content`.
pub(crate) fn thought_with_text(id: &str, session: &str, content: &str) -> Thought {
    Thought {
        content: content.to_owned(),
        ..thought(id, session)
    }
}

pub(crate) fn full_thought(id: &str, session: &str, parent: &str, branch: &str) -> Thought {
    Thought {
        input: Some(ODD_TEXT.to_owned()),
        content: format!("content: {ODD_TEXT}"),
        confidence: score(0.1 + 0.2),
        mode: Mode::Reflection,
        parent_id: Some(parent.into()),
        branch_id: Some(branch.into()),
        created_at: Timestamp::from_micros(1_767_225_600_999_999),
        metadata: Some(odd_json()),
        ..thought(id, session)
    }
}

pub(crate) fn branch(id: &str, session: &str) -> Branch {
    Branch {
        id: id.into(),
        session_id: session.into(),
        name: None,
        parent_id: None,
        state: BranchState::Active,
        confidence: score(0.8),
        priority: 1,
        set_aside: false,
        created_at: at_second(1),
        updated_at: at_second(1),
        metadata: None,
    }
}

pub(crate) fn full_branch(id: &str, session: &str, parent: &str) -> Branch {
    Branch {
        name: Some(ODD_TEXT.to_owned()),
        parent_id: Some(parent.into()),
        state: BranchState::Abandoned,
        confidence: Score::ZERO,
        priority: i64::MIN,
        updated_at: at_second(2),
        metadata: Some(odd_json()),
        ..branch(id, session)
    }
}

pub(crate) fn cross_ref(id: &str, from: &str, to: &str) -> CrossRef {
    CrossRef {
        id: id.into(),
        from_branch: from.into(),
        to_branch: to.into(),
        ref_type: CrossRefKind::Supports,
        reason: None,
        strength: Score::ONE,
        created_at: at_second(3),
    }
}

pub(crate) fn checkpoint(id: &str, session: &str) -> Checkpoint {
    Checkpoint {
        id: id.into(),
        session_id: session.into(),
        branch_id: None,
        name: "before the turn".to_owned(),
        description: None,
        snapshot: json!({}),
        kind: CheckpointKind::Asked,
        created_at: at_second(4),
    }
}

pub(crate) fn full_checkpoint(id: &str, session: &str, branch: &str) -> Checkpoint {
    Checkpoint {
        branch_id: Some(branch.into()),
        name: ODD_TEXT.to_owned(),
        description: Some(String::new()),
        snapshot: odd_json(),
        kind: CheckpointKind::Undo,
        ..checkpoint(id, session)
    }
}

pub(crate) fn snapshot(id: &str, session: &str) -> StateSnapshot {
    StateSnapshot {
        id: id.into(),
        session_id: session.into(),
        parent_id: None,
        snapshot_type: "full".to_owned(),
        description: None,
        data: Value::Null,
        created_at: at_second(5),
    }
}

pub(crate) fn full_snapshot(id: &str, session: &str, parent: &str) -> StateSnapshot {
    StateSnapshot {
        parent_id: Some(parent.into()),
        snapshot_type: ODD_TEXT.to_owned(),
        description: Some(ODD_TEXT.to_owned()),
        data: odd_json(),
        ..snapshot(id, session)
    }
}

pub(crate) fn graph(id: &str, session: &str) -> Graph {
    Graph {
        id: id.into(),
        session_id: session.into(),
        problem: None,
        config: json!({}),
        set_aside: false,
        created_at: at_second(6),
        // Later than every node, so that adding nodes does not change it.
        updated_at: at_second(100),
    }
}

pub(crate) fn full_graph(id: &str, session: &str) -> Graph {
    Graph {
        problem: Some(ODD_TEXT.to_owned()),
        config: odd_json(),
        ..graph(id, session)
    }
}

pub(crate) fn node(id: &str, graph: &str, session: &str) -> GraphNode {
    GraphNode {
        id: id.into(),
        graph_id: graph.into(),
        session_id: session.into(),
        content: "a node".to_owned(),
        node_type: NodeKind::Root,
        score: None,
        depth: 0,
        is_active: true,
        is_terminal: false,
        pruned: false,
        set_aside: false,
        created_at: at_second(8),
        metadata: None,
    }
}

pub(crate) fn full_node(id: &str, graph: &str, session: &str) -> GraphNode {
    GraphNode {
        content: ODD_TEXT.to_owned(),
        node_type: NodeKind::Terminal,
        score: Some(score(0.768)),
        depth: i64::MAX,
        is_active: false,
        is_terminal: true,
        pruned: true,
        metadata: Some(odd_json()),
        ..node(id, graph, session)
    }
}

pub(crate) fn edge(id: &str, graph: &str, from: &str, to: &str) -> GraphEdge {
    GraphEdge {
        id: id.into(),
        graph_id: graph.into(),
        from_node: from.into(),
        to_node: to.into(),
        edge_type: EdgeKind::Generates,
        weight: score(0.25),
        created_at: at_second(9),
        metadata: None,
    }
}

pub(crate) fn invocation(id: &str, session: Option<&str>) -> Invocation {
    Invocation {
        id: id.into(),
        session_id: session.map(Into::into),
        tool_name: "reasoning_linear".to_owned(),
        principal: None,
        input: json!({ "content": "x" }),
        output: None,
        pipe_name: None,
        latency_ms: None,
        success: true,
        error: None,
        error_code: None,
        spent: ModelUsage::default(),
        created_at: at_second(10),
    }
}

pub(crate) fn full_invocation(id: &str, session: &str) -> Invocation {
    Invocation {
        principal: Some(ODD_TEXT.to_owned()),
        input: odd_json(),
        output: Some(odd_json()),
        pipe_name: Some(ODD_TEXT.to_owned()),
        latency_ms: Some(i64::MAX),
        success: false,
        error: Some(ODD_TEXT.to_owned()),
        error_code: Some("InvalidResponse".to_owned()),
        spent: ModelUsage {
            model: Some(ODD_TEXT.to_owned()),
            model_calls: 2,
            prompt_tokens: 1_234_567_890_123,
            completion_tokens: 7,
            cost_usd: Some(0.000_123_4),
        },
        ..invocation(id, Some(session))
    }
}

pub(crate) fn suspended_call(id: &str) -> SuspendedCall {
    SuspendedCall {
        id: id.into(),
        tool_name: "reasoning_linear".to_owned(),
        arguments: odd_json(),
        journal: json!({}),
        asks: json!(["linear"]),
        created_at: at_second(0),
        expires_at: at_second(1_000),
        owner: None,
        running_until: None,
        outcome: None,
        failed: false,
        fence: 0,
        notes: None,
        progress: StoredProgress::default(),
    }
}

/// A session with one of everything in it.
pub(crate) struct Everything {
    pub(crate) session: Session,
    pub(crate) branches: Vec<Branch>,
    pub(crate) thoughts: Vec<Thought>,
    pub(crate) cross_refs: Vec<CrossRef>,
    pub(crate) checkpoints: Vec<Checkpoint>,
    pub(crate) snapshots: Vec<StateSnapshot>,
    pub(crate) graphs: Vec<Graph>,
    pub(crate) nodes: Vec<GraphNode>,
    pub(crate) edges: Vec<GraphEdge>,
    pub(crate) invocations: Vec<Invocation>,
}

/// Two of each entity of a session, one minimal and one full; ids begin with `s`.
pub(crate) fn everything(s: &str) -> Everything {
    let name = |thing: &str| format!("{s}-{thing}");
    let (b1, b2) = (name("b1"), name("b2"));
    let (t1, p1, g1) = (name("t1"), name("p1"), name("g1"));
    let (n1, n2) = (name("n1"), name("n2"));
    Everything {
        session: Session {
            active_branch_id: Some(b1.as_str().into()),
            // Later than every thought, so that adding thoughts does not change it.
            updated_at: at_second(100),
            ..full_session(s)
        },
        branches: vec![branch(&b1, s), full_branch(&b2, s, &b1)],
        thoughts: vec![thought(&t1, s), full_thought(&name("t2"), s, &t1, &b2)],
        cross_refs: vec![
            cross_ref(&name("r1"), &b1, &b2),
            CrossRef {
                ref_type: CrossRefKind::Contradicts,
                reason: Some(ODD_TEXT.to_owned()),
                strength: score(0.375),
                ..cross_ref(&name("r2"), &b2, &b1)
            },
        ],
        checkpoints: vec![
            checkpoint(&name("c1"), s),
            full_checkpoint(&name("c2"), s, &b2),
        ],
        snapshots: vec![snapshot(&p1, s), full_snapshot(&name("p2"), s, &p1)],
        graphs: vec![full_graph(&g1, s), graph(&name("g2"), s)],
        nodes: vec![node(&n1, &g1, s), full_node(&n2, &g1, s)],
        edges: vec![
            edge(&name("e1"), &g1, &n1, &n2),
            GraphEdge {
                edge_type: EdgeKind::Contradicts,
                weight: Score::ZERO,
                metadata: Some(odd_json()),
                ..edge(&name("e2"), &g1, &n2, &n1)
            },
        ],
        invocations: vec![
            full_invocation(&name("i2"), s),
            invocation(&name("i1"), Some(s)),
        ],
    }
}

impl Everything {
    /// Returns the changes that create everything, in a valid order.
    pub(crate) fn changes(&self) -> Vec<Change> {
        let mut changes = vec![Change::AddSession(self.session.clone())];
        changes.extend(self.branches.iter().cloned().map(Change::AddBranch));
        changes.extend(self.thoughts.iter().cloned().map(Change::AddThought));
        changes.extend(self.cross_refs.iter().cloned().map(Change::AddCrossRef));
        changes.extend(self.checkpoints.iter().cloned().map(Change::AddCheckpoint));
        changes.extend(self.snapshots.iter().cloned().map(Change::AddSnapshot));
        changes.extend(self.graphs.iter().cloned().map(Change::AddGraph));
        changes.extend(self.nodes.iter().cloned().map(Change::AddNode));
        changes.extend(self.edges.iter().cloned().map(Change::AddEdge));
        // Lists return the newest first.
        let records = self.invocations.iter().rev().cloned();
        changes.extend(records.map(Change::AddInvocation));
        changes
    }
}
