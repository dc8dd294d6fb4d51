//! Tests of kill -9 during trees, graphs, checkpoints and backtracking: no partial step, and every
//! answered id is stored.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use deliberate_testkit::MockProvider;
use serde_json::{Value, json};

use crate::{
    crash::{CrashRandom, ROUNDS, assert_no_rows, choose_one},
    support::{TestHome, serve, wait_until},
};

const CALLS: u64 = 6;

/// Answered ids, by kind.
#[derive(Default)]
struct AnsweredIds {
    trees: BTreeSet<String>,
    branches: BTreeSet<String>,
    thoughts: BTreeSet<String>,
    /// Graph and node.
    nodes: BTreeSet<(String, String)>,
    /// Sessions of graphs and of trees.
    sessions: BTreeSet<String>,
    checkpoints: BTreeSet<String>,
    answers: u64,
}

fn to_vec<T: Clone>(set: &BTreeSet<T>) -> Vec<T> {
    set.iter().cloned().collect()
}

fn text(value: &Value) -> Option<String> {
    value.as_str().map(str::to_owned)
}

impl AnsweredIds {
    fn record_answer(&mut self, message: &Value) {
        let answer = &message["result"]["structuredContent"];
        // Other calls may have closed or replaced what a call refers to; that is no answer.
        if message["result"]["isError"] == true {
            return;
        }
        self.answers += 1;
        self.sessions.extend(text(&answer["session_id"]));
        self.thoughts.extend(text(&answer["thought_id"]));
        self.checkpoints.extend(text(&answer["checkpoint_id"]));
        self.checkpoints.extend(text(&answer["undo_checkpoint_id"]));
        for branch in answer["branches"].as_array().into_iter().flatten() {
            self.trees.extend(text(&answer["session_id"]));
            self.branches.extend(text(&branch["id"]));
            self.thoughts.extend(text(&branch["thought_id"]));
        }
        if let Some(graph) = text(&answer["graph_id"]) {
            let new = answer["continuations"].as_array().into_iter().flatten();
            let new = new.filter_map(|node| text(&node["node_id"]));
            for node in new.chain(text(&answer["root_node_id"])) {
                self.nodes.insert((graph.clone(), node));
            }
        }
    }

    /// Returns a call on something known, if there is something.
    fn choose_call(&self, dice: &mut CrashRandom) -> (&'static str, Value) {
        let session = choose_one(dice, &to_vec(&self.sessions)).cloned();
        let node = choose_one(dice, &to_vec(&self.nodes)).cloned();
        let checkpoint = choose_one(dice, &to_vec(&self.checkpoints)).cloned();
        let tree = choose_one(dice, &to_vec(&self.trees)).cloned();
        match (dice.next_below(10), session, node, checkpoint, tree) {
            (0..=1, .., Some(tree)) => (
                "reasoning_tree",
                json!({ "content": "on", "session_id": tree }),
            ),
            (2..=3, _, Some((graph, node)), ..) => (
                "reasoning_got_generate",
                json!({ "graph_id": graph, "node_id": node, "k": 3 }),
            ),
            (4, _, Some((graph, node)), ..) => (
                "reasoning_got_refine",
                json!({ "graph_id": graph, "node_id": node }),
            ),
            (5, _, Some((graph, _)), ..) => (
                "reasoning_got_prune",
                json!({ "graph_id": graph, "threshold": 0.9 }),
            ),
            (6, Some(session), ..) => (
                "reasoning_checkpoint_create",
                json!({ "session_id": session, "name": dice.next_below(u64::MAX).to_string() }),
            ),
            (7, _, _, Some(checkpoint), _) => (
                "reasoning_backtrack",
                json!({ "checkpoint_id": checkpoint }),
            ),
            (8, ..) => ("reasoning_got_init", json!({ "content": "a graph" })),
            _ => ("reasoning_tree", json!({ "content": "a tree" })),
        }
    }
}

async fn run_round(
    home: &TestHome,
    standin: &MockProvider,
    dice: &mut CrashRandom,
    known: &mut AnsweredIds,
) {
    standin.update_settings(|settings| settings.delay = Duration::from_millis(dice.next_below(4)));
    let mut client = serve(&mut home.command_with_provider(standin)).await;
    for _ in 0..CALLS {
        let (name, arguments) = known.choose_call(dice);
        let params = json!({ "name": name, "arguments": arguments });
        client.send_request("tools/call", params).await.unwrap();
    }
    for _ in 0..dice.next_below(CALLS) {
        let message = client.next_message().await.unwrap().unwrap();
        known.record_answer(&message);
    }
    tokio::time::sleep(Duration::from_micros(dice.next_below(6_000))).await;
    client.kill().await.unwrap();
    // Answers sent before the kill count.
    while let Some(message) = client.next_message().await.unwrap() {
        known.record_answer(&message);
    }
}

