//! No answer is too long to be read, and everything can be read in parts.

use deliberate_core::{Change, EdgeKind, Graph, Mode};
use serde_json::{Value, json};

use crate::{
    desk::Desk,
    graph_kit::{edge, moment, plant, planted},
    view::GET,
};

/// What an answer may hold besides 60,000 characters of text: ids, times, the names of fields.
const MOST: usize = 200_000;

fn list<'a>(answer: &'a Value, field: &str) -> &'a [Value] {
    answer["data"][field].as_array().unwrap()
}

fn ids(things: &[Value]) -> Vec<String> {
    let ids = things.iter().map(|thing| thing["id"].as_str().unwrap());
    ids.map(str::to_owned).collect()
}

fn another_graph(id: &str, problem: &str) -> Change {
    Change::AddGraph(a_graph(id, problem))
}

fn a_graph(id: &str, problem: &str) -> Graph {
    Graph {
        id: id.into(),
        session_id: "s".into(),
        problem: Some(problem.to_owned()),
        config: json!({}),
        set_aside: false,
        created_at: moment(),
        updated_at: moment(),
    }
}

/// Graph `g`: a root `n0` and so many nodes below it, with that text.
async fn planted_star(desk: &Desk, count: usize, text: &str) {
    let mut nodes = vec![planted("n0", 0, None)];
    nodes.extend((1..count).map(|number| planted(&format!("n{number}"), 1, Some(0.5))));
    for node in &mut nodes {
        text.clone_into(&mut node.content);
    }
    let edges = (1..count).map(|number| edge("n0", EdgeKind::Generates, &format!("n{number}")));
    let edges = edges.collect();
    plant(desk, nodes, edges).await;
}

/// Reads a thing part by part; the ids of what was given under that name.
async fn read_all(desk: &Desk, id: &str, field: &str) -> Vec<String> {
    let mut read = Vec::new();
    let mut offset = Some(0);
    while let Some(from) = offset {
        let part = desk.done(GET, json!({ "id": id, "offset": from })).await;
        assert!(part.to_string().len() < MOST, "{}", part.to_string().len());
        assert!(!list(&part, field).is_empty());
        read.extend(ids(list(&part, field)));
        offset = part["next_offset"].as_u64();
    }
    read
}

#[tokio::test]
async fn a_graph_is_read_in_parts_with_the_edges_that_lead_to_them() {
    let desk = Desk::new();
    planted_star(&desk, 120, "short").await;
    let first = desk.done(GET, json!({ "id": "g" })).await;
    assert_eq!(first["kind"], "graph");
    assert_eq!(list(&first, "nodes").len(), 50);
    assert_eq!(list(&first, "edges").len(), 49);
    assert_eq!(first["next_offset"], 50);
    assert_eq!(first["data"].get("next_offset"), None);
    let last = desk
        .done(GET, json!({ "id": "g", "offset": 100, "limit": 200 }))
        .await;
    assert_eq!(list(&last, "nodes").len(), 20);
    assert_eq!(list(&last, "edges")[0]["to_node"], "n100");
    assert_eq!(last.get("next_offset"), None);
    let all = desk.done(GET, json!({ "id": "g", "limit": 200 })).await;
    assert_eq!(list(&all, "nodes").len(), 120);
    assert_eq!(all.get("next_offset"), None);
    let text = desk
        .done(
            GET,
            json!({ "id": "g", "offset": 110, "limit": 2, "format": "markdown" }),
        )
        .await["text"]
        .clone();
    let text = text.as_str().unwrap();
    assert!(
        text.contains("### 111. thought (50 %) ← `n0` generates"),
        "{text}"
    );
    assert!(text.contains("from offset 112"), "{text}");
    let expected: Vec<_> = (0..120).map(|number| format!("n{number}")).collect();
    assert_eq!(read_all(&desk, "g", "nodes").await, expected);
}

#[tokio::test]
async fn long_nodes_share_one_budget_and_each_is_given_whole() {
    let desk = Desk::new();
    planted_star(&desk, 50, &"word ".repeat(16_000)).await;
    let part = desk.done(GET, json!({ "id": "g" })).await;
    assert_eq!(list(&part, "nodes").len(), 1);
    assert_eq!(
        list(&part, "nodes")[0]["content"].as_str().unwrap().len(),
        80_000
    );
    assert_eq!(part["next_offset"], 1);
    assert_eq!(read_all(&desk, "g", "nodes").await.len(), 50);

    let session = desk.done(GET, json!({ "id": "s" })).await;
    let graph = &list(&session, "graphs")[0];
    assert_eq!(graph["nodes"].as_array().unwrap().len(), 1);
    assert_eq!(graph["next_offset"], 1);
    for format in ["data", "markdown", "mermaid"] {
        for id in ["s", "g"] {
            let answer = desk.done(GET, json!({ "id": id, "format": format })).await;
            assert!(answer.to_string().len() < MOST, "{id} as {format}");
        }
    }
}

