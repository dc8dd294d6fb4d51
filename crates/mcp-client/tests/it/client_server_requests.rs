//! Tests of the requests that a server sends to its client, and of the handler that answers.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use deliberate_mcp_client::{
    ClientErrorKind, McpClient, ServerConfig,
    client::{
        CallOptions, ClientCapabilities, ClientHandler, InputMode, ResumedInput, ServerEvent,
    },
    jsonrpc::RpcError,
    transport::DeliveryStatus,
};
use futures::future::BoxFuture;
use serde_json::{Value, json};

use crate::client_support::{
    ScriptedServer, ServerConnection, SpawnedServer, answer_handshake, answer_stateless, call,
    client, stdio, text, wait_until, with_deadline,
};

/// Answers everything with its own name.
#[derive(Default)]
struct RecordingHandler {
    name: &'static str,
    events: Mutex<Vec<String>>,
    delay: Duration,
}

fn recording_handler(name: &'static str) -> Arc<RecordingHandler> {
    Arc::new(RecordingHandler {
        name,
        ..RecordingHandler::default()
    })
}

impl RecordingHandler {
    fn events(&self) -> Vec<String> {
        self.events.lock().unwrap().clone()
    }
}

impl ClientHandler for RecordingHandler {
    fn capabilities(&self) -> ClientCapabilities {
        ClientCapabilities {
            sampling: true,
            elicitation: true,
            elicitation_url: false,
            roots: true,
        }
    }

    fn sample<'a>(&'a self, _: &'a str, params: Value) -> BoxFuture<'a, Result<Value, RpcError>> {
        let asked = params["messages"][0]["content"]["text"].clone();
        Box::pin(async move { Ok(json!({ "by": self.name, "asked": asked })) })
    }

    fn elicit<'a>(&'a self, _: &'a str, params: Value) -> BoxFuture<'a, Result<Value, RpcError>> {
        Box::pin(async move {
            tokio::time::sleep(self.delay).await;
            let content = json!({ "answer": self.name, "asked": params["message"] });
            Ok(json!({ "action": "accept", "content": content }))
        })
    }

    fn list_roots<'a>(&'a self, _: &'a str) -> BoxFuture<'a, Vec<Value>> {
        Box::pin(async { vec![json!({ "uri": "file:///here", "name": self.name })] })
    }

    fn log(&self, server: &str, params: &Value) {
        let mut told = self.events.lock().unwrap();
        told.push(format!("{server}: {}", params["data"]));
    }

    fn on_server_event(&self, _: &str, event: ServerEvent) {
        self.events.lock().unwrap().push(format!("{event:?}"));
    }
}

async fn assert_server_requests(config: ServerConfig) {
    let shown = config.name.clone();
    let client = McpClient::new(config, recording_handler("client")).unwrap();
    let ask = |tool: &'static str, options: CallOptions| {
        let arguments = json!({ "message": "how?", "prompt": "what?" });
        let call = client.call(tool, arguments, options);
        async move { text(&with_deadline(call).await.unwrap()) }
    };
    for own in [None, Some("call")] {
        let name = own.unwrap_or("client");
        let options = CallOptions {
            handler: own.map(|name| -> Arc<dyn ClientHandler> { recording_handler(name) }),
            ..CallOptions::default()
        };
        let answer = ask("ask", options.clone()).await;
        assert!(
            answer.contains(name) && answer.contains("how?"),
            "{shown} {answer}"
        );
        let answer = ask("sample", options.clone()).await;
        assert!(
            answer.contains(name) && answer.contains("what?"),
            "{shown} {answer}"
        );
        let answer = ask("roots", options).await;
        assert!(
            answer.contains(name) && answer.contains("file:///here"),
            "{shown}"
        );
    }
    with_deadline(client.close()).await;
}

#[tokio::test]
async fn a_call_is_asked_through_every_transport_in_both_eras() {
    for era in ["handshake", "stateless"] {
        assert_server_requests(stdio("stdio", &["--era", era])).await;
        let web = SpawnedServer::http(&["--era", era, "--sse"]);
        assert_server_requests(web.config("streams")).await;
        // Without streams of their own, requests arrive on the GET stream.
        let web = SpawnedServer::http(&["--era", era]);
        assert_server_requests(web.config("plain")).await;
        let socket = SpawnedServer::ws(&["--era", era]);
        assert_server_requests(socket.socket_config("socket")).await;
    }
}

