//! The size of an answer is bounded, and everything can be read page by page.

use deliberate_core::{Change, EdgeKind, Graph, Mode};
use serde_json::{Value, json};

use super::{
    graph_fixtures::{
        generate_answers, init_graph, insert_graph, sample_edge, sample_node, timestamp,
    },
    test_registry::ReasoningTestRegistry,
};
use crate::view::GET;

/// The limit of an answer with 60,000 characters of text plus ids, times and field names.
const MAX_RESPONSE_CHARS: usize = 200_000;

fn array_field<'a>(answer: &'a Value, field: &str) -> &'a [Value] {
    answer["data"][field].as_array().unwrap()
}

fn ids(things: &[Value]) -> Vec<String> {
    let ids = things.iter().map(|thing| thing["id"].as_str().unwrap());
    ids.map(str::to_owned).collect()
}

fn add_graph(id: &str, problem: &str) -> Change {
    Change::AddGraph(sample_graph(id, problem))
}

fn sample_graph(id: &str, problem: &str) -> Graph {
    Graph {
        id: id.into(),
        session_id: "s".into(),
        problem: Some(problem.to_owned()),
        config: json!({}),
        set_aside: false,
        created_at: timestamp(),
        updated_at: timestamp(),
    }
}

/// Stores graph `g`: a root `n0` and `count` nodes below it with that text.
async fn insert_star_graph(registry: &ReasoningTestRegistry, count: usize, text: &str) {
    let mut nodes = vec![sample_node("n0", 0, None)];
    nodes.extend((1..count).map(|number| sample_node(&format!("n{number}"), 1, Some(0.5))));
    for node in &mut nodes {
        text.clone_into(&mut node.content);
    }
    let edges =
        (1..count).map(|number| sample_edge("n0", EdgeKind::Generates, &format!("n{number}")));
    let edges = edges.collect();
    insert_graph(registry, nodes, edges).await;
}

/// Reads an entity page by page and returns the ids in the given field.
async fn read_all(registry: &ReasoningTestRegistry, id: &str, field: &str) -> Vec<String> {
    let mut read = Vec::new();
    let mut offset = Some(0);
    while let Some(from) = offset {
        let part = registry
            .call_ok(GET, json!({ "id": id, "offset": from }))
            .await;
        assert!(
            part.to_string().len() < MAX_RESPONSE_CHARS,
            "{}",
            part.to_string().len()
        );
        assert!(!array_field(&part, field).is_empty());
        read.extend(ids(array_field(&part, field)));
        offset = part["next_offset"].as_u64();
    }
    read
}

#[tokio::test]
async fn a_graph_is_read_in_parts_with_the_edges_that_lead_to_them() {
    let desk = ReasoningTestRegistry::new();
    insert_star_graph(&desk, 120, "short").await;
    let first = desk.call_ok(GET, json!({ "id": "g" })).await;
    assert_eq!(first["kind"], "graph");
    assert_eq!(array_field(&first, "nodes").len(), 50);
    assert_eq!(array_field(&first, "edges").len(), 49);
    assert_eq!(first["next_offset"], 50);
    assert_eq!(first["data"].get("next_offset"), None);
    let last = desk
        .call_ok(GET, json!({ "id": "g", "offset": 100, "limit": 200 }))
        .await;
    assert_eq!(array_field(&last, "nodes").len(), 20);
    assert_eq!(array_field(&last, "edges")[0]["to_node"], "n100");
    assert_eq!(last.get("next_offset"), None);
    let all = desk.call_ok(GET, json!({ "id": "g", "limit": 200 })).await;
    assert_eq!(array_field(&all, "nodes").len(), 120);
    assert_eq!(all.get("next_offset"), None);
    let text = desk
        .call_ok(
            GET,
            json!({ "id": "g", "offset": 110, "limit": 2, "format": "markdown" }),
        )
        .await["text"]
        .clone();
    let text = text.as_str().unwrap();
    assert!(
        text.contains("### `n111` thought (50 %) ← `n1` generates"),
        "{text}"
    );
    assert!(text.contains("from offset 112"), "{text}");
    let expected: Vec<_> = (0..120).map(|number| format!("n{number}")).collect();
    assert_eq!(read_all(&desk, "g", "nodes").await, expected);
}

