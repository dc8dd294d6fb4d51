//! Random sequences of calls, compared with a simple model of the expected state. In the model a
//! checkpoint is a copy of everything, and a backtrack restores the copy.

use std::collections::BTreeMap;

use deliberate_store::EpochFilter;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::{
    graph_fixtures::free_text_reply,
    test_registry::{FULL_PAGE, ReasoningTestRegistry, step_json, text_reply},
};

/// One call. The numbers choose among the entities that exist at that time.
#[derive(Debug, Clone)]
enum Op {
    Think,
    Explore(usize),
    Focus(usize),
    Close(usize, bool),
    Checkpoint,
    Backtrack(usize),
    BacktrackWithDirection(usize),
    NewGraph,
    Generate(usize, usize, usize),
    Score(usize, usize, u8),
    Prune(usize, u8),
    Finalize(usize, usize),
}

fn any_op() -> impl Strategy<Value = Op> {
    let some = 0..64usize;
    prop_oneof![
        2 => Just(Op::Think),
        3 => some.clone().prop_map(Op::Explore),
        2 => some.clone().prop_map(Op::Focus),
        2 => (some.clone(), any::<bool>()).prop_map(|(which, done)| Op::Close(which, done)),
        3 => Just(Op::Checkpoint),
        3 => some.clone().prop_map(Op::Backtrack),
        1 => some.clone().prop_map(Op::BacktrackWithDirection),
        1 => Just(Op::NewGraph),
        3 => (some.clone(), some.clone(), 1..=3usize).prop_map(|(g, n, k)| Op::Generate(g, n, k)),
        3 => (some.clone(), some.clone(), 0..=100u8).prop_map(|(g, n, s)| Op::Score(g, n, s)),
        2 => (some.clone(), 0..=100u8).prop_map(|(g, t)| Op::Prune(g, t)),
        1 => (some.clone(), some).prop_map(|(g, n)| Op::Finalize(g, n)),
    ]
}

/// The expected state of the three sessions: linear, tree and graphs.
#[derive(Debug, Clone, Default, PartialEq)]
struct ExpectedSession {
    thoughts: Vec<String>,
    branches: BTreeMap<String, &'static str>,
    parents: BTreeMap<String, Option<String>>,
    active: Option<String>,
    graphs: Vec<ExpectedGraph>,
}

#[derive(Debug, Clone, Default, PartialEq)]
struct ExpectedGraph {
    id: String,
    nodes: BTreeMap<String, ExpectedNode>,
    /// In the order of creation.
    order: Vec<String>,
}

#[derive(Debug, Clone, Default, PartialEq)]
struct ExpectedNode {
    parent: Option<String>,
    score: Option<u8>,
    active: bool,
    terminal: bool,
    pruned: bool,
}

struct SessionUnderTest {
    session: String,
    expected: ExpectedSession,
    checkpoints: Vec<(String, ExpectedSession)>,
}

struct TestWorld {
    registry: ReasoningTestRegistry,
    /// Counter for unique texts.
    count: usize,
    line: SessionUnderTest,
    tree: SessionUnderTest,
    graphs: SessionUnderTest,
}

fn text(value: &Value) -> String {
    value.as_str().unwrap().to_owned()
}

fn pick<T>(items: &[T], number: usize) -> Option<&T> {
    items.get(number.checked_rem(items.len())?)
}

impl SessionUnderTest {
    fn new(session: String) -> Self {
        Self {
            session,
            expected: ExpectedSession::default(),
            checkpoints: Vec::new(),
        }
    }
}

impl TestWorld {
    async fn new() -> Self {
        let desk = ReasoningTestRegistry::new();
        desk.script_replies([text_reply(&step_json("begin"))]);
        let line = desk.think_ok(json!({ "content": "begin" })).await;
        let mut world = Self {
            registry: desk,
            count: 0,
            line: SessionUnderTest::new(text(&line["session_id"])),
            tree: SessionUnderTest::new(String::new()),
            graphs: SessionUnderTest::new(String::new()),
        };
        world.line.expected.thoughts.push(text(&line["thought_id"]));
        world.explore(None).await;
        world.new_graph().await;
        world
    }

