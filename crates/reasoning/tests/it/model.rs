//! Random sequences of calls against a simple model of what must then be there. In the model a
//! checkpoint is a copy of everything, and going back puts the copy in place.

use std::collections::BTreeMap;

use deliberate_store::Which;
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::desk::{ALL, Desk, says, step};

/// One call. Numbers choose among what is there, whatever that is by then.
#[derive(Debug, Clone)]
enum Op {
    Think,
    Explore(usize),
    Focus(usize),
    Close(usize, bool),
    Checkpoint,
    Back(usize),
    Turn(usize),
    NewGraph,
    Generate(usize, usize, usize),
    Score(usize, usize, u8),
    Prune(usize, u8),
    Finalize(usize, usize),
}

fn op() -> impl Strategy<Value = Op> {
    let any = 0..64usize;
    prop_oneof![
        2 => Just(Op::Think),
        3 => any.clone().prop_map(Op::Explore),
        2 => any.clone().prop_map(Op::Focus),
        2 => (any.clone(), any::<bool>()).prop_map(|(which, done)| Op::Close(which, done)),
        3 => Just(Op::Checkpoint),
        3 => any.clone().prop_map(Op::Back),
        1 => any.clone().prop_map(Op::Turn),
        1 => Just(Op::NewGraph),
        3 => (any.clone(), any.clone(), 1..=3usize).prop_map(|(g, n, k)| Op::Generate(g, n, k)),
        3 => (any.clone(), any.clone(), 0..=100u8).prop_map(|(g, n, s)| Op::Score(g, n, s)),
        2 => (any.clone(), 0..=100u8).prop_map(|(g, t)| Op::Prune(g, t)),
        1 => (any.clone(), any).prop_map(|(g, n)| Op::Finalize(g, n)),
    ]
}

/// What must be there of the three sessions: a line, a tree, graphs.
#[derive(Debug, Clone, Default, PartialEq)]
struct Kept {
    thoughts: Vec<String>,
    branches: BTreeMap<String, &'static str>,
    active: Option<String>,
    graphs: Vec<GraphKept>,
}

#[derive(Debug, Clone, Default, PartialEq)]
struct GraphKept {
    id: String,
    nodes: BTreeMap<String, NodeKept>,
    /// In the order they were made.
    order: Vec<String>,
}

#[derive(Debug, Clone, Default, PartialEq)]
struct NodeKept {
    parent: Option<String>,
    score: Option<u8>,
    active: bool,
    terminal: bool,
    pruned: bool,
}

/// A session under test.
struct Place {
    session: String,
    now: Kept,
    checkpoints: Vec<(String, Kept)>,
}

struct World {
    desk: Desk,
    /// Words that were never used before.
    count: usize,
    line: Place,
    tree: Place,
    graphs: Place,
}

fn text(value: &Value) -> String {
    value.as_str().unwrap().to_owned()
}

fn pick<T>(items: &[T], number: usize) -> Option<&T> {
    items.get(number.checked_rem(items.len())?)
}

impl Place {
    fn new(session: String) -> Self {
        Self {
            session,
            now: Kept::default(),
            checkpoints: Vec::new(),
        }
    }
}

impl World {
    async fn new() -> Self {
        let desk = Desk::new();
        desk.will_say([says(&step("begin"))]);
        let line = desk.think(json!({ "content": "begin" })).await;
        let mut world = Self {
            desk,
            count: 0,
            line: Place::new(text(&line["session_id"])),
            tree: Place::new(String::new()),
            graphs: Place::new(String::new()),
        };
        world.line.now.thoughts.push(text(&line["thought_id"]));
        world.explore(None).await;
        world.new_graph().await;
        world
    }

    fn word(&mut self) -> String {
        self.count += 1;
        format!("thing {}", self.count)
    }