#[tokio::test]
async fn long_nodes_share_one_budget_and_each_is_given_whole() {
    let desk = ReasoningTestRegistry::new();
    insert_star_graph(&desk, 50, &"word ".repeat(16_000)).await;
    let part = desk.call_ok(GET, json!({ "id": "g" })).await;
    assert_eq!(array_field(&part, "nodes").len(), 1);
    assert_eq!(
        array_field(&part, "nodes")[0]["content"]
            .as_str()
            .unwrap()
            .len(),
        80_000
    );
    assert_eq!(part["next_offset"], 1);
    assert_eq!(read_all(&desk, "g", "nodes").await.len(), 50);

    let session = desk.call_ok(GET, json!({ "id": "s" })).await;
    let graph = &array_field(&session, "graphs")[0];
    assert_eq!(graph["nodes"].as_array().unwrap().len(), 1);
    assert_eq!(graph["next_offset"], 1);
    for format in ["data", "markdown", "mermaid"] {
        for id in ["s", "g"] {
            let answer = desk
                .call_ok(GET, json!({ "id": id, "format": format }))
                .await;
            assert!(
                answer.to_string().len() < MAX_RESPONSE_CHARS,
                "{id} as {format}"
            );
        }
    }
}

#[tokio::test]
async fn thoughts_come_first_and_graphs_have_the_rest() {
    let desk = ReasoningTestRegistry::new();
    let long = "word ".repeat(1_000);
    let steps = (0..9).map(|_| ("in".to_owned(), long.clone()));
    desk.add_session(Mode::Linear, steps).await;
    let mut changes = vec![add_graph("g", "why?"), add_graph("h", "how?")];
    for number in 0..9 {
        let mut node = sample_node(&format!("n{number}"), 0, None);
        node.content.clone_from(&long);
        changes.push(Change::AddNode(node));
    }
    desk.store.commit(changes).await.unwrap();
    let whole = desk.call_ok(GET, json!({ "id": "s" })).await;
    assert_eq!(array_field(&whole, "thoughts").len(), 9);
    assert_eq!(whole.get("next_offset"), None);
    let graphs = array_field(&whole, "graphs");
    assert_eq!(graphs[0]["graph"]["id"], "g");
    assert_eq!(graphs[0]["nodes"].as_array().unwrap().len(), 2);
    assert_eq!(graphs[0]["next_offset"], 2);
    assert_eq!(graphs[1]["nodes"], json!([]));
    assert_eq!(graphs[1].get("next_offset"), None);
    let later = desk.call_ok(GET, json!({ "id": "s", "offset": 2 })).await;
    assert_eq!(array_field(&later, "thoughts").len(), 7);
    assert_eq!(later["data"]["graphs"], json!([]));
    let text = crate::view::render_entity(&desk, &json!("s"), "markdown").await;
    assert!(text.contains("*More nodes follow in graph `g` from offset 2.*"));
}

#[tokio::test]
async fn a_session_of_many_long_things_is_bounded() {
    let desk = ReasoningTestRegistry::new();
    insert_star_graph(&desk, 2, "short").await;
    let problem = "why ".repeat(20_000);
    let graphs = (0..30).map(|number| add_graph(&format!("g{number}"), &problem));
    desk.store.commit(graphs.collect()).await.unwrap();
    let answer = desk.call_ok(GET, json!({ "id": "s" })).await;
    assert!(answer.to_string().len() < MAX_RESPONSE_CHARS);
    assert_eq!(answer["data"]["graphs_left_out"], true);
    assert_eq!(
        array_field(&answer, "graphs")[0]["nodes"]
            .as_array()
            .unwrap()
            .len(),
        2
    );
}

#[tokio::test]
async fn twenty_graphs_are_listed() {
    let desk = ReasoningTestRegistry::new();
    insert_star_graph(&desk, 2, "short").await;
    let more = |from: u32, to| (from..to).map(|number| add_graph(&format!("g{number}"), "?"));
    desk.store.commit(more(0, 19).collect()).await.unwrap();
    let answer = desk.call_ok(GET, json!({ "id": "s" })).await;
    assert_eq!(array_field(&answer, "graphs").len(), 20);
    assert_eq!(answer["data"].get("graphs_left_out"), None);
    desk.store.commit(more(19, 25).collect()).await.unwrap();
    let answer = desk.call_ok(GET, json!({ "id": "s" })).await;
    assert_eq!(array_field(&answer, "graphs").len(), 20);
    assert_eq!(answer["data"]["graphs_left_out"], true);
}

#[tokio::test]
async fn a_picture_has_no_more_boxes_than_can_be_read() {
    let desk = ReasoningTestRegistry::new();
    insert_star_graph(&desk, 400, &"long ".repeat(1_000)).await;
    let boxes = |picture: &str| picture.matches(" · 50 %\"").count();
    for id in ["g", "s"] {
        let picture = crate::view::render_entity(&desk, &json!(id), "mermaid").await;
        assert_eq!(boxes(&picture), 149, "without the root, which has no score");
        assert!(picture.contains("more nodes"));
    }
    let rest = json!({ "id": "g", "format": "mermaid", "offset": 390 });
    let picture = desk.call_ok(GET, rest).await;
    assert_eq!(boxes(picture["text"].as_str().unwrap()), 10);
    assert_eq!(picture.get("next_offset"), None);
}