    fn unique_text(&mut self) -> String {
        self.count += 1;
        format!("thing {}", self.count)
    }

    async fn explore(&mut self, branch: Option<String>) {
        let (one, two) = (self.unique_text(), self.unique_text());
        let mut arguments = json!({ "content": "explore", "max_branches": 2 });
        if !self.tree.session.is_empty() {
            arguments["session_id"] = json!(self.tree.session);
        }
        if let Some(branch) = &branch {
            arguments["branch_id"] = json!(branch);
        }
        let kept = &mut self.tree.expected;
        let is_closed = |branch: &String| kept.branches[branch] != "active";
        if branch.as_ref().is_some_and(is_closed) {
            let error = self.registry.call_err("reasoning_tree", arguments).await;
            assert_eq!(error.code(), "BranchClosed");
            return;
        }
        // Without an open branch to continue, the tree gets a new root.
        let base = branch.or_else(|| kept.active.clone().filter(|it| !is_closed(it)));
        let fields = json!({ "answer": "the same", "confidence_percent": 50 });
        let approaches = [one, two].map(|text| free_text_reply(&text, &fields));
        self.registry.script_replies(approaches);
        let answer = self.registry.call_ok("reasoning_tree", arguments).await;
        self.tree.session = text(&answer["session_id"]);
        let continued = text(&answer["branch_id"]);
        if let Some(base) = base {
            assert_eq!(continued, base);
        } else {
            kept.parents.insert(continued.clone(), None);
            kept.branches.insert(continued.clone(), "active");
            kept.active = Some(continued.clone());
        }
        kept.thoughts.push(text(&answer["thought_id"]));
        for branch in answer["branches"].as_array().unwrap() {
            kept.thoughts.push(text(&branch["thought_id"]));
            let id = text(&branch["id"]);
            kept.parents.insert(id.clone(), Some(continued.clone()));
            kept.branches.insert(id, "active");
        }
    }

    async fn new_graph(&mut self) {
        let mut arguments =
            json!({ "content": self.unique_text(), "config": { "max_nodes": 30, "max_depth": 4 } });
        if !self.graphs.session.is_empty() {
            arguments["session_id"] = json!(self.graphs.session);
        }
        let answer = self.registry.call_ok("reasoning_got_init", arguments).await;
        self.graphs.session = text(&answer["session_id"]);
        let root = text(&answer["root_node_id"]);
        let node = ExpectedNode {
            active: true,
            ..ExpectedNode::default()
        };
        self.graphs.expected.graphs.push(ExpectedGraph {
            id: text(&answer["graph_id"]),
            nodes: BTreeMap::from([(root.clone(), node)]),
            order: vec![root],
        });
    }

    async fn focus(&mut self, number: usize) {
        let kept = &mut self.tree.expected;
        let all: Vec<String> = kept.branches.keys().cloned().collect();
        let Some(branch) = pick(&all, number) else {
            return;
        };
        let arguments = json!({ "session_id": self.tree.session, "branch_id": branch });
        self.registry
            .call_ok("reasoning_tree_focus", arguments)
            .await;
        kept.branches.insert(branch.clone(), "active");
        kept.active = Some(branch.clone());
    }

    async fn close(&mut self, number: usize, done: bool) {
        let kept = &mut self.tree.expected;
        let all: Vec<String> = kept.branches.keys().cloned().collect();
        let Some(branch) = pick(&all, number) else {
            return;
        };
        let state = if done { "completed" } else { "abandoned" };
        let arguments =
            json!({ "session_id": self.tree.session, "branch_id": branch, "state": state });
        self.registry
            .call_ok("reasoning_tree_complete", arguments)
            .await;
        kept.branches.insert(branch.clone(), state);
        // The session goes on with the nearest open branch above.
        if kept.active.as_ref() == Some(branch) {
            let mut above = &kept.parents[branch];
            while let Some(id) = above
                && kept.branches[id] != "active"
            {
                above = &kept.parents[id];
            }
            kept.active.clone_from(above);
        }
    }

