//! Tests that a tool loop ends with an answer at each limit.

use std::{
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use deliberate_llm::ModelError;
use serde_json::json;
use tokio::time::Instant;

use super::tool_loop_support::{ScriptedTurn, behavior_tool, call_turn, scripted_chat_model};
use deliberate_adapter::{ToolLoop, ToolLoopLimits, tool_loop::ToolLoopStopReason};

/// A model that never stops calling by itself.
fn endless_caller() -> super::tool_loop_support::ScriptedChatModel {
    scripted_chat_model([], call_turn(&["one"]))
}

#[tokio::test]
async fn turns_are_counted_and_the_last_is_for_the_answer() {
    for turns in [1, 2, 5] {
        let model = Arc::new(endless_caller());
        let limits = ToolLoopLimits {
            turns,
            ..ToolLoopLimits::default()
        };
        let chain = ToolLoop::new(model.clone())
            .with_tools([behavior_tool("one")])
            .with_limits(limits);
        let finished = chain.run("begin").await.unwrap();
        assert_eq!((model.request_count(), finished.turns), (turns, turns));
        assert_eq!(finished.text, "made to answer");
        assert_eq!(finished.stop_reason, ToolLoopStopReason::Turns);
        assert_eq!(finished.calls.len(), turns - 1);
        let asks = model.requests.lock().unwrap();
        let told: Vec<_> = asks.iter().map(|ask| ask.answer_now).collect();
        assert_eq!(told.iter().filter(|now| **now).count(), 1);
        assert!(told[turns - 1]);
    }
}

#[tokio::test]
async fn calls_are_counted_and_those_beyond_are_told() {
    let tool = behavior_tool("one");
    let runs = tool.runs.clone();
    let four: Vec<_> = (0..4).map(|n| ("one", json!({ "n": n }))).collect();
    let model = Arc::new(scripted_chat_model([], ScriptedTurn::Calls(four)));
    let limits = ToolLoopLimits {
        calls: 6,
        ..ToolLoopLimits::default()
    };
    let finished = ToolLoop::new(model)
        .with_tools([tool])
        .with_limits(limits)
        .run("begin")
        .await
        .unwrap();
    assert_eq!(finished.stop_reason, ToolLoopStopReason::Calls);
    assert_eq!((runs.load(Ordering::SeqCst), finished.calls.len()), (6, 8));
    let refused: Vec<_> = finished.calls[6..]
        .iter()
        .map(|called| &called.result)
        .collect();
    assert!(
        refused
            .iter()
            .all(|result| result.is_error && result.text.contains("6 calls"))
    );
    assert_eq!(finished.text, "made to answer");
}

#[tokio::test]
async fn tokens_are_counted() {
    let mut model = endless_caller();
    model.tokens = 500;
    let limits = ToolLoopLimits {
        tokens: 2_500,
        ..ToolLoopLimits::default()
    };
    let chain = ToolLoop::new(Arc::new(model))
        .with_tools([behavior_tool("one")])
        .with_limits(limits);
    let finished = chain.run("begin").await.unwrap();
    assert_eq!(
        (finished.stop_reason, finished.turns),
        (ToolLoopStopReason::Tokens, 4)
    );
    assert_eq!(finished.text, "made to answer");
}

#[tokio::test]
async fn a_provider_that_lies_about_tokens_breaks_nothing() {
    let mut model = endless_caller();
    model.tokens = u64::MAX;
    let finished = ToolLoop::new(Arc::new(model))
        .with_tools([behavior_tool("one")])
        .run("begin")
        .await
        .unwrap();
    assert_eq!(
        (finished.stop_reason, finished.turns),
        (ToolLoopStopReason::Tokens, 2)
    );
}

#[tokio::test(start_paused = true)]
async fn time_is_left_for_the_answer() {
    for tool in ["hangs", "waits"] {
        let mut model = scripted_chat_model([], call_turn(&[tool]));
        model.latency = Duration::from_secs(2);
        let limits = ToolLoopLimits {
            time: Duration::from_mins(1),
            turns: 100,
            calls: 1_000,
            ..ToolLoopLimits::default()
        };
        let begun = Instant::now();
        let chain = ToolLoop::new(Arc::new(model))
            .with_tools([behavior_tool(tool)])
            .with_limits(limits);
        let finished = chain.run("begin").await.unwrap();
        assert_eq!(
            (finished.stop_reason, finished.text.as_str()),
            (ToolLoopStopReason::Timeout, "made to answer")
        );
        assert!(begun.elapsed() < Duration::from_mins(1));
        let last = &finished.calls.last().unwrap().result;
        assert!(last.is_error && last.text == "The call took too long.");
    }
}

#[tokio::test(start_paused = true)]
async fn a_model_that_takes_all_the_time_has_no_answer() {
    let mut model = endless_caller();
    model.latency = Duration::from_hours(1);
    let begun = Instant::now();
    let error = ToolLoop::new(Arc::new(model))
        .with_tools([behavior_tool("one")])
        .run("begin")
        .await
        .unwrap_err();
    assert!(matches!(error.error, ModelError::Timeout { .. }));
    assert!(begun.elapsed() <= Duration::from_mins(6));
}

#[tokio::test]
async fn long_results_are_cut_at_a_letter() {
    let model = Arc::new(scripted_chat_model(
        [call_turn(&["shouts"])],
        ScriptedTurn::Text("loud"),
    ));
    let limits = ToolLoopLimits {
        result_bytes: 1_001,
        ..ToolLoopLimits::default()
    };
    let chain = ToolLoop::new(model)
        .with_tools([behavior_tool("shouts")])
        .with_limits(limits);
    let finished = chain.run("begin").await.unwrap();
    let text = &finished.calls[0].result.text;
    assert_eq!(text.chars().filter(|c| *c == 'ü').count(), 500);
    assert!(
        text.ends_with("\n[cut here: 1000 of 200000 bytes]"),
        "{}",
        text.len()
    );
}
