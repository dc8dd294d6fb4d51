//! A model with functions, turn by turn.

use std::sync::{Arc, Mutex, atomic::Ordering};

use deliberate_adapter::{
    Adapter, AdapterConfig, Chain, ChainLimits,
    chain::{ChainEvent, Stopped},
};
use deliberate_testkit::{Standin, standin::Rule};
use deliberate_thinker::{Ask, Message, OpenAi, OpenAiSettings, Reply, Role, ThinkError, Thinker};
use futures::future::BoxFuture;
use serde_json::json;
use tokio::time::Instant;

use crate::{
    chain_support::{Says, calls, does, scripted},
    client_support::{soon, stdio, until},
};

#[tokio::test]
async fn a_model_calls_hears_and_answers() {
    let model = Arc::new(scripted(
        [
            Says::Calls(vec![("one", json!({ "n": 1 })), ("two", json!({ "n": 2 }))]),
            Says::Calls(vec![("one", json!({ "n": 3 }))]),
        ],
        Says::Text("the end"),
    ));
    let chain = Chain::new(model.clone())
        .saying("be brief")
        .with([does("one"), does("two")])
        .with([does("one")]);
    let finished = chain.run("begin").await.unwrap();
    assert_eq!((finished.text.as_str(), finished.turns), ("the end", 3));
    assert_eq!(finished.stopped, Stopped::Answered);
    let results: Vec<_> = finished
        .called
        .iter()
        .map(|called| called.result.text.as_str())
        .collect();
    assert_eq!(results, ["one 1", "two 2", "one 3"]);
    assert_eq!(finished.usage.prompt_tokens, 30);
    assert_eq!(finished.usage.cost_usd, Some(1.5));
    let roles: Vec<_> = finished
        .messages
        .iter()
        .map(|message| message.role)
        .collect();
    assert_eq!(
        roles,
        [
            Role::User,
            Role::Assistant,
            Role::User,
            Role::Assistant,
            Role::User,
            Role::Assistant
        ]
    );
    let asks = model.asks.lock().unwrap().clone();
    assert_eq!(asks[0].system, "be brief");
    let told: Vec<_> = asks[0]
        .functions
        .iter()
        .map(|told| told.name.as_str())
        .collect();
    assert_eq!(told, ["one", "two"]);
    // Each result finds its call.
    let (calling, answered) = (&asks[1].messages[1], &asks[1].messages[2]);
    for (call, result) in calling.calls.iter().zip(&answered.results) {
        assert_eq!((&call.id, &call.name), (&result.id, &result.name));
    }
    assert_eq!(answered.results.len(), 2);
}

#[tokio::test]
async fn a_conversation_goes_on() {
    let model = Arc::new(scripted(
        [calls(&["one"]), Says::Text("first")],
        Says::Text("second"),
    ));
    let chain = Chain::new(model.clone()).with([does("one")]);
    let first = chain.run("begin").await.unwrap();
    let mut messages = first.messages;
    messages.push(Message::user("go on"));
    let second = chain.run(messages.clone()).await.unwrap();
    assert_eq!((second.text.as_str(), second.called.len()), ("second", 0));
    assert_eq!(second.messages[..messages.len()], messages);
}

#[tokio::test(start_paused = true)]
async fn calls_of_one_turn_run_side_by_side_and_keep_their_order() {
    let tool = does("waits");
    let most = tool.most.clone();
    let many: Vec<_> = (0..8).map(|n| ("waits", json!({ "n": n }))).collect();
    let model = Arc::new(scripted([Says::Calls(many)], Says::Text("done")));
    let limits = ChainLimits {
        at_once: 3,
        ..ChainLimits::default()
    };
    let chain = Chain::new(model).with([tool]).within(limits);
    let finished = chain.run("begin").await.unwrap();
    assert_eq!(most.load(Ordering::SeqCst), 3);
    let results: Vec<_> = finished
        .called
        .iter()
        .map(|called| called.result.text.clone())
        .collect();
    let expected: Vec<_> = (0..8).map(|n| format!("waits {n}")).collect();
    assert_eq!(results, expected);
}

#[tokio::test]
async fn what_fails_is_told_to_the_model() {
    let model = Arc::new(scripted([calls(&["fails"])], Says::Text("I see")));
    let finished = Chain::new(model.clone())
        .with([does("fails")])
        .run("begin")
        .await
        .unwrap();
    let result = &finished.called[0].result;
    assert!(result.is_error && result.text == "it is broken");
    assert_eq!(
        model.asks.lock().unwrap()[1].messages[2].results[0],
        *result
    );
}

#[tokio::test]
async fn a_function_that_is_not_there_is_asked_about_once_more() {
    let model = Arc::new(scripted(
        [calls(&["nothing"]), calls(&["one"])],
        Says::Text("done"),
    ));
    let finished = Chain::new(model.clone())
        .with([does("one")])
        .run("begin")
        .await
        .unwrap();
    assert_eq!((finished.called.len(), finished.text.as_str()), (1, "done"));
    // Both attempts are paid for.
    assert_eq!((finished.turns, finished.usage.prompt_tokens), (2, 30));
}

#[tokio::test]
async fn a_model_that_fails_leaves_what_was_done() {
    let model = Arc::new(scripted(
        [calls(&["one"]), Says::Fails],
        Says::Text("never"),
    ));
    let error = Chain::new(model)
        .with([does("one")])
        .run("begin")
        .await
        .unwrap_err();
    assert_eq!((error.called.len(), error.messages.len()), (1, 3));
    assert_eq!(error.usage.prompt_tokens, 10);
    assert!(error.to_string().contains("as it was told"));
}