#[tokio::test]
async fn sixty_kills_leave_no_tree_and_no_graph_by_half() {
    let (home, standin) = (TestHome::new(), MockProvider::start().await.unwrap());
    let mut dice = CrashRandom(20_261_116);
    let mut known = AnsweredIds::default();
    for _ in 0..ROUNDS {
        run_round(&home, &standin, &mut dice, &mut known).await;
        wait_until(|| standin.in_flight() == 0).await;
    }
    assert!(
        known.answers < ROUNDS * CALLS,
        "killed too late to interrupt anything"
    );
    assert!(
        known.answers > ROUNDS,
        "killed too soon to let anything happen"
    );

    let mut database = home.open_database().await;
    let tables: BTreeMap<&str, Vec<String>> = BTreeMap::from([
        ("SELECT id FROM sessions", to_vec(&known.sessions)),
        ("SELECT id FROM thoughts", to_vec(&known.thoughts)),
        ("SELECT id FROM branches", to_vec(&known.branches)),
        ("SELECT id FROM checkpoints", to_vec(&known.checkpoints)),
        (
            "SELECT id FROM graph_nodes",
            known.nodes.iter().map(|(_, node)| node.clone()).collect(),
        ),
    ]);
    for (sql, answered) in tables {
        let kept: Vec<(String,)> = sqlx::query_as(sql).fetch_all(&mut database).await.unwrap();
        let kept: BTreeSet<String> = kept.into_iter().map(|(id,)| id).collect();
        assert!(!answered.is_empty(), "{sql}: nothing was answered");
        for id in answered {
            assert!(
                kept.contains(&id),
                "{sql}: {id} was answered and is missing"
            );
        }
    }
    let checks = [
        (
            "an empty session",
            "SELECT count(*) FROM sessions WHERE id NOT IN (SELECT session_id FROM thoughts) AND id NOT IN (SELECT session_id FROM graphs)",
        ),
        (
            "a branch without its thought",
            "SELECT count(*) FROM branches WHERE id NOT IN (SELECT branch_id FROM thoughts WHERE branch_id IS NOT NULL)",
        ),
        (
            "a tree step with fewer branches than its record says",
            "SELECT count(*) FROM invocations i WHERE tool_name = 'reasoning_tree' AND success = 1 AND (i.output ->> 'branches_explored') <> (SELECT count(*) FROM thoughts t WHERE t.parent_id = i.output ->> 'thought_id' AND t.branch_id <> i.output ->> 'branch_id')",
        ),
        (
            "a graph without root",
            "SELECT count(*) FROM graphs WHERE id NOT IN (SELECT graph_id FROM graph_nodes WHERE node_type = 'root')",
        ),
        (
            "a node without its edge",
            "SELECT count(*) FROM graph_nodes WHERE node_type <> 'root' AND id NOT IN (SELECT to_node FROM graph_edges)",
        ),
        (
            "a node that was continued and is still open",
            "SELECT count(*) FROM graph_nodes n WHERE is_active = 1 AND set_aside = 0 AND EXISTS (SELECT 1 FROM graph_edges e WHERE e.from_node = n.id AND e.set_aside = 0 AND e.edge_type = 'generates')",
        ),
        (
            "a checkpoint without its epoch",
            "SELECT (SELECT count(*) FROM checkpoints) - (SELECT count(*) FROM epochs)",
        ),
        (
            "a row that is set aside though its epoch is the session's own",
            "SELECT count(*) FROM thoughts t JOIN sessions s ON s.id = t.session_id WHERE t.epoch = s.epoch AND t.set_aside = 1",
        ),
        (
            "a step that built on what was set aside",
            "SELECT count(*) FROM thoughts c JOIN thoughts p ON p.id = c.parent_id WHERE c.set_aside = 0 AND p.set_aside = 1",
        ),
        (
            "a node that search does not know",
            "SELECT (SELECT count(*) FROM graph_nodes) - (SELECT count(*) FROM nodes_text_docsize)",
        ),
    ];
    assert_no_rows(&mut database, &checks).await;
}