#[tokio::test]
async fn a_picture_of_later_steps_says_that_there_are_earlier_ones() {
    let desk = ReasoningTestRegistry::new();
    let steps = (1..=160).map(|number| (format!("in {number}"), format!("thought {number}")));
    desk.add_session(Mode::Linear, steps).await;
    let first = crate::view::render_entity(&desk, &json!("s"), "mermaid").await;
    assert!(
        first.contains("t150[") && !first.contains("t151["),
        "{first}"
    );
    assert!(first.contains("later[\"more steps\"]"), "{first}");
    let rest = json!({ "id": "s", "format": "mermaid", "offset": 150 });
    let rest = desk.call_ok(GET, rest).await["text"].clone();
    let rest = rest.as_str().unwrap();
    assert!(
        rest.contains("earlier[\"150 earlier steps\"]:::gone -.-> t151"),
        "{rest}"
    );
    assert!(rest.contains("t159 --> t160"), "{rest}");
}

async fn add_branch_thoughts(registry: &ReasoningTestRegistry, branch: &Value, ids: &[&str]) {
    let mut thought = registry.thoughts().await.pop().unwrap();
    thought.branch_id = Some(branch.as_str().unwrap().into());
    let changes = ids.iter().map(|id| {
        thought.id = (*id).into();
        Change::AddThought(thought.clone())
    });
    let changes = changes.collect();
    registry.store.commit(changes).await.unwrap();
}

#[tokio::test]
async fn a_branch_is_read_in_parts() {
    let desk = ReasoningTestRegistry::new();
    let branch = crate::view::explore_tree(&desk).await["recommended_branch"].clone();
    add_branch_thoughts(&desk, &branch, &["a", "b", "c"]).await;
    let first = desk.call_ok(GET, json!({ "id": branch, "limit": 1 })).await;
    assert_eq!(array_field(&first, "thoughts").len(), 1);
    assert_eq!(first["next_offset"], 1);
    let rest = json!({ "id": branch, "offset": 1, "limit": 1, "format": "markdown" });
    let rest = desk.call_ok(GET, rest).await["text"].clone();
    assert!(rest.as_str().unwrap().contains("## Step 2 "), "{rest}");
    let all = read_all(&desk, branch.as_str().unwrap(), "thoughts").await;
    assert_eq!(all[1..], ["a", "b", "c"]);
}

#[tokio::test]
async fn what_was_set_aside_can_be_read_by_its_id() {
    let desk = ReasoningTestRegistry::new();
    let first = desk.think_ok(json!({ "content": "begin" })).await;
    let session = first["session_id"].as_str().unwrap();
    let place = json!({ "session_id": session, "name": "here" });
    let place = desk.call_ok("reasoning_checkpoint_create", place).await;
    let back = json!({ "checkpoint_id": place["checkpoint_id"], "new_direction": "another way" });
    let away = desk.call_ok("reasoning_backtrack", back.clone()).await;
    // A graph that began after the checkpoint.
    let created_at = desk.thoughts().await.pop().unwrap().created_at;
    let graph = Graph {
        session_id: session.into(),
        created_at,
        ..sample_graph("g", "why?")
    };
    let mut node = sample_node("n", 0, None);
    node.session_id = session.into();
    node.created_at = created_at;
    let changes = vec![Change::AddGraph(graph), Change::AddNode(node)];
    desk.store.commit(changes).await.unwrap();
    desk.call_ok("reasoning_backtrack", back).await;

    let branch = desk
        .call_ok(GET, json!({ "id": away["new_branch_id"] }))
        .await;
    assert_eq!(branch["data"]["branch"]["set_aside"], true);
    assert_eq!(array_field(&branch, "thoughts").len(), 1);
    assert_eq!(array_field(&branch, "thoughts")[0]["set_aside"], true);
    let graph = desk.call_ok(GET, json!({ "id": "g" })).await;
    assert_eq!(graph["data"]["graph"]["set_aside"], true);
    assert_eq!(array_field(&graph, "nodes").len(), 1);
    let now = desk.call_ok(GET, json!({ "id": session })).await;
    assert_eq!(now["data"]["graphs"], json!([]));
    let all = json!({ "id": session, "include_set_aside": true });
    let all = desk.call_ok(GET, all).await;
    assert_eq!(array_field(&all, "graphs")[0]["nodes"][0]["id"], "n");
}