    /// Creates a checkpoint in every session.
    async fn checkpoint(&mut self) {
        let name = self.unique_text();
        for place in [&mut self.line, &mut self.tree, &mut self.graphs] {
            let arguments = json!({ "session_id": place.session, "name": name });
            let answer = self
                .registry
                .call_ok("reasoning_checkpoint_create", arguments)
                .await;
            let copy = place.expected.clone();
            place
                .checkpoints
                .push((text(&answer["checkpoint_id"]), copy));
        }
    }

    /// Backtracks every session to a checkpoint; undo checkpoints count as checkpoints.
    async fn backtrack(&mut self, number: usize) {
        for place in [&mut self.line, &mut self.tree, &mut self.graphs] {
            let Some((id, then)) = pick(&place.checkpoints, number).cloned() else {
                return;
            };
            let arguments = json!({ "checkpoint_id": id });
            let answer = self
                .registry
                .call_ok("reasoning_backtrack", arguments)
                .await;
            let left = std::mem::replace(&mut place.expected, then);
            place
                .checkpoints
                .push((text(&answer["undo_checkpoint_id"]), left));
        }
    }

    /// Backtracks the linear session with a new direction.
    async fn backtrack_with_direction(&mut self, number: usize) {
        let place = &mut self.line;
        let Some((id, then)) = pick(&place.checkpoints, number).cloned() else {
            return;
        };
        self.registry
            .script_replies([text_reply(&step_json("turned"))]);
        let arguments = json!({ "checkpoint_id": id, "new_direction": "elsewhere" });
        let answer = self
            .registry
            .call_ok("reasoning_backtrack", arguments)
            .await;
        let left = std::mem::replace(&mut place.expected, then);
        place
            .checkpoints
            .push((text(&answer["undo_checkpoint_id"]), left));
        let branch = text(&answer["new_branch_id"]);
        let parent = place.expected.active.clone();
        place.expected.parents.insert(branch.clone(), parent);
        place.expected.branches.insert(branch.clone(), "active");
        place.expected.active = Some(branch);
        place.expected.thoughts.push(text(&answer["thought_id"]));
    }
}

const MAX_NODES: usize = 30;
const MAX_DEPTH: usize = 4;

impl ExpectedGraph {
    fn depth(&self, node: &str) -> usize {
        let parent = self.nodes[node].parent.as_ref();
        parent.map_or(0, |parent| 1 + self.depth(parent))
    }

    fn unpruned_count(&self) -> usize {
        self.nodes.values().filter(|node| !node.pruned).count()
    }

    /// Prunes nodes with low scores and those that only they reach, but never the root or a
    /// conclusion.
    fn prune(&mut self, threshold: u8) {
        for id in &self.order {
            let node = &self.nodes[id];
            let Some(parent) = &node.parent else { continue };
            let low = node.score.is_some_and(|score| score < threshold);
            if !node.terminal && (low || self.nodes[parent].pruned) {
                let node = self.nodes.get_mut(id).unwrap();
                node.pruned = true;
                node.active = false;
            }
        }
    }
}

impl TestWorld {
    /// A graph and one of its nodes, chosen by numbers.
    fn node(&self, graph: usize, node: usize) -> Option<(usize, String)> {
        let graphs = &self.graphs.expected.graphs;
        let graph = graph.checked_rem(graphs.len())?;
        Some((graph, pick(&graphs[graph].order, node)?.clone()))
    }

