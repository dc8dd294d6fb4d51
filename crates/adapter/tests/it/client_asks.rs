//! What a server asks its client, and who answers.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use deliberate_adapter::{
    Client, ErrorKind, ServerConfig,
    client::{Again, CallOptions, Changed, Handler, InputMode, Offers},
    transport::Sent,
    wire::RpcError,
};
use futures::future::BoxFuture;
use serde_json::{Value, json};

use crate::client_support::{
    Puppet, Served, Stage, call, client, newer, older, soon, stdio, text, until,
};

/// Answers everything, and says who it is.
#[derive(Default)]
struct Person {
    name: &'static str,
    told: Mutex<Vec<String>>,
    thinks: Duration,
}

fn person(name: &'static str) -> Arc<Person> {
    Arc::new(Person {
        name,
        ..Person::default()
    })
}

impl Person {
    fn told(&self) -> Vec<String> {
        self.told.lock().unwrap().clone()
    }
}

impl Handler for Person {
    fn offers(&self) -> Offers {
        Offers {
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
            tokio::time::sleep(self.thinks).await;
            let content = json!({ "answer": self.name, "asked": params["message"] });
            Ok(json!({ "action": "accept", "content": content }))
        })
    }

    fn roots<'a>(&'a self, _: &'a str) -> BoxFuture<'a, Vec<Value>> {
        Box::pin(async { vec![json!({ "uri": "file:///here", "name": self.name })] })
    }

    fn log(&self, server: &str, params: &Value) {
        let mut told = self.told.lock().unwrap();
        told.push(format!("{server}: {}", params["data"]));
    }

    fn changed(&self, _: &str, what: Changed) {
        self.told.lock().unwrap().push(format!("{what:?}"));
    }
}

