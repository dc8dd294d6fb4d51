//! Steps that use tools first: the evidence goes into the prompt and is stored with the thought.

use deliberate_store::EpochFilter;
use deliberate_toolkit::{CallOutcome, CallerContext, RESUME_TOOL};
use serde_json::{Value, json};

use super::{
    graph_fixtures::{continuation_reply, init_graph},
    test_registry::{FULL_PAGE, ReasoningTestRegistry, conversation, step_json, text_reply},
};

/// A tool call as a model without native tool use writes it.
fn tool_call_reply(tool: &str, arguments: &Value) -> String {
    json!({ "calls": [{ "name": tool, "arguments": arguments }], "answer": "" }).to_string()
}

fn final_turn_reply(text: &str) -> String {
    json!({ "calls": [], "answer": text }).to_string()
}

#[tokio::test]
async fn what_tools_find_is_asked_with_and_kept_with_the_thought() {
    let desk = ReasoningTestRegistry::new();
    desk.think_ok(json!({ "content": "Cats purr." })).await;
    desk.script_replies([
        text_reply(&tool_call_reply("reasoning_sessions", &json!({}))),
        text_reply(&final_turn_reply("There is one session.")),
        text_reply(&step_json("So there is one.")),
    ]);
    let arguments = json!({ "content": "How many are there?", "tools": ["reasoning_sessions"] });
    let output = desk.think_ok(arguments).await;
    assert_eq!(output["content"], "So there is one.");
    assert_eq!(output["evidence"][0]["tool"], "reasoning_sessions");
    let asked = desk.requests();
    let last = conversation(asked.last().unwrap());
    assert!(
        last.contains("<evidence-7e57ed tool=\"reasoning_sessions\">"),
        "{last}"
    );
    assert!(last.contains("There is one session."), "{last}");
    let id = output["thought_id"].as_str().unwrap();
    let kept = desk.store.thought(&id.into()).await.unwrap().unwrap();
    let evidence = &kept.metadata.unwrap()["evidence"][0];
    assert_eq!(evidence["tool"], "reasoning_sessions");
    assert_eq!(evidence["failed"], false);
    assert!(evidence["result"].as_str().unwrap().contains("Cats purr."));
    let page = json!({ "id": id, "format": "markdown" });
    let page = desk.call_ok("reasoning_get", page).await.to_string();
    assert!(page.contains("- `reasoning_sessions`: "), "{page}");
}

#[tokio::test]
async fn a_tool_that_fails_is_evidence_too() {
    let desk = ReasoningTestRegistry::new();
    desk.script_replies([
        text_reply(&tool_call_reply(
            "reasoning_get",
            &json!({ "id": "nothing" }),
        )),
        text_reply(&final_turn_reply("It is not there.")),
        text_reply(&step_json("Then I go on without.")),
    ]);
    let arguments = json!({ "content": "Look it up.", "tools": ["reasoning_get"] });
    let output = desk.think_ok(arguments).await;
    assert_eq!(output["evidence"][0]["failed"], true);
}

#[tokio::test]
async fn a_step_without_need_for_tools_has_no_evidence() {
    let desk = ReasoningTestRegistry::new();
    desk.script_replies([
        text_reply(&final_turn_reply("Nothing is needed.")),
        text_reply(&step_json("Two.")),
    ]);
    let output = desk
        .think_ok(json!({ "content": "1 + 1", "tools": ["reasoning_*"] }))
        .await;
    assert_eq!(output["content"], "Two.");
    assert_eq!(output.get("evidence"), None);
}

#[tokio::test]
async fn an_unknown_tool_is_named_before_anyone_is_asked() {
    let desk = ReasoningTestRegistry::new();
    let arguments = json!({ "content": "x", "tools": ["reasoning_session", "reasoning_linear"] });
    let outcome = desk
        .registry
        .call("reasoning_linear", arguments, CallerContext::default())
        .await;
    let error = outcome.unwrap_err().to_json();
    assert_eq!(error["code"], "Validation");
    assert_eq!(error["issues"][0]["field"], "tools.0");
    assert_eq!(error["issues"][0]["did_you_mean"], "reasoning_sessions");
    // A tool cannot call itself.
    assert_eq!(error["issues"][1]["field"], "tools.1");
    assert!(desk.requests().is_empty());
}

#[tokio::test]
async fn a_graph_grows_from_what_was_found() {
    let desk = ReasoningTestRegistry::new();
    let graph = init_graph(&desk, json!({})).await;
    desk.script_replies([
        text_reply(&tool_call_reply(
            "reasoning_search",
            &json!({ "query": "root" }),
        )),
        text_reply(&final_turn_reply("The root is there.")),
        continuation_reply("one way"),
        continuation_reply("another way"),
    ]);
    let arguments = json!({
        "graph_id": graph["graph_id"],
        "node_id": graph["root_node_id"],
        "k": 2,
        "tools": ["reasoning_search"],
    });
    let output = desk.call_ok("reasoning_got_generate", arguments).await;
    assert_eq!(output["count"], 2);
    assert_eq!(output["evidence"][0]["tool"], "reasoning_search");
    let id = graph["graph_id"].as_str().unwrap();
    let nodes = desk
        .store
        .nodes(&id.into(), EpochFilter::All, FULL_PAGE)
        .await
        .unwrap();
    let with = nodes.iter().filter(|node| {
        let metadata = node.metadata.as_ref();
        metadata.is_some_and(|kept| kept["evidence"][0]["tool"] == "reasoning_search")
    });
    assert_eq!(with.count(), 2);
}

#[tokio::test]
async fn a_client_that_thinks_itself_uses_tools_too_and_each_once() {
    let desk = ReasoningTestRegistry::without_model();
    let arguments = json!({ "content": "Begin.", "tools": ["reasoning_got_init"] });
    let mut answer = call(&desk, "reasoning_linear", arguments).await;
    let replies = [
        tool_call_reply("reasoning_got_init", &json!({ "content": "a root" })),
        final_turn_reply("A graph was begun."),
        step_json("It is begun."),
    ];
    for reply in replies {
        let CallOutcome::NeedsReply(needs) = answer else {
            panic!("{answer:?}");
        };
        assert_eq!(needs.asks.len(), 1);
        let arguments = json!({ "id": needs.id, "replies": [reply] });
        answer = call(&desk, RESUME_TOOL, arguments).await;
    }
    let CallOutcome::Done(output) = answer else {
        panic!("{answer:?}");
    };
    assert_eq!(output["content"], "It is begun.");
    let graphs = desk.store.sessions(FULL_PAGE).await.unwrap();
    assert_eq!(graphs.len(), 2, "the graph's session and the step's");
}

async fn call(registry: &ReasoningTestRegistry, tool: &str, arguments: Value) -> CallOutcome {
    let outcome = registry
        .registry
        .call(tool, arguments, CallerContext::default())
        .await;
    outcome.unwrap()
}
