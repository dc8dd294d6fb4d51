//! Tests of a tool loop, turn by turn.

use std::sync::{Arc, Mutex, atomic::Ordering};

use deliberate_llm::{
    ChatMessage, ChatModel, ChatRole, ModelError, ModelReply, ModelRequest, OpenAi, OpenAiSettings,
};
use deliberate_testkit::{MockProvider, mock_provider::ScriptedAnswer};
use futures::future::BoxFuture;
use serde_json::json;
use tokio::time::Instant;

use super::adapter_support::{adapter, handshake_server};
use super::tool_loop_support::{
    ScriptedChatModel, ScriptedTurn, behavior_tool, call_turn, scripted_chat_model,
};
use crate::client_support::{stdio, wait_until, with_deadline};
use deliberate_adapter::{
    Adapter, AdapterConfig, ToolLoop, ToolLoopLimits,
    tool_loop::{ToolLoopEvent, ToolLoopResult, ToolLoopStopReason},
};

#[tokio::test]
async fn a_model_calls_hears_and_answers() {
    let model = Arc::new(scripted_chat_model(
        [
            ScriptedTurn::Calls(vec![("one", json!({ "n": 1 })), ("two", json!({ "n": 2 }))]),
            ScriptedTurn::Calls(vec![("one", json!({ "n": 3 }))]),
        ],
        ScriptedTurn::Text("the end"),
    ));
    let chain = ToolLoop::new(model.clone())
        .with_system_prompt("be brief")
        .with_tools([behavior_tool("one"), behavior_tool("two")])
        .with_tools([behavior_tool("one")]);
    let finished = chain.run("begin").await.unwrap();
    assert_eq!((finished.text.as_str(), finished.turns), ("the end", 3));
    assert_eq!(finished.stop_reason, ToolLoopStopReason::Answered);
    let results: Vec<_> = finished
        .calls
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
            ChatRole::User,
            ChatRole::Assistant,
            ChatRole::User,
            ChatRole::Assistant,
            ChatRole::User,
            ChatRole::Assistant
        ]
    );
    let asks = model.requests.lock().unwrap().clone();
    assert_eq!(asks[0].system, "be brief");
    let told: Vec<_> = asks[0]
        .functions
        .iter()
        .map(|definition| definition.name.as_str())
        .collect();
    assert_eq!(told, ["one", "two"]);
    // Each result is matched to its call.
    let (calling, chat_message) = (&asks[1].messages[1], &asks[1].messages[2]);
    for (call, result) in calling.calls.iter().zip(&chat_message.results) {
        assert_eq!((&call.id, &call.name), (&result.id, &result.name));
    }
    assert_eq!(chat_message.results.len(), 2);
}

#[tokio::test]
async fn a_conversation_goes_on() {
    let model = Arc::new(scripted_chat_model(
        [call_turn(&["one"]), ScriptedTurn::Text("first")],
        ScriptedTurn::Text("second"),
    ));
    let chain = ToolLoop::new(model.clone()).with_tools([behavior_tool("one")]);
    let first = chain.run("begin").await.unwrap();
    let mut messages = first.messages;
    messages.push(ChatMessage::user("go on"));
    let second = chain.run(messages.clone()).await.unwrap();
    assert_eq!((second.text.as_str(), second.calls.len()), ("second", 0));
    assert_eq!(second.messages[..messages.len()], messages);
}

#[tokio::test(start_paused = true)]
async fn calls_of_one_turn_run_side_by_side_and_keep_their_order() {
    let tool = behavior_tool("waits");
    let most = tool.max_running.clone();
    let many: Vec<_> = (0..8).map(|n| ("waits", json!({ "n": n }))).collect();
    let model = Arc::new(scripted_chat_model(
        [ScriptedTurn::Calls(many)],
        ScriptedTurn::Text("done"),
    ));
    let limits = ToolLoopLimits {
        max_concurrent: 3,
        ..ToolLoopLimits::default()
    };
    let chain = ToolLoop::new(model).with_tools([tool]).with_limits(limits);
    let finished = chain.run("begin").await.unwrap();
    assert_eq!(most.load(Ordering::SeqCst), 3);
    let results: Vec<_> = finished
        .calls
        .iter()
        .map(|called| called.result.text.clone())
        .collect();
    let expected: Vec<_> = (0..8).map(|n| format!("waits {n}")).collect();
    assert_eq!(results, expected);
}

#[tokio::test]
async fn what_fails_is_told_to_the_model() {
    let model = Arc::new(scripted_chat_model(
        [call_turn(&["fails"])],
        ScriptedTurn::Text("I see"),
    ));
    let finished = ToolLoop::new(model.clone())
        .with_tools([behavior_tool("fails")])
        .run("begin")
        .await
        .unwrap();
    let result = &finished.calls[0].result;
    assert!(result.is_error && result.text == "it is broken");
    assert_eq!(
        model.requests.lock().unwrap()[1].messages[2].results[0],
        *result
    );
}