#[tokio::test]
async fn nobody_there_refuses() {
    let older = client(stdio("older", &["--era", "handshake"]));
    let result = call(&older, "sample", json!({ "prompt": "x" }))
        .await
        .unwrap();
    assert!(text(&result).contains("this client does not support sampling"));
    let newer = client(stdio("newer", &["--era", "stateless"]));
    let error = call(&newer, "sample", json!({ "prompt": "x" }))
        .await
        .unwrap_err();
    // The server had started; no other server may be asked to do it again.
    assert_eq!((error.code(), error.delivery), ("Rpc", DeliveryStatus::Yes));
}

#[tokio::test]
async fn wanted_input_can_be_handed_over_and_brought_back() {
    let client = client(stdio("newer", &["--era", "stateless"]));
    let options = CallOptions {
        input_mode: InputMode::ReturnToCaller,
        ..CallOptions::default()
    };
    let arguments = json!({ "message": "how?" });
    let wants = with_deadline(client.call("ask", arguments.clone(), options))
        .await
        .unwrap();
    assert_eq!(wants["resultType"], "input_required");
    assert_eq!(
        wants["inputRequests"]["answer"]["method"],
        "elicitation/create"
    );
    let options = CallOptions {
        resumed_input: Some(ResumedInput {
            state: wants["requestState"].as_str().map(str::to_owned),
            responses: json!({ "answer": { "action": "decline" } }),
        }),
        ..CallOptions::default()
    };
    let result = with_deadline(client.call("ask", arguments, options))
        .await
        .unwrap();
    assert!(text(&result).contains("decline"));
}

#[tokio::test]
async fn a_server_that_always_wants_more_is_stopped() {
    let server = ScriptedServer::new(|stage, message| {
        if !answer_stateless(stage, message) {
            stage.answer(
                message,
                &json!({ "resultType": "input_required", "inputRequests": {}, "requestState": "s" }),
            );
        }
    });
    let error = call(&server.client(), "any", json!({})).await.unwrap_err();
    assert!(
        matches!(&error.kind, ClientErrorKind::Malformed { reason } if reason.contains("10 times"))
    );
    assert_eq!(server.received_of("tools/call").len(), 10);
    assert_eq!(
        server.received_of("tools/call")[1]["params"]["requestState"],
        "s"
    );
}

/// Asks the user during every call, and returns the user's answer when it is released.
fn asking_server(method: &'static str) -> Arc<ScriptedServer> {
    ScriptedServer::new(move |stage: &ServerConnection, message| {
        if answer_handshake(stage, message) || message["method"].is_null() {
            return;
        }
        let id = message["params"]["arguments"]["question"].clone();
        if !id.is_null() {
            stage.request(&id, method, &json!({ "message": "how?" }));
        }
    })
}

fn options_with(handler: &Arc<RecordingHandler>) -> CallOptions {
    CallOptions {
        handler: Some(handler.clone()),
        ..CallOptions::default()
    }
}

#[tokio::test]
async fn a_question_that_may_be_anothers_is_refused() {
    // Two callers; only one of them causes the request, and it is unknown which.
    for (first, second, clear) in [
        (Some("a"), Some("b"), false),
        (Some("a"), None, false),
        (None, Some("a"), false),
        (Some("a"), Some("a"), true),
        (None, None, true),
    ] {
        let server = asking_server("elicitation/create");
        let client = McpClient::with_connector(
            stdio("puppet", &[]),
            server.clone(),
            recording_handler("client"),
        );
        let same = recording_handler("a");
        let options = |name: Option<&'static str>| match name {
            Some("a") => options_with(&same),
            Some(other) => options_with(&recording_handler(other)),
            None => CallOptions::default(),
        };
        let (one, options_one) = (client.clone(), options(first));
        let quiet = tokio::spawn(async move { one.call("any", json!({}), options_one).await });
        wait_until(|| server.received_of("tools/call").len() == 1).await;
        let (two, options_two) = (client.clone(), options(second));
        let arguments = json!({ "question": "q" });
        let loud = tokio::spawn(async move { two.call("any", arguments, options_two).await });
        wait_until(|| server.responses().len() == 1).await;
        let answer = &server.responses()[0];
        assert_eq!(answer["id"], "q");
        assert_eq!(
            answer["error"].is_null(),
            clear,
            "{first:?} {second:?} {answer}"
        );
        quiet.abort();
        loud.abort();
    }
}

