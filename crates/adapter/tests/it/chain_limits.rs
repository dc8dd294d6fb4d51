//! A chain ends, and has an answer when it does.

use std::{
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use deliberate_adapter::{Chain, ChainLimits, chain::Stopped};
use deliberate_thinker::ThinkError;
use serde_json::json;
use tokio::time::Instant;

use crate::chain_support::{Says, calls, does, scripted};

/// A model that never stops calling by itself.
fn restless() -> crate::chain_support::Scripted {
    scripted([], calls(&["one"]))
}

#[tokio::test]
async fn turns_are_counted_and_the_last_is_for_the_answer() {
    for turns in [1, 2, 5] {
        let model = Arc::new(restless());
        let limits = ChainLimits {
            turns,
            ..ChainLimits::default()
        };
        let chain = Chain::new(model.clone()).with([does("one")]).within(limits);
        let finished = chain.run("begin").await.unwrap();
        assert_eq!((model.asked(), finished.turns), (turns, turns));
        assert_eq!(finished.text, "made to answer");
        assert_eq!(finished.stopped, Stopped::Turns);
        assert_eq!(finished.called.len(), turns - 1);
        let asks = model.asks.lock().unwrap();
        let told: Vec<_> = asks.iter().map(|ask| ask.answer_now).collect();
        assert_eq!(told.iter().filter(|now| **now).count(), 1);
        assert!(told[turns - 1]);
    }
}

#[tokio::test]
async fn calls_are_counted_and_those_beyond_are_told() {
    let tool = does("one");
    let runs = tool.runs.clone();
    let four: Vec<_> = (0..4).map(|n| ("one", json!({ "n": n }))).collect();
    let model = Arc::new(scripted([], Says::Calls(four)));
    let limits = ChainLimits {
        calls: 6,
        ..ChainLimits::default()
    };
    let finished = Chain::new(model)
        .with([tool])
        .within(limits)
        .run("begin")
        .await
        .unwrap();
    assert_eq!(finished.stopped, Stopped::Calls);
    assert_eq!((runs.load(Ordering::SeqCst), finished.called.len()), (6, 8));
    let refused: Vec<_> = finished.called[6..]
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
    let mut model = restless();
    model.tokens = 500;
    let limits = ChainLimits {
        tokens: 2_500,
        ..ChainLimits::default()
    };
    let chain = Chain::new(Arc::new(model))
        .with([does("one")])
        .within(limits);
    let finished = chain.run("begin").await.unwrap();
    assert_eq!((finished.stopped, finished.turns), (Stopped::Tokens, 4));
    assert_eq!(finished.text, "made to answer");
}

#[tokio::test]
async fn a_provider_that_lies_about_tokens_breaks_nothing() {
    let mut model = restless();
    model.tokens = u64::MAX;
    let finished = Chain::new(Arc::new(model))
        .with([does("one")])
        .run("begin")
        .await
        .unwrap();
    assert_eq!((finished.stopped, finished.turns), (Stopped::Tokens, 2));
}

#[tokio::test(start_paused = true)]
async fn time_is_left_for_the_answer() {
    for tool in ["hangs", "waits"] {
        let mut model = scripted([], calls(&[tool]));
        model.thinks = Duration::from_secs(2);
        let limits = ChainLimits {
            time: Duration::from_mins(1),
            turns: 100,
            calls: 1_000,
            ..ChainLimits::default()
        };
        let begun = Instant::now();
        let chain = Chain::new(Arc::new(model))
            .with([does(tool)])
            .within(limits);
        let finished = chain.run("begin").await.unwrap();
        assert_eq!(
            (finished.stopped, finished.text.as_str()),
            (Stopped::Time, "made to answer")
        );
        assert!(begun.elapsed() < Duration::from_mins(1));
        let last = &finished.called.last().unwrap().result;
        assert!(last.is_error && last.text == "It took too long.");
    }
}

#[tokio::test(start_paused = true)]
async fn a_model_that_takes_all_the_time_has_no_answer() {
    let mut model = restless();
    model.thinks = Duration::from_hours(1);
    let begun = Instant::now();
    let error = Chain::new(Arc::new(model))
        .with([does("one")])
        .run("begin")
        .await
        .unwrap_err();
    assert!(matches!(error.error, ThinkError::Timeout { .. }));
    assert!(begun.elapsed() <= Duration::from_mins(6));
}

#[tokio::test]
async fn long_results_are_cut_at_a_letter() {
    let model = Arc::new(scripted([calls(&["shouts"])], Says::Text("loud")));
    let limits = ChainLimits {
        result_bytes: 1_001,
        ..ChainLimits::default()
    };
    let chain = Chain::new(model).with([does("shouts")]).within(limits);
    let finished = chain.run("begin").await.unwrap();
    let text = &finished.called[0].result.text;
    assert_eq!(text.chars().filter(|c| *c == 'ü').count(), 500);
    assert!(
        text.ends_with("\n[cut here: 1000 of 200000 bytes]"),
        "{}",
        text.len()
    );
}
