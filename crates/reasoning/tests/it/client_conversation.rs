//! The client's own model as the one that replies: what it is shown of earlier steps, and of what it
//! has just written.

use deliberate_core::Mode;
use deliberate_toolkit::{CallOutcome, CallerContext, ClientConversation, NeedsReply, RESUME_TOOL};
use serde_json::{Value, json};

use super::test_registry::{ReasoningTestRegistry, step_text};

const DIGEST: &str = "You made the earlier steps of this session";

/// A connection of a client to a server without a model.
struct ClientConnection<'d> {
    desk: &'d ReasoningTestRegistry,
    caller: CallerContext,
}

impl<'d> ClientConnection<'d> {
    fn new(desk: &'d ReasoningTestRegistry) -> Self {
        let caller = CallerContext {
            conversation: Some(ClientConversation::default()),
            ..CallerContext::default()
        };
        Self { desk, caller }
    }

    async fn call(&self, tool: &str, arguments: Value) -> CallOutcome {
        let registry = &self.desk.registry;
        let outcome = registry.call(tool, arguments, self.caller.clone()).await;
        outcome.unwrap()
    }

    async fn call_done(&self, tool: &str, arguments: Value) -> Value {
        match self.call(tool, arguments).await {
            CallOutcome::Done(output) => output,
            CallOutcome::NeedsReply(needs) => panic!("{needs:?}"),
        }
    }

    /// The prompt of a step.
    async fn ask(&self, arguments: Value) -> (NeedsReply, String) {
        self.ask_tool("reasoning_linear", arguments).await
    }

    /// The first prompt of a call.
    async fn ask_tool(&self, tool: &str, arguments: Value) -> (NeedsReply, String) {
        let outcome = self.call(tool, arguments).await;
        let CallOutcome::NeedsReply(needs) = outcome else {
            panic!("{outcome:?}");
        };
        let text = needs.asks[0].messages[0].text.clone();
        (needs, text)
    }

    async fn resume(&self, needs: &NeedsReply, thought: &str) -> Value {
        let arguments = json!({ "id": needs.id, "replies": [step_text(thought)] });
        self.call_done(RESUME_TOOL, arguments).await
    }
}

#[tokio::test]
async fn a_session_begun_in_a_connection_is_not_shown_in_it_again() {
    let desk = ReasoningTestRegistry::without_model();
    let client = ClientConnection::new(&desk);
    let (needs, first) = client.ask(json!({ "content": "x" })).await;
    assert!(!first.contains(DIGEST), "{first}");
    let step = client.resume(&needs, "the first step").await;
    let next = json!({ "content": "y", "session_id": step["session_id"] });
    let (_, text) = client.ask(next.clone()).await;
    assert!(text.contains(DIGEST), "{text}");
    assert!(!text.contains("the first step"), "{text}");
    // Requests that belong to no connection are always shown the steps.
    let alone = ClientConnection {
        desk: &desk,
        caller: CallerContext::default(),
    };
    for _ in 0..2 {
        let (_, text) = alone.ask(next.clone()).await;
        assert!(
            text.contains("the first step") && !text.contains(DIGEST),
            "{text}"
        );
    }
}

#[tokio::test]
async fn a_new_connection_is_shown_the_steps_of_an_old_session_once() {
    let desk = ReasoningTestRegistry::without_model();
    desk.add_session(Mode::Linear, [("in 1", "an old step")])
        .await;
    let client = ClientConnection::new(&desk);
    let next = json!({ "content": "y", "session_id": "s" });
    // With its own reply it has not seen the steps.
    let with_reply = json!({ "content": "y", "session_id": "s", "reply": "mine" });
    client.call_done("reasoning_linear", with_reply).await;
    let (needs, text) = client.ask(next.clone()).await;
    assert!(
        text.contains("an old step") && !text.contains(DIGEST),
        "{text}"
    );
    client.resume(&needs, "a new step").await;
    let (_, text) = client.ask(next).await;
    assert!(
        text.contains(DIGEST) && !text.contains("an old step"),
        "{text}"
    );
}