#[tokio::test]
async fn a_server_can_take_back_its_question() {
    let server = asking_server("elicitation/create");
    let person = Arc::new(RecordingHandler {
        delay: Duration::from_hours(1),
        ..RecordingHandler::default()
    });
    let client = server.client();
    let calling = client.clone();
    let options = options_with(&person);
    let call =
        tokio::spawn(async move { calling.call("any", json!({ "question": 7 }), options).await });
    wait_until(|| server.received_of("tools/call").len() == 1).await;
    let stage = server.last_connection();
    stage.notify("notifications/cancelled", &json!({ "requestId": 7 }));
    stage.answer_text(&server.received_of("tools/call")[0], "never mind");
    assert_eq!(
        text(&with_deadline(call).await.unwrap().unwrap()),
        "never mind"
    );
    assert!(server.responses().is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_person_may_think_longer_than_a_server() {
    let server = ScriptedServer::new(|stage, message| match message["method"].as_str() {
        Some("tools/call") => stage.request(&json!(1), "elicitation/create", &json!({})),
        Some(_) => drop(answer_handshake(stage, message)),
        None => stage.answer_text(
            &json!({ "id": 3 }),
            &message["result"]["action"].to_string(),
        ),
    });
    let person = Arc::new(RecordingHandler {
        delay: Duration::from_mins(10),
        ..RecordingHandler::default()
    });
    let options = CallOptions {
        response_timeout: Some(Duration::from_secs(5)),
        ..options_with(&person)
    };
    let client = server.client();
    let result = client
        .call("any", json!({}), options.clone())
        .await
        .unwrap();
    assert_eq!(text(&result), "\"accept\"");
    let options = CallOptions {
        total_timeout: Some(Duration::from_mins(1)),
        ..options
    };
    let error = client.call("any", json!({}), options).await.unwrap_err();
    assert!(
        matches!(error.kind, ClientErrorKind::Timeout { .. }),
        "{error}"
    );
}

#[tokio::test]
async fn every_question_gets_an_answer_and_too_many_are_refused() {
    let server = asking_server("roots/list");
    let client = server.client();
    with_deadline(client.server_info()).await.unwrap();
    let stage = server.last_connection();
    stage.request(&json!("p"), "ping", &Value::Null);
    stage.request(&json!("x"), "no/such", &Value::Null);
    wait_until(|| server.responses().len() == 2).await;
    let answers = server.responses();
    let to = |id: &str| answers.iter().find(|answer| answer["id"] == id).unwrap();
    assert_eq!(to("p")["result"], json!({}));
    assert_eq!(to("x")["error"]["code"], -32_601);
}

#[tokio::test]
async fn a_flood_of_questions_is_bounded() {
    let server = asking_server("elicitation/create");
    let slow = Arc::new(RecordingHandler {
        delay: Duration::from_hours(1),
        ..RecordingHandler::default()
    });
    let client = McpClient::with_connector(stdio("puppet", &[]), server.clone(), slow);
    with_deadline(client.server_info()).await.unwrap();
    let stage = server.last_connection();
    for id in 0..5_000 {
        stage.request(&json!(id), "elicitation/create", &json!({}));
    }
    wait_until(|| server.responses().len() >= 968).await;
    assert!(
        server
            .responses()
            .iter()
            .all(|answer| answer["error"]["code"] == -32_603)
    );
    assert!(client.status().garbage >= 4_000);
}

#[tokio::test]
async fn what_a_server_tells_is_heard() {
    let server = asking_server("roots/list");
    let hears = recording_handler("client");
    let client = McpClient::with_connector(stdio("puppet", &[]), server.clone(), hears.clone());
    with_deadline(client.server_info()).await.unwrap();
    let stage = server.last_connection();
    stage.notify(
        "notifications/message",
        &json!({ "level": "info", "data": "x" }),
    );
    stage.notify("notifications/tools/list_changed", &Value::Null);
    stage.notify("notifications/resources/updated", &json!({ "uri": "a:b" }));
    stage.notify("notifications/unheard/of", &Value::Null);
    stage.end("bye");
    wait_until(|| hears.events().len() == 5).await;
    assert_eq!(
        hears.events(),
        [
            "Connected",
            "puppet: \"x\"",
            "ToolsChanged",
            "ResourceUpdated(\"a:b\")",
            "Disconnected"
        ]
    );
}