#[tokio::test]
async fn thoughts_come_first_and_graphs_have_the_rest() {
    let desk = Desk::new();
    let long = "word ".repeat(1_000);
    let steps = (0..9).map(|_| ("in".to_owned(), long.clone()));
    desk.has_session(Mode::Linear, steps).await;
    let mut changes = vec![another_graph("g", "why?"), another_graph("h", "how?")];
    for number in 0..9 {
        let mut node = planted(&format!("n{number}"), 0, None);
        node.content.clone_from(&long);
        changes.push(Change::AddNode(node));
    }
    desk.store.commit(changes).await.unwrap();
    let whole = desk.done(GET, json!({ "id": "s" })).await;
    assert_eq!(list(&whole, "thoughts").len(), 9);
    assert_eq!(whole.get("next_offset"), None);
    let graphs = list(&whole, "graphs");
    assert_eq!(graphs[0]["graph"]["id"], "g");
    assert_eq!(graphs[0]["nodes"].as_array().unwrap().len(), 2);
    assert_eq!(graphs[0]["next_offset"], 2);
    assert_eq!(graphs[1]["nodes"], json!([]));
    assert_eq!(graphs[1].get("next_offset"), None);
    let later = desk.done(GET, json!({ "id": "s", "offset": 2 })).await;
    assert_eq!(list(&later, "thoughts").len(), 7);
    assert_eq!(later["data"]["graphs"], json!([]));
    let text = crate::view::text(&desk, &json!("s"), "markdown").await;
    assert!(text.contains("*More nodes follow in graph `g` from offset 2.*"));
}

#[tokio::test]
async fn a_session_of_many_long_things_is_bounded() {
    let desk = Desk::new();
    planted_star(&desk, 2, "short").await;
    let problem = "why ".repeat(20_000);
    let graphs = (0..30).map(|number| another_graph(&format!("g{number}"), &problem));
    desk.store.commit(graphs.collect()).await.unwrap();
    let answer = desk.done(GET, json!({ "id": "s" })).await;
    assert!(answer.to_string().len() < MOST);
    assert_eq!(answer["data"]["graphs_left_out"], true);
    assert_eq!(
        list(&answer, "graphs")[0]["nodes"]
            .as_array()
            .unwrap()
            .len(),
        2
    );
}

#[tokio::test]
async fn twenty_graphs_are_listed() {
    let desk = Desk::new();
    planted_star(&desk, 2, "short").await;
    let more = |from: u32, to| (from..to).map(|number| another_graph(&format!("g{number}"), "?"));
    desk.store.commit(more(0, 19).collect()).await.unwrap();
    let answer = desk.done(GET, json!({ "id": "s" })).await;
    assert_eq!(list(&answer, "graphs").len(), 20);
    assert_eq!(answer["data"].get("graphs_left_out"), None);
    desk.store.commit(more(19, 25).collect()).await.unwrap();
    let answer = desk.done(GET, json!({ "id": "s" })).await;
    assert_eq!(list(&answer, "graphs").len(), 20);
    assert_eq!(answer["data"]["graphs_left_out"], true);
}

#[tokio::test]
async fn a_picture_has_no_more_boxes_than_can_be_read() {
    let desk = Desk::new();
    planted_star(&desk, 400, &"long ".repeat(1_000)).await;
    let boxes = |picture: &str| picture.matches("<br/>50 %").count();
    for id in ["g", "s"] {
        let picture = crate::view::text(&desk, &json!(id), "mermaid").await;
        assert_eq!(boxes(&picture), 149, "without the root, which has no score");
        assert!(picture.contains("more nodes"));
    }
    let rest = json!({ "id": "g", "format": "mermaid", "offset": 390 });
    let picture = desk.done(GET, rest).await;
    assert_eq!(boxes(picture["text"].as_str().unwrap()), 10);
    assert_eq!(picture.get("next_offset"), None);
}

#[tokio::test]
async fn a_picture_of_later_steps_says_that_there_are_earlier_ones() {
    let desk = Desk::new();
    let steps = (1..=160).map(|number| (format!("in {number}"), format!("thought {number}")));
    desk.has_session(Mode::Linear, steps).await;
    let first = crate::view::text(&desk, &json!("s"), "mermaid").await;
    assert!(
        first.contains("t150[") && !first.contains("t151["),
        "{first}"
    );
    assert!(first.contains("later[\"more steps\"]"), "{first}");
    let rest = json!({ "id": "s", "format": "mermaid", "offset": 150 });
    let rest = desk.done(GET, rest).await["text"].clone();
    let rest = rest.as_str().unwrap();
    assert!(
        rest.contains("earlier[\"150 earlier steps\"]:::gone -.-> t151"),
        "{rest}"
    );
    assert!(rest.contains("t159 --> t160"), "{rest}");
}