    async fn generate(&mut self, graph: usize, node: usize, k: usize) {
        let Some((graph, node)) = self.node(graph, node) else {
            return;
        };
        let words: Vec<String> = (0..k).map(|_| self.unique_text()).collect();
        let kept = &mut self.graphs.expected.graphs[graph];
        let arguments = json!({ "graph_id": kept.id, "node_id": node, "k": k });
        let source = &kept.nodes[&node];
        let room = MAX_NODES.saturating_sub(kept.unpruned_count());
        if source.pruned || source.terminal || kept.depth(&node) >= MAX_DEPTH || room == 0 {
            self.registry
                .call_err("reasoning_got_generate", arguments)
                .await;
            return;
        }
        let k = k.min(room);
        let reply = |word: &String| json!({ "thought": word, "kind": "thought", "confidence_percent": 50, "rationale": "r" });
        self.registry.script_replies(
            words
                .iter()
                .take(k)
                .map(|word| text_reply(&reply(word).to_string())),
        );
        let answer = self
            .registry
            .call_ok("reasoning_got_generate", arguments)
            .await;
        assert_eq!(answer["count"], k);
        kept.nodes.get_mut(&node).unwrap().active = false;
        for continuation in answer["continuations"].as_array().unwrap() {
            let id = text(&continuation["node_id"]);
            let child = ExpectedNode {
                parent: Some(node.clone()),
                active: true,
                ..ExpectedNode::default()
            };
            kept.nodes.insert(id.clone(), child);
            kept.order.push(id);
        }
    }

    async fn score(&mut self, graph: usize, node: usize, score: u8) {
        let Some((graph, node)) = self.node(graph, node) else {
            return;
        };
        let kept = &mut self.graphs.expected.graphs[graph];
        let arguments = json!({ "graph_id": kept.id, "node_id": node });
        let node = kept.nodes.get_mut(&node).unwrap();
        if node.pruned {
            let error = self
                .registry
                .call_err("reasoning_got_score", arguments)
                .await;
            assert_eq!(error.code(), "NodePruned");
            return;
        }
        let reply = json!({
            "relevance_percent": score, "validity_percent": score, "depth_percent": score,
            "novelty_percent": score, "rationale": "r", "weakest_point": "w",
        });
        self.registry
            .script_replies([text_reply(&reply.to_string())]);
        self.registry
            .call_ok("reasoning_got_score", arguments)
            .await;
        node.score = Some(score);
    }

    async fn prune(&mut self, graph: usize, threshold: u8) {
        let copy = self.graphs.expected.clone();
        let graphs = &mut self.graphs.expected.graphs;
        let Some(graph) = graph.checked_rem(graphs.len()) else {
            return;
        };
        let kept = &mut graphs[graph];
        let before = kept.unpruned_count();
        kept.prune(threshold);
        let fraction = f64::from(threshold) / 100.0;
        let arguments = json!({ "graph_id": kept.id, "threshold": fraction });
        let answer = self
            .registry
            .call_ok("reasoning_got_prune", arguments)
            .await;
        assert_eq!(answer["pruned_count"], before - kept.unpruned_count());
        assert_eq!(answer["remaining_count"], kept.unpruned_count());
        assert_eq!(
            answer.get("undo_checkpoint_id").is_some(),
            before > kept.unpruned_count()
        );
        // A backtrack to it brings back what was pruned.
        if let Some(undo) = answer.get("undo_checkpoint_id") {
            self.graphs.checkpoints.push((text(undo), copy));
        }
    }

    async fn finalize(&mut self, graph: usize, node: usize) {
        let Some((graph, node)) = self.node(graph, node) else {
            return;
        };
        let kept = &mut self.graphs.expected.graphs[graph];
        let arguments = json!({ "graph_id": kept.id, "terminal_node_ids": [node] });
        let node = kept.nodes.get_mut(&node).unwrap();
        if node.pruned {
            let error = self
                .registry
                .call_err("reasoning_got_finalize", arguments)
                .await;
            assert_eq!(error.code(), "NodePruned");
            return;
        }
        self.registry
            .call_ok("reasoning_got_finalize", arguments)
            .await;
        node.terminal = true;
        node.active = false;
    }