#[tokio::test]
async fn a_function_that_is_not_there_is_asked_about_once_more() {
    let model = Arc::new(scripted_chat_model(
        [call_turn(&["nothing"]), call_turn(&["one"])],
        ScriptedTurn::Text("done"),
    ));
    let finished = ToolLoop::new(model.clone())
        .with_tools([behavior_tool("one")])
        .run("begin")
        .await
        .unwrap();
    assert_eq!((finished.calls.len(), finished.text.as_str()), (1, "done"));
    // Both attempts count towards the usage.
    assert_eq!((finished.turns, finished.usage.prompt_tokens), (2, 30));
}

#[tokio::test]
async fn a_model_that_fails_leaves_what_was_done() {
    let model = Arc::new(scripted_chat_model(
        [call_turn(&["one"]), ScriptedTurn::Fails],
        ScriptedTurn::Text("never"),
    ));
    let error = ToolLoop::new(model)
        .with_tools([behavior_tool("one")])
        .run("begin")
        .await
        .unwrap_err();
    assert_eq!((error.calls.len(), error.messages.len()), (1, 3));
    assert_eq!(error.usage.prompt_tokens, 10);
    assert!(error.to_string().contains("as it was told"));
}

fn event_name(event: &ToolLoopEvent) -> String {
    match event {
        ToolLoopEvent::Text(text) => format!("text {text}"),
        ToolLoopEvent::Restart => "again".to_owned(),
        ToolLoopEvent::CallStarted(call) => format!("calling {}", call.name),
        ToolLoopEvent::CallFinished(called) => format!("called {}", called.result.text),
        ToolLoopEvent::TurnFinished { number, usage } => {
            format!("turn {number} {}", usage.prompt_tokens)
        }
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

fn eventful_loop() -> ToolLoop {
    let turns = [
        call_turn(&["one"]),
        call_turn(&["nothing"]),
        call_turn(&["one"]),
    ];
    let model = scripted_chat_model(turns, ScriptedTurn::Text("the end"));
    ToolLoop::new(Arc::new(model)).with_tools([behavior_tool("one")])
}

#[tokio::test]
async fn events_come_in_order() {
    let seen: Mutex<Vec<String>> = Mutex::default();
    let tell = |event: ToolLoopEvent| seen.lock().unwrap().push(event_name(&event));
    eventful_loop()
        .run_with_events("begin", &tell)
        .await
        .unwrap();
    let mut seen = seen.into_inner().unwrap();
    // The second turn's call is reported like the first's.
    let again: Vec<_> = seen.drain(5..7).collect();
    assert_eq!(again, ["calling one", "called one null"]);
    assert_eq!(seen, EVENTS);
}

#[tokio::test]
async fn in_the_background_no_event_is_lost_to_a_slow_reader() {
    let many: Vec<_> = (0..16).map(|n| ("one", json!({ "n": n }))).collect();
    let turns = (0..6).map(|_| ScriptedTurn::Calls(many.clone()));
    let limits = ToolLoopLimits {
        calls: 100,
        ..ToolLoopLimits::default()
    };
    let chain = ToolLoop::new(Arc::new(scripted_chat_model(
        turns,
        ScriptedTurn::Text("the end"),
    )));
    let mut running = chain
        .with_tools([behavior_tool("one")])
        .with_limits(limits)
        .spawn("begin");
    let finished = with_deadline(running.outcome).await.unwrap().unwrap();
    assert_eq!(finished.calls.len(), 96);
    let mut events = Vec::new();
    while let Some(event) = running.events.recv().await {
        events.push(event_name(&event));
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
    let tool = behavior_tool("hangs");
    let running = tool.running.clone();
    let chain = ToolLoop::new(Arc::new(scripted_chat_model(
        [call_turn(&["hangs"])],
        ScriptedTurn::Text("x"),
    )))
    .with_tools([tool]);
    let background = chain.spawn("begin");
    wait_until(|| running.load(Ordering::SeqCst) == 1).await;
    background.outcome.abort();
    wait_until(|| running.load(Ordering::SeqCst) == 0).await;
}

#[tokio::test]
async fn a_model_with_a_servers_tools_is_a_few_lines() {
    let adapter = Adapter::new(AdapterConfig::from_servers([stdio("s", &[])])).unwrap();
    let functions = with_deadline(adapter.to_functions())
        .await
        .unwrap()
        .functions;
    let model = scripted_chat_model(
        [
            ScriptedTurn::Calls(vec![("s__add", json!({ "a": 2, "b": 3 }))]),
            ScriptedTurn::Calls(vec![("s__add", json!({ "a": "two", "b": 3 }))]),
        ],
        ScriptedTurn::Text("five"),
    );
    let chain = ToolLoop::new(Arc::new(model)).with_tools(functions);
    let finished = with_deadline(chain.run("how much is 2 + 3?"))
        .await
        .unwrap();
    let results: Vec<_> = finished.calls.iter().map(|called| &called.result).collect();
    assert!(results[0].text.contains('5') && !results[0].is_error);
    // An invalid argument is reported with the next step.
    assert!(results[1].is_error && results[1].text.contains("Correct the arguments"));
}

/// A model behind a real provider's interface that has no native tools.
struct PromptedToolsModel(OpenAi);

impl ChatModel for PromptedToolsModel {
    fn name(&self) -> &str {
        self.0.name()
    }

    fn complete<'a>(
        &'a self,
        ask: &'a ModelRequest,
        deadline: Instant,
    ) -> BoxFuture<'a, Result<ModelReply, ModelError>> {
        self.0.complete(ask, deadline)
    }
}

#[tokio::test]
async fn over_the_wire_too() {
    let standin = MockProvider::start().await.unwrap();
    let call = json!({ "name": "s__echo", "arguments": { "text": "through the wire" } });
    standin.set_scripted_answers(vec![
        ScriptedAnswer::new(&["through the wire"], "It works."),
        ScriptedAnswer::new(&["say it"], call),
    ]);
    let settings = OpenAiSettings {
        api_key: Some(standin.key().into()),
        model: Some("any".to_owned()),
        ..OpenAiSettings::for_url(standin.openai_url())
    };
    let model = Arc::new(PromptedToolsModel(OpenAi::new(settings).unwrap()));
    let adapter = Adapter::new(AdapterConfig::from_servers([stdio("s", &[])])).unwrap();
    let functions = with_deadline(adapter.to_functions())
        .await
        .unwrap()
        .functions;
    let finished = with_deadline(ToolLoop::new(model).with_tools(functions).run("say it"))
        .await
        .unwrap();
    assert_eq!(finished.text, "It works.");
    assert_eq!(finished.calls[0].result.text, "through the wire");
}

/// Lets a model draw five pictures in one call, and returns its requests and what came of it.
async fn draw(
    mut model: ScriptedChatModel,
    accepts_images: bool,
    limits: ToolLoopLimits,
) -> (Vec<ModelRequest>, ToolLoopResult) {
    let server = handshake_server(json!([{ "name": "draw" }]), |stage, message| {
        let image = json!({ "type": "image", "mimeType": "image/png", "data": "QUJD" });
        stage.answer(message, &json!({ "content": vec![image; 5] }));
    });
    let adapter = adapter(&[("a", &server)], AdapterConfig::default());
    let functions = adapter.to_functions().await.unwrap().functions;
    model.accepts_images = accepts_images;
    let model = Arc::new(model);
    let tool_loop = ToolLoop::new(model.clone())
        .with_tools(functions)
        .with_limits(limits);
    let finished = with_deadline(tool_loop.run("draw")).await.unwrap();
    let asks = model.requests.lock().unwrap().clone();
    (asks, finished)
}

fn drawing_model(answer: ScriptedTurn) -> ScriptedChatModel {
    scripted_chat_model([ScriptedTurn::Calls(vec![("a__draw", json!({}))])], answer)
}

#[tokio::test]
async fn a_model_is_shown_pictures_if_its_provider_accepts_them() {
    let few = ToolLoopLimits {
        images: 1,
        ..ToolLoopLimits::default()
    };
    for (accepts, limits, shown, note) in [
        (
            true,
            ToolLoopLimits::default(),
            4,
            "[1 picture(s) not shown: at most 4",
        ),
        (true, few, 1, "[4 picture(s) not shown: at most 1"),
        (
            false,
            ToolLoopLimits::default(),
            0,
            "[5 picture(s) not shown: this model takes no pictures]",
        ),
    ] {
        let model = drawing_model(ScriptedTurn::Text("a picture"));
        let (asks, _) = draw(model, accepts, limits).await;
        let result = &asks[1].messages[2].results[0];
        assert_eq!(result.images.len(), shown);
        assert!(result.text.contains("image/png"), "{}", result.text);
        assert!(result.text.contains(note), "{}", result.text);
    }
}

#[tokio::test]
async fn a_model_that_refuses_pictures_is_asked_without_them() {
    let model = drawing_model(ScriptedTurn::RefusesImages("a guess"));
    let (asks, finished) = draw(model, true, ToolLoopLimits::default()).await;
    let counts: Vec<_> = asks[1..]
        .iter()
        .map(|ask| ask.messages[2].results[0].images.len())
        .collect();
    assert_eq!(counts, [4, 0]);
    assert_eq!((finished.text.as_str(), finished.turns), ("a guess", 2));
    let seen = &finished.calls[0].result;
    assert!(seen.images.is_empty());
    assert!(
        seen.text.contains("this model takes no pictures"),
        "{}",
        seen.text
    );
}