#[tokio::test]
async fn who_has_read_a_session_is_not_shown_its_steps() {
    let desk = ReasoningTestRegistry::without_model();
    desk.add_session(Mode::Linear, [("in 1", "an old step")])
        .await;
    let client = ClientConnection::new(&desk);
    client
        .call_done("reasoning_get", json!({ "id": "s" }))
        .await;
    let next = json!({ "content": "y", "session_id": "s" });
    let (_, text) = client.ask(next).await;
    assert!(text.contains(DIGEST), "{text}");
}

#[tokio::test]
async fn steps_that_another_connection_added_are_shown() {
    let desk = ReasoningTestRegistry::without_model();
    let (client, other) = (ClientConnection::new(&desk), ClientConnection::new(&desk));
    let step = json!({ "content": "x", "reply": "the first step" });
    let step = client.call_done("reasoning_linear", step).await;
    let next = json!({ "content": "y", "session_id": step["session_id"] });
    let mut theirs = next.clone();
    theirs["reply"] = json!("a step of another client");
    other.call_done("reasoning_linear", theirs).await;
    let (needs, text) = client.ask(next.clone()).await;
    assert!(
        text.contains("a step of another client") && !text.contains(DIGEST),
        "{text}"
    );
    client.resume(&needs, "a third step").await;
    // A call that asks for nothing leaves the conversation complete.
    let place = json!({ "session_id": step["session_id"], "name": "here" });
    client.call_done("reasoning_checkpoint_create", place).await;
    let (_, text) = client.ask(next).await;
    assert!(text.contains(DIGEST), "{text}");
}

#[tokio::test]
async fn who_has_read_only_a_part_of_a_session_is_shown_its_steps() {
    let desk = ReasoningTestRegistry::without_model();
    desk.add_session(
        Mode::Linear,
        [("in 1", "an old step"), ("in 2", "a newer one")],
    )
    .await;
    let client = ClientConnection::new(&desk);
    let part = json!({ "id": "s", "limit": 1 });
    client.call_done("reasoning_get", part).await;
    let next = json!({ "content": "y", "session_id": "s" });
    let (_, text) = client.ask(next).await;
    assert!(text.contains("a newer one"), "{text}");
}

#[tokio::test]
async fn instructions_are_given_once_in_a_conversation() {
    let desk = ReasoningTestRegistry::without_model();
    let client = ClientConnection::new(&desk);
    let (first, _) = client.ask(json!({ "content": "x" })).await;
    let instructions = first.asks[0].system.clone();
    let step = client.resume(&first, "the first step").await;
    let next = json!({ "content": "y", "session_id": step["session_id"] });
    let (second, _) = client.ask(next.clone()).await;
    let shortened = &second.asks[0].system;
    assert!(shortened.len() < instructions.len() / 2, "{shortened}");
    let (first_sentence, _) = shortened.split_once('.').unwrap();
    assert!(instructions.starts_with(first_sentence), "{shortened}");
    // Who fetches the same prompt again has perhaps lost it.
    let again = client.call(RESUME_TOOL, json!({ "id": second.id })).await;
    let CallOutcome::NeedsReply(again) = again else {
        panic!("{again:?}")
    };
    assert_eq!(again.asks[0].system, instructions);
    // So does a model outside the conversation, and a new connection.
    let outside = ClientConnection {
        desk: &desk,
        caller: CallerContext {
            prompts_leave_conversation: true,
            ..client.caller.clone()
        },
    };
    for client in [outside, ClientConnection::new(&desk)] {
        let (asked, _) = client.ask(next.clone()).await;
        assert_eq!(asked.asks[0].system, instructions);
    }
}

#[tokio::test]
async fn a_resumed_call_does_not_repeat_what_the_client_has_just_sent() {
    let desk = ReasoningTestRegistry::without_model();
    let client = ClientConnection::new(&desk);
    let (needs, _) = client.ask(json!({ "content": "x" })).await;
    let output = client.resume(&needs, "my long thought").await;
    let arguments = json!({ "id": needs.id });
    let shown = desk.registry.present(RESUME_TOOL, &arguments, &output);
    let shown = shown.await.unwrap();
    assert!(!shown.text.contains("my long thought"), "{}", shown.text);
    assert_eq!(shown.data["content"], "my long thought");
    assert_eq!(shown.data.get("replies_recorded"), None);
    assert!(shown.data["thought_id"].is_string());
    assert_eq!(desk.only_thought().await.content, "my long thought");
    // A model that does not see the conversation has written it for someone else.
    let elsewhere = ClientConnection {
        desk: &desk,
        caller: CallerContext {
            prompts_leave_conversation: true,
            ..CallerContext::default()
        },
    };
    let (needs, _) = elsewhere.ask(json!({ "content": "x" })).await;
    let output = elsewhere.resume(&needs, "another thought").await;
    assert_eq!(output.get("replies_recorded"), None);
}