    async fn run(&mut self, op: Op) {
        match op {
            Op::Think => {
                self.registry.script_replies([text_reply(&step_json("on"))]);
                let arguments = json!({ "content": "on", "session_id": self.line.session });
                let answer = self.registry.think_ok(arguments).await;
                self.line
                    .expected
                    .thoughts
                    .push(text(&answer["thought_id"]));
            }
            Op::Explore(number) => {
                let all: Vec<String> = self.tree.expected.branches.keys().cloned().collect();
                let branch = (number % 3 > 0).then(|| pick(&all, number).cloned());
                self.explore(branch.flatten()).await;
            }
            Op::Focus(number) => self.focus(number).await,
            Op::Close(number, done) => self.close(number, done).await,
            Op::Checkpoint => self.checkpoint().await,
            Op::Backtrack(number) => self.backtrack(number).await,
            Op::BacktrackWithDirection(number) => self.backtrack_with_direction(number).await,
            Op::NewGraph => self.new_graph().await,
            Op::Generate(graph, node, k) => self.generate(graph, node, k).await,
            Op::Score(graph, node, score) => self.score(graph, node, score).await,
            Op::Prune(graph, threshold) => self.prune(graph, threshold).await,
            Op::Finalize(graph, node) => self.finalize(graph, node).await,
        }
    }

    async fn check(&self) {
        for place in [&self.line, &self.tree, &self.graphs] {
            assert_eq!(self.load_stored(place).await, place.expected);
        }
    }

    /// Loads the actual state.
    async fn load_stored(&self, test: &SessionUnderTest) -> ExpectedSession {
        let store = &self.registry.store;
        let id = test.session.as_str().into();
        let session = store.session(&id).await.unwrap().unwrap();
        let thoughts = store
            .thoughts(&id, EpochFilter::Current, FULL_PAGE)
            .await
            .unwrap();
        let branches = store
            .branches(&id, EpochFilter::Current, FULL_PAGE)
            .await
            .unwrap();
        let mut graphs = Vec::new();
        for graph in store
            .graphs(&id, EpochFilter::Current, FULL_PAGE)
            .await
            .unwrap()
        {
            let nodes = store
                .nodes(&graph.id, EpochFilter::Current, FULL_PAGE)
                .await
                .unwrap();
            let edges = store
                .edges(&graph.id, EpochFilter::Current, FULL_PAGE)
                .await
                .unwrap();
            assert_eq!(
                edges.len() + 1,
                nodes.len(),
                "every node but the root has its edge"
            );
            graphs.push(ExpectedGraph {
                id: graph.id.to_string(),
                order: nodes.iter().map(|node| node.id.to_string()).collect(),
                nodes: nodes
                    .into_iter()
                    .map(|node| {
                        let edge = edges.iter().find(|edge| edge.to_node == node.id);
                        let kept = ExpectedNode {
                            parent: edge.map(|edge| edge.from_node.to_string()),
                            score: node.score.map(|score| percent(score.get())),
                            active: node.is_active,
                            terminal: node.is_terminal,
                            pruned: node.pruned,
                        };
                        (node.id.to_string(), kept)
                    })
                    .collect(),
            });
        }
        ExpectedSession {
            thoughts: thoughts.into_iter().map(|it| it.id.to_string()).collect(),
            parents: branches
                .iter()
                .map(|it| (it.branch.id.to_string(), it.branch.parent_id.as_ref()))
                .map(|(id, parent)| (id, parent.map(ToString::to_string)))
                .collect(),
            branches: branches
                .into_iter()
                .map(|it| (it.branch.id.to_string(), it.branch.state.as_str()))
                .collect(),
            active: session.active_branch_id.map(|id| id.to_string()),
            graphs,
        }
    }
}

fn percent(score: f64) -> u8 {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a score is 0 to 1"
    )]
    let percent = (score * 100.0).round() as u8;
    percent
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn what_is_there_is_what_the_calls_made(ops in prop::collection::vec(any_op(), 1..40)) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let mut world = TestWorld::new().await;
            for op in ops {
                world.run(op).await;
                world.check().await;
            }
        });
    }
}