#[tokio::test]
async fn set_aside_thoughts_of_a_branch_are_shown_when_asked_for() {
    let desk = ReasoningTestRegistry::new();
    let tree = crate::view::explore_tree(&desk).await;
    let branch = &tree["recommended_branch"];
    let place = json!({ "session_id": tree["session_id"], "name": "here" });
    let place = desk.call_ok("reasoning_checkpoint_create", place).await;
    add_branch_thoughts(&desk, branch, &["later"]).await;
    let back = json!({ "checkpoint_id": place["checkpoint_id"] });
    desk.call_ok("reasoning_backtrack", back).await;
    let now = desk.call_ok(GET, json!({ "id": branch })).await;
    assert_eq!(array_field(&now, "thoughts").len(), 1);
    let all = json!({ "id": branch, "include_set_aside": true });
    let all = desk.call_ok(GET, all).await;
    assert_eq!(array_field(&all, "thoughts")[1]["id"], "later");
}

#[tokio::test]
async fn an_offset_beyond_everything_is_refused_by_its_name() {
    let desk = ReasoningTestRegistry::new();
    desk.add_session(Mode::Linear, [("in", "out")]).await;
    for offset in [1_000_001_u64, 5_000_000_000] {
        for tool in [GET, "reasoning_sessions"] {
            let mut arguments = json!({ "offset": offset });
            if tool == GET {
                arguments["id"] = json!("s");
            }
            let error = desk.call_err(tool, arguments).await;
            assert!(error.to_string().contains("offset"), "{error}");
            assert!(!error.to_string().contains("u32"), "{error}");
        }
    }
    let beyond = desk
        .call_ok(GET, json!({ "id": "s", "offset": 1_000_000 }))
        .await;
    assert_eq!(beyond["data"]["thoughts"], json!([]));
}

#[tokio::test]
async fn steps_and_boxes_have_the_ids_that_the_tools_take() {
    let desk = ReasoningTestRegistry::new();
    desk.add_session(Mode::Linear, [("in 1", "one"), ("in 2", "two")])
        .await;
    let place = json!({ "session_id": "s", "name": "here" });
    let place = desk.call_ok("reasoning_checkpoint_create", place).await;
    desk.think_ok(json!({ "content": "wrong", "session_id": "s" }))
        .await;
    let back = json!({ "checkpoint_id": place["checkpoint_id"] });
    desk.call_ok("reasoning_backtrack", back).await;
    let mut thoughts = desk.thoughts().await;
    let mut parallel = thoughts.remove(1);
    parallel.id = "beside".into();
    desk.store
        .commit(vec![Change::AddThought(parallel)])
        .await
        .unwrap();
    let page = crate::view::render_entity(&desk, &json!("s"), "markdown").await;
    let steps: Vec<&str> = page
        .lines()
        .filter(|it| it.starts_with("## Step"))
        .collect();
    assert_eq!(
        steps,
        [
            "## Step 1 `t1` (80 %)",
            "## Step 2 `t2` (80 %)",
            "## Step 3 `t4` (80 %), after `t1`",
        ]
    );
    let picture = crate::view::render_entity(&desk, &json!("s"), "mermaid").await;
    assert!(picture.contains("t4[\"two<br/>t4 · 80 %\"]"), "{picture}");
    assert!(picture.contains("t1 --> t4"), "{picture}");
    let one = json!({ "id": "t4", "session_id": "s", "format": "markdown" });
    let one = desk.call_ok(GET, one).await;
    let text = one["text"].as_str().unwrap();
    assert!(
        text.starts_with("# Thought `t4` (80 %), after `t1`\n"),
        "{text}"
    );
}

#[tokio::test]
async fn a_graph_says_its_conclusion_and_what_may_be_wrong() {
    let desk = ReasoningTestRegistry::new();
    let graph = init_graph(&desk, json!({})).await;
    let (id, root) = (&graph["graph_id"], &graph["root_node_id"]);
    generate_answers(&desk, id, root, &["41", "42"]).await;
    let end = json!({ "graph_id": id, "terminal_node_ids": ["n3"] });
    desk.call_ok("reasoning_got_finalize", end).await;
    for shown in [id, &graph["session_id"]] {
        let page = crate::view::render_entity(&desk, shown, "markdown").await;
        let (above, nodes) = page.split_once("\n### `n1` root").unwrap();
        assert!(above.ends_with("**Conclusion `n3`:** 42\n"), "{page}");
        assert_eq!(
            nodes.matches("*Weakest point: untested*").count(),
            2,
            "{page}"
        );
    }
}