async fn asks(config: ServerConfig) {
    let shown = config.name.clone();
    let client = Client::new(config, person("client")).unwrap();
    let ask = |tool: &'static str, options: CallOptions| {
        let arguments = json!({ "message": "how?", "prompt": "what?" });
        let call = client.call(tool, arguments, options);
        async move { text(&soon(call).await.unwrap()) }
    };
    for own in [None, Some("call")] {
        let name = own.unwrap_or("client");
        let options = CallOptions {
            handler: own.map(|name| -> Arc<dyn Handler> { person(name) }),
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
    soon(client.close()).await;
}

#[tokio::test]
async fn a_call_is_asked_through_every_transport_in_both_eras() {
    for era in ["handshake", "stateless"] {
        asks(stdio("stdio", &["--era", era])).await;
        let web = Served::http(&["--era", era, "--sse"]);
        asks(web.config("streams")).await;
        // Without streams the questions come on the one that is listened to.
        let web = Served::http(&["--era", era]);
        asks(web.config("plain")).await;
        let socket = Served::ws(&["--era", era]);
        asks(socket.socket_config("socket")).await;
    }
}

#[tokio::test]
async fn nobody_there_refuses() {
    let older = client(stdio("older", &["--era", "handshake"]));
    let result = call(&older, "sample", json!({ "prompt": "x" }))
        .await
        .unwrap();
    assert!(text(&result).contains("sampling is not offered"));
    let newer = client(stdio("newer", &["--era", "stateless"]));
    let error = call(&newer, "sample", json!({ "prompt": "x" }))
        .await
        .unwrap_err();
    // The server had begun; another need not be asked to do it again.
    assert_eq!((error.code(), error.sent), ("Rpc", Sent::Yes));
}

#[tokio::test]
async fn wanted_input_can_be_handed_over_and_brought_back() {
    let client = client(stdio("newer", &["--era", "stateless"]));
    let options = CallOptions {
        input: InputMode::HandOver,
        ..CallOptions::default()
    };
    let arguments = json!({ "message": "how?" });
    let wants = soon(client.call("ask", arguments.clone(), options))
        .await
        .unwrap();
    assert_eq!(wants["resultType"], "input_required");
    assert_eq!(
        wants["inputRequests"]["answer"]["method"],
        "elicitation/create"
    );
    let options = CallOptions {
        again: Some(Again {
            state: wants["requestState"].as_str().map(str::to_owned),
            responses: json!({ "answer": { "action": "decline" } }),
        }),
        ..CallOptions::default()
    };
    let result = soon(client.call("ask", arguments, options)).await.unwrap();
    assert!(text(&result).contains("decline"));
}

#[tokio::test]
async fn a_server_that_always_wants_more_is_stopped() {
    let puppet = Puppet::new(|stage, message| {
        if !newer(stage, message) {
            stage.answer(
                message,
                &json!({ "resultType": "input_required", "inputRequests": {}, "requestState": "s" }),
            );
        }
    });
    let error = call(&puppet.client(), "any", json!({})).await.unwrap_err();
    assert!(matches!(&error.kind, ErrorKind::Malformed { reason } if reason.contains("10 times")));
    assert_eq!(puppet.heard("tools/call").len(), 10);
    assert_eq!(puppet.heard("tools/call")[1]["params"]["requestState"], "s");
}

/// Asks a person with every call, and answers with what that person said when it is let.
fn asking(method: &'static str) -> Arc<Puppet> {
    Puppet::new(move |stage: &Stage, message| {
        if older(stage, message) || message["method"].is_null() {
            return;
        }
        let id = message["params"]["arguments"]["question"].clone();
        if !id.is_null() {
            stage.ask(&id, method, &json!({ "message": "how?" }));
        }
    })
}

fn with(handler: &Arc<Person>) -> CallOptions {
    CallOptions {
        handler: Some(handler.clone()),
        ..CallOptions::default()
    }
}

#[tokio::test]
async fn a_question_that_may_be_anothers_is_refused() {
    // Two callers; only one of them asks, and it can't be told which.
    for (first, second, clear) in [
        (Some("a"), Some("b"), false),
        (Some("a"), None, false),
        (None, Some("a"), false),
        (Some("a"), Some("a"), true),
        (None, None, true),
    ] {
        let puppet = asking("elicitation/create");
        let client = Client::with_connector(stdio("puppet", &[]), puppet.clone(), person("client"));
        let same = person("a");
        let options = |name: Option<&'static str>| match name {
            Some("a") => with(&same),
            Some(other) => with(&person(other)),
            None => CallOptions::default(),
        };
        let (one, options_one) = (client.clone(), options(first));
        let quiet = tokio::spawn(async move { one.call("any", json!({}), options_one).await });
        until(|| puppet.heard("tools/call").len() == 1).await;
        let (two, options_two) = (client.clone(), options(second));
        let arguments = json!({ "question": "q" });
        let loud = tokio::spawn(async move { two.call("any", arguments, options_two).await });
        until(|| puppet.answers().len() == 1).await;
        let answer = &puppet.answers()[0];
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
    let puppet = asking("elicitation/create");
    let person = Arc::new(Person {
        thinks: Duration::from_hours(1),
        ..Person::default()
    });
    let client = puppet.client();
    let calling = client.clone();
    let options = with(&person);
    let call =
        tokio::spawn(async move { calling.call("any", json!({ "question": 7 }), options).await });
    until(|| puppet.heard("tools/call").len() == 1).await;
    let stage = puppet.stage();
    stage.tell("notifications/cancelled", &json!({ "requestId": 7 }));
    stage.say(&puppet.heard("tools/call")[0], "never mind");
    assert_eq!(text(&soon(call).await.unwrap().unwrap()), "never mind");
    assert!(puppet.answers().is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_person_may_think_longer_than_a_server() {
    let puppet = Puppet::new(|stage, message| match message["method"].as_str() {
        Some("tools/call") => stage.ask(&json!(1), "elicitation/create", &json!({})),
        Some(_) => drop(older(stage, message)),
        None => stage.say(
            &json!({ "id": 3 }),
            &message["result"]["action"].to_string(),
        ),
    });
    let person = Arc::new(Person {
        thinks: Duration::from_mins(10),
        ..Person::default()
    });
    let options = CallOptions {
        answer: Some(Duration::from_secs(5)),
        ..with(&person)
    };
    let client = puppet.client();
    let result = client
        .call("any", json!({}), options.clone())
        .await
        .unwrap();
    assert_eq!(text(&result), "\"accept\"");
    let options = CallOptions {
        longest: Some(Duration::from_mins(1)),
        ..options
    };
    let error = client.call("any", json!({}), options).await.unwrap_err();
    assert!(matches!(error.kind, ErrorKind::Timeout { .. }), "{error}");
}

#[tokio::test]
async fn every_question_gets_an_answer_and_too_many_are_refused() {
    let puppet = asking("roots/list");
    let client = puppet.client();
    soon(client.server()).await.unwrap();
    let stage = puppet.stage();
    stage.ask(&json!("p"), "ping", &Value::Null);
    stage.ask(&json!("x"), "no/such", &Value::Null);
    until(|| puppet.answers().len() == 2).await;
    let answers = puppet.answers();
    let to = |id: &str| answers.iter().find(|answer| answer["id"] == id).unwrap();
    assert_eq!(to("p")["result"], json!({}));
    assert_eq!(to("x")["error"]["code"], -32_601);
}

#[tokio::test]
async fn a_flood_of_questions_is_bounded() {
    let puppet = asking("elicitation/create");
    let slow = Arc::new(Person {
        thinks: Duration::from_hours(1),
        ..Person::default()
    });
    let client = Client::with_connector(stdio("puppet", &[]), puppet.clone(), slow);
    soon(client.server()).await.unwrap();
    let stage = puppet.stage();
    for id in 0..5_000 {
        stage.ask(&json!(id), "elicitation/create", &json!({}));
    }
    until(|| puppet.answers().len() >= 968).await;
    assert!(
        puppet
            .answers()
            .iter()
            .all(|answer| answer["error"]["code"] == -32_603)
    );
    assert!(client.status().garbage >= 4_000);
}

#[tokio::test]
async fn what_a_server_tells_is_heard() {
    let puppet = asking("roots/list");
    let hears = person("client");
    let client = Client::with_connector(stdio("puppet", &[]), puppet.clone(), hears.clone());
    soon(client.server()).await.unwrap();
    let stage = puppet.stage();
    stage.tell(
        "notifications/message",
        &json!({ "level": "info", "data": "x" }),
    );
    stage.tell("notifications/tools/list_changed", &Value::Null);
    stage.tell("notifications/resources/updated", &json!({ "uri": "a:b" }));
    stage.tell("notifications/unheard/of", &Value::Null);
    stage.end("bye");
    until(|| hears.told().len() == 5).await;
    assert_eq!(
        hears.told(),
        [
            "Connected",
            "puppet: \"x\"",
            "Tools",
            "Resource(\"a:b\")",
            "Disconnected"
        ]
    );
}