fn shown(event: &ChainEvent) -> String {
    match event {
        ChainEvent::Text(text) => format!("text {text}"),
        ChainEvent::Again => "again".to_owned(),
        ChainEvent::Calling(call) => format!("calling {}", call.name),
        ChainEvent::Called(called) => format!("called {}", called.result.text),
        ChainEvent::Turn { number, usage } => format!("turn {number} {}", usage.prompt_tokens),
        other => format!("{other:?}"),
    }
}

const EVENTS: [&str; 8] = [
    "turn 1 10",
    "calling one",
    "called one null",
    "again",
    "turn 2 30",
    "text the ",
    "text end",
    "turn 3 40",
];

fn eventful() -> Chain {
    let turns = [calls(&["one"]), calls(&["nothing"]), calls(&["one"])];
    let model = scripted(turns, Says::Text("the end"));
    Chain::new(Arc::new(model)).with([does("one")])
}

#[tokio::test]
async fn events_come_in_order() {
    let seen: Mutex<Vec<String>> = Mutex::default();
    let tell = |event: ChainEvent| seen.lock().unwrap().push(shown(&event));
    eventful().run_telling("begin", &tell).await.unwrap();
    let mut seen = seen.into_inner().unwrap();
    // The second turn's call is told like the first's.
    let again: Vec<_> = seen.drain(5..7).collect();
    assert_eq!(again, ["calling one", "called one null"]);
    assert_eq!(seen, EVENTS);
}

#[tokio::test]
async fn in_the_background_no_event_is_lost_to_a_slow_reader() {
    let many: Vec<_> = (0..16).map(|n| ("one", json!({ "n": n }))).collect();
    let turns = (0..6).map(|_| Says::Calls(many.clone()));
    let limits = ChainLimits {
        calls: 100,
        ..ChainLimits::default()
    };
    let chain = Chain::new(Arc::new(scripted(turns, Says::Text("the end"))));
    let mut running = chain.with([does("one")]).within(limits).spawn("begin");
    let finished = soon(running.outcome).await.unwrap().unwrap();
    assert_eq!(finished.called.len(), 96);
    let mut events = Vec::new();
    while let Some(event) = running.events.recv().await {
        events.push(shown(&event));
    }
    let called = events
        .iter()
        .filter(|event| event.starts_with("called"))
        .count();
    assert_eq!(called, 96);
    assert_eq!(events.last().unwrap(), "turn 7 70");
}

#[tokio::test]
async fn aborting_ends_what_it_called() {
    let tool = does("hangs");
    let running = tool.running.clone();
    let chain = Chain::new(Arc::new(scripted([calls(&["hangs"])], Says::Text("x")))).with([tool]);
    let background = chain.spawn("begin");
    until(|| running.load(Ordering::SeqCst) == 1).await;
    background.outcome.abort();
    until(|| running.load(Ordering::SeqCst) == 0).await;
}

#[tokio::test]
async fn a_model_with_a_servers_tools_is_a_few_lines() {
    let adapter = Adapter::new(AdapterConfig::of([stdio("s", &[])])).unwrap();
    let functions = soon(adapter.to_functions()).await.unwrap().functions;
    let model = scripted(
        [
            Says::Calls(vec![("s__add", json!({ "a": 2, "b": 3 }))]),
            Says::Calls(vec![("s__add", json!({ "a": "two", "b": 3 }))]),
        ],
        Says::Text("five"),
    );
    let chain = Chain::new(Arc::new(model)).with(functions);
    let finished = soon(chain.run("how much is 2 + 3?")).await.unwrap();
    let results: Vec<_> = finished
        .called
        .iter()
        .map(|called| &called.result)
        .collect();
    assert!(results[0].text.contains('5') && !results[0].is_error);
    // A wrong argument is told with what to do about it.
    assert!(results[1].is_error && results[1].text.contains("Correct the arguments"));
}

/// A model behind a real provider's interface that has no functions of its own.
struct InWords(OpenAi);

impl Thinker for InWords {
    fn name(&self) -> &str {
        self.0.name()
    }

    fn think<'a>(
        &'a self,
        ask: &'a Ask,
        deadline: Instant,
    ) -> BoxFuture<'a, Result<Reply, ThinkError>> {
        self.0.think(ask, deadline)
    }
}

#[tokio::test]
async fn over_the_wire_too() {
    let standin = Standin::start().await.unwrap();
    let call = json!({ "name": "s__echo", "arguments": { "text": "through the wire" } });
    standin.rules(vec![
        Rule::new(&["through the wire"], "It works."),
        Rule::new(&["say it"], call),
    ]);
    let settings = OpenAiSettings {
        api_key: Some(standin.key().into()),
        model: Some("any".to_owned()),
        ..OpenAiSettings::at(standin.openai_url())
    };
    let model = Arc::new(InWords(OpenAi::new(settings).unwrap()));
    let adapter = Adapter::new(AdapterConfig::of([stdio("s", &[])])).unwrap();
    let functions = soon(adapter.to_functions()).await.unwrap().functions;
    let finished = soon(Chain::new(model).with(functions).run("say it"))
        .await
        .unwrap();
    assert_eq!(finished.text, "It works.");
    assert_eq!(finished.called[0].result.text, "through the wire");
}