/// A text that is much longer than what is shown of it to the model that wrote it.
fn long_text(name: &str) -> String {
    let more = "More. ".repeat(100);
    format!("The {name} begins. {more}The middle of the {name}. {more}The end of the {name}")
}

/// A graph whose two nodes the client has written in this connection.
async fn written_graph(client: &ClientConnection<'_>) -> (Value, [Value; 2]) {
    let init = json!({ "content": "the root", "problem": "the problem" });
    let graph = client.call_done("reasoning_got_init", init).await;
    let id = graph["graph_id"].clone();
    let grow = json!({ "graph_id": id, "node_id": graph["root_node_id"], "k": 2 });
    let (needs, _) = client.ask_tool("reasoning_got_generate", grow).await;
    let replies = ["first", "second"].map(|name| step_text(&long_text(name)));
    let resume = json!({ "id": needs.id, "replies": replies });
    let grown = client.call_done(RESUME_TOOL, resume).await;
    let nodes = [0, 1].map(|number| grown["continuations"][number]["node_id"].clone());
    (id, nodes)
}

#[tokio::test]
async fn the_end_of_a_node_is_not_shown_to_the_client_that_wrote_it() {
    let desk = ReasoningTestRegistry::without_model();
    let client = ClientConnection::new(&desk);
    let (id, nodes) = written_graph(&client).await;
    let arguments = json!({ "graph_id": id, "node_id": nodes[0] });
    let (_, known) = client.ask_tool("reasoning_got_score", arguments).await;
    assert!(known.contains("The first begins."), "{known}");
    assert!(!known.contains("The end of the first"), "{known}");
}

#[tokio::test]
async fn of_nodes_that_a_client_wrote_only_the_beginnings_are_shown_to_it() {
    let desk = ReasoningTestRegistry::without_model();
    let client = ClientConnection::new(&desk);
    let (id, nodes) = written_graph(&client).await;
    let [one, other] = ["first", "second"].map(long_text);
    let another = ClientConnection::new(&desk);
    for (tool, arguments, texts) in [
        (
            "reasoning_got_score",
            json!({ "graph_id": id, "node_id": nodes[0] }),
            &[&one][..],
        ),
        (
            "reasoning_got_generate",
            json!({ "graph_id": id, "node_id": nodes[0], "k": 1 }),
            &[&one],
        ),
        (
            "reasoning_got_refine",
            json!({ "graph_id": id, "node_id": nodes[0] }),
            &[&one],
        ),
        (
            "reasoning_got_score",
            json!({ "graph_id": id, "node_ids": nodes }),
            &[&one, &other],
        ),
        (
            "reasoning_got_aggregate",
            json!({ "graph_id": id, "node_ids": nodes }),
            &[&one, &other],
        ),
    ] {
        let (_, known) = client.ask_tool(tool, arguments.clone()).await;
        let (_, unknown) = another.ask_tool(tool, arguments).await;
        assert!(
            known.contains("only their beginnings are shown"),
            "{tool}: {known}"
        );
        assert!(!known.contains("The middle of the"), "{tool}: {known}");
        assert!(
            !unknown.contains("only their beginnings"),
            "{tool}: {unknown}"
        );
        for text in texts {
            let (begin, _) = text.split_once(" More.").unwrap();
            assert!(known.contains(begin), "{tool}: {known}");
            assert!(unknown.contains(text.as_str()), "{tool}: {unknown}");
        }
        assert!(!known.contains("<problem"), "{tool}: {known}");
        assert!(!known.contains("the root"), "{tool}: {known}");
        let problem = "<problem-7e57ed>\nthe problem\n</problem-7e57ed>";
        assert!(unknown.contains(problem), "{tool}: {unknown}");
    }
}