/// Puts thoughts on a branch.
async fn goes_on(desk: &Desk, branch: &Value, ids: &[&str]) {
    let mut thought = desk.thoughts().await.pop().unwrap();
    thought.branch_id = Some(branch.as_str().unwrap().into());
    let changes = ids.iter().map(|id| {
        thought.id = (*id).into();
        Change::AddThought(thought.clone())
    });
    let changes = changes.collect();
    desk.store.commit(changes).await.unwrap();
}

#[tokio::test]
async fn a_branch_is_read_in_parts() {
    let desk = Desk::new();
    let branch = crate::view::tree(&desk).await["recommended_branch"].clone();
    goes_on(&desk, &branch, &["a", "b", "c"]).await;
    let first = desk.done(GET, json!({ "id": branch, "limit": 1 })).await;
    assert_eq!(list(&first, "thoughts").len(), 1);
    assert_eq!(first["next_offset"], 1);
    let rest = json!({ "id": branch, "offset": 1, "limit": 1, "format": "markdown" });
    let rest = desk.done(GET, rest).await["text"].clone();
    assert!(rest.as_str().unwrap().contains("## Step 2 "), "{rest}");
    let all = read_all(&desk, branch.as_str().unwrap(), "thoughts").await;
    assert_eq!(all[1..], ["a", "b", "c"]);
}

#[tokio::test]
async fn what_was_set_aside_can_be_read_by_its_id() {
    let desk = Desk::new();
    let first = desk.think(json!({ "content": "begin" })).await;
    let session = first["session_id"].as_str().unwrap();
    let place = json!({ "session_id": session, "name": "here" });
    let place = desk.done("reasoning_checkpoint_create", place).await;
    let back = json!({ "checkpoint_id": place["checkpoint_id"], "new_direction": "another way" });
    let away = desk.done("reasoning_backtrack", back.clone()).await;
    let graph = Graph {
        session_id: session.into(),
        ..a_graph("g", "why?")
    };
    let mut node = planted("n", 0, None);
    node.session_id = session.into();
    let changes = vec![Change::AddGraph(graph), Change::AddNode(node)];
    desk.store.commit(changes).await.unwrap();
    desk.done("reasoning_backtrack", back).await;

    let branch = desk.done(GET, json!({ "id": away["new_branch_id"] })).await;
    assert_eq!(branch["data"]["branch"]["set_aside"], true);
    assert_eq!(list(&branch, "thoughts").len(), 1);
    assert_eq!(list(&branch, "thoughts")[0]["set_aside"], true);
    let graph = desk.done(GET, json!({ "id": "g" })).await;
    assert_eq!(graph["data"]["graph"]["set_aside"], true);
    assert_eq!(list(&graph, "nodes").len(), 1);
    let now = desk.done(GET, json!({ "id": session })).await;
    assert_eq!(now["data"]["graphs"], json!([]));
    let all = json!({ "id": session, "include_set_aside": true });
    let all = desk.done(GET, all).await;
    assert_eq!(list(&all, "graphs")[0]["nodes"][0]["id"], "n");
}

#[tokio::test]
async fn set_aside_thoughts_of_a_branch_are_shown_when_asked_for() {
    let desk = Desk::new();
    let tree = crate::view::tree(&desk).await;
    let branch = &tree["recommended_branch"];
    let place = json!({ "session_id": tree["session_id"], "name": "here" });
    let place = desk.done("reasoning_checkpoint_create", place).await;
    goes_on(&desk, branch, &["later"]).await;
    let back = json!({ "checkpoint_id": place["checkpoint_id"] });
    desk.done("reasoning_backtrack", back).await;
    let now = desk.done(GET, json!({ "id": branch })).await;
    assert_eq!(list(&now, "thoughts").len(), 1);
    let all = json!({ "id": branch, "include_set_aside": true });
    let all = desk.done(GET, all).await;
    assert_eq!(list(&all, "thoughts")[1]["id"], "later");
}

#[tokio::test]
async fn an_offset_beyond_everything_is_refused_by_its_name() {
    let desk = Desk::new();
    desk.has_session(Mode::Linear, [("in", "out")]).await;
    for offset in [1_000_001_u64, 5_000_000_000] {
        for tool in [GET, "reasoning_sessions"] {
            let mut arguments = json!({ "offset": offset });
            if tool == GET {
                arguments["id"] = json!("s");
            }
            let error = desk.refused(tool, arguments).await;
            assert!(error.to_string().contains("offset"), "{error}");
            assert!(!error.to_string().contains("u32"), "{error}");
        }
    }
    let beyond = desk
        .done(GET, json!({ "id": "s", "offset": 1_000_000 }))
        .await;
    assert_eq!(beyond["data"]["thoughts"], json!([]));
}