    async fn explore(&mut self, branch: Option<String>) {
        let (one, two) = (self.word(), self.word());
        let approach = |name: &str| json!({ "name": name, "thought": name, "rationale": name, "confidence_percent": 50 });
        let reply = json!({
            "thought": "fork", "approaches": [approach(&one), approach(&two)], "recommended": 1,
            "relations": [], "confidence_percent": 50, "weakest_point": "w",
        });
        let mut arguments = json!({ "content": "explore" });
        if !self.tree.session.is_empty() {
            arguments["session_id"] = json!(self.tree.session);
        }
        if let Some(branch) = &branch {
            arguments["branch_id"] = json!(branch);
        }
        let kept = &mut self.tree.now;
        let base = branch.or_else(|| kept.active.clone());
        let closed = base.as_ref().is_some_and(|base| kept.branches[base] != "active");
        if closed {
            let error = self.desk.refused("reasoning_tree", arguments).await;
            assert_eq!(error.code(), "BranchClosed");
            return;
        }
        self.desk.will_say([says(&reply.to_string())]);
        let answer = self.desk.done("reasoning_tree", arguments).await;
        self.tree.session = text(&answer["session_id"]);
        let base = text(&answer["branch_id"]);
        if kept.branches.insert(base.clone(), "active").is_none() {
            kept.active = Some(base);
        }
        kept.thoughts.push(text(&answer["thought_id"]));
        for branch in answer["branches"].as_array().unwrap() {
            kept.thoughts.push(text(&branch["thought_id"]));
            kept.branches.insert(text(&branch["id"]), "active");
        }
    }

    async fn new_graph(&mut self) {
        let mut arguments = json!({ "content": self.word(), "config": { "max_nodes": 30, "max_depth": 4 } });
        if !self.graphs.session.is_empty() {
            arguments["session_id"] = json!(self.graphs.session);
        }
        let answer = self.desk.done("reasoning_got_init", arguments).await;
        self.graphs.session = text(&answer["session_id"]);
        let root = text(&answer["root_node_id"]);
        let node = NodeKept {
            active: true,
            ..NodeKept::default()
        };
        self.graphs.now.graphs.push(GraphKept {
            id: text(&answer["graph_id"]),
            nodes: BTreeMap::from([(root.clone(), node)]),
            order: vec![root],
        });
    }

    async fn focus(&mut self, number: usize) {
        let kept = &mut self.tree.now;
        let all: Vec<String> = kept.branches.keys().cloned().collect();
        let Some(branch) = pick(&all, number) else { return };
        let arguments = json!({ "session_id": self.tree.session, "branch_id": branch });
        self.desk.done("reasoning_tree_focus", arguments).await;
        kept.branches.insert(branch.clone(), "active");
        kept.active = Some(branch.clone());
    }

    async fn close(&mut self, number: usize, done: bool) {
        let kept = &mut self.tree.now;
        let all: Vec<String> = kept.branches.keys().cloned().collect();
        let Some(branch) = pick(&all, number) else { return };
        let state = if done { "completed" } else { "abandoned" };
        let arguments = json!({ "session_id": self.tree.session, "branch_id": branch, "state": state });
        self.desk.done("reasoning_tree_complete", arguments).await;
        kept.branches.insert(branch.clone(), state);
    }

    /// A checkpoint in every session.
    async fn checkpoint(&mut self) {
        let name = self.word();
        for place in [&mut self.line, &mut self.tree, &mut self.graphs] {
            let arguments = json!({ "session_id": place.session, "name": name });
            let answer = self.desk.done("reasoning_checkpoint_create", arguments).await;
            let copy = place.now.clone();
            place.checkpoints.push((text(&answer["checkpoint_id"]), copy));
        }
    }

    /// Back to a checkpoint in every session; undo checkpoints count as checkpoints.
    async fn back(&mut self, number: usize) {
        for place in [&mut self.line, &mut self.tree, &mut self.graphs] {
            let Some((id, then)) = pick(&place.checkpoints, number).cloned() else { return };
            let arguments = json!({ "checkpoint_id": id });
            let answer = self.desk.done("reasoning_backtrack", arguments).await;
            let left = std::mem::replace(&mut place.now, then);
            place.checkpoints.push((text(&answer["undo_checkpoint_id"]), left));
        }
    }

    /// Back in the line, with a new direction.
    async fn turn(&mut self, number: usize) {
        let place = &mut self.line;
        let Some((id, then)) = pick(&place.checkpoints, number).cloned() else { return };
        self.desk.will_say([says(&step("turned"))]);
        let arguments = json!({ "checkpoint_id": id, "new_direction": "elsewhere" });
        let answer = self.desk.done("reasoning_backtrack", arguments).await;
        let left = std::mem::replace(&mut place.now, then);
        place.checkpoints.push((text(&answer["undo_checkpoint_id"]), left));
        let branch = text(&answer["new_branch_id"]);
        place.now.branches.insert(branch.clone(), "active");
        place.now.active = Some(branch);
        place.now.thoughts.push(text(&answer["thought_id"]));
    }
}
