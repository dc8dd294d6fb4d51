//! Asking a model: what it costs, how it fails, who is asked.

use std::{sync::Arc, time::Duration};

use deliberate_core::Spent;
use deliberate_thinker::ThinkError;
use deliberate_toolkit::{Bounds, Caller, Parts, Registry, ToolError};
use serde_json::json;
use tokio::time::Instant;

use crate::{
    house::{ALL, House, done, parts, waits_for},
    recorder::Recorder,
    scripted::{Scripted, costs, says},
    tools::{Ponder, ask},
};

const GOOD: &str = r#"{"view": "yes", "percent": 85}"#;

#[tokio::test]
async fn the_answer_is_used_and_its_cost_recorded() {
    let mind = Scripted::new([costs(GOOD, 100, Some(0.25))]);
    let house = House::thinking(mind.clone());
    let output = done(house.call("ponder", json!({ "content": "why?" })).await);
    assert_eq!(
        (&output["content"], &output["confidence"]),
        (&json!("yes"), &json!(0.85))
    );
    assert_eq!(mind.asked(), [ask("view", "why?")]);
    let record = house.last_record().await;
    assert_eq!(record.pipe_name.as_deref(), Some("pipe-v1"));
    assert_eq!(
        record.spent,
        Spent {
            model: Some("m".to_owned()),
            model_calls: 1,
            prompt_tokens: 100,
            completion_tokens: 200,
            cost_usd: Some(0.25),
        }
    );
}

#[tokio::test]
async fn asking_again_is_paid_for_too() {
    let mind = Scripted::new([
        costs("let me think", 100, Some(0.25)),
        costs(GOOD, 10, Some(0.5)),
    ]);
    let house = House::thinking(mind.clone());
    done(house.call("ponder", json!({ "content": "why?" })).await);
    let keys: Vec<_> = mind.asked().into_iter().map(|ask| ask.key).collect();
    assert_eq!(keys, ["view", "view/again"]);
    assert_eq!(
        house.last_record().await.spent,
        Spent {
            model: Some("m".to_owned()),
            model_calls: 2,
            prompt_tokens: 110,
            completion_tokens: 220,
            cost_usd: Some(0.75),
        }
    );
}

#[tokio::test]
async fn several_asks_add_up_and_an_unknown_price_is_no_price() {
    let mind = Scripted::new([
        costs(GOOD, 1, None),
        costs(GOOD, 10, Some(0.5)),
        costs(GOOD, 100, None),
    ]);
    let house = House::thinking(mind);
    done(house.call("debate", json!({ "content": "tea" })).await);
    let spent = house.last_record().await.spent;
    assert_eq!((spent.model_calls, spent.prompt_tokens), (3, 111));
    assert_eq!(spent.cost_usd, Some(0.5));

    let mind = Scripted::new([says(GOOD)]);
    let house = House::thinking(mind);
    done(house.call("ponder", json!({ "content": "tea" })).await);
    let record = house.last_record().await;
    assert_eq!(
        record.pipe_name.as_deref(),
        Some("scripted"),
        "else who thought"
    );
    assert_eq!(
        record.spent,
        Spent {
            model_calls: 1,
            ..Spent::default()
        }
    );
}

#[tokio::test]
async fn an_answer_that_stays_unusable_is_an_error_kept_in_the_record() {
    let mind = Scripted::new([
        costs("first try", 100, Some(0.25)),
        costs("second try", 10, None),
    ]);
    let house = House::thinking(mind);
    let error = house
        .call("ponder", json!({ "content": "why?" }))
        .await
        .unwrap_err();
    assert_eq!(error.code(), "InvalidResponse");
    assert!(error.hint().unwrap().contains("JSON schema"));
    let record = house.last_record().await;
    assert_eq!(
        record.output,
        Some(json!({ "unusable_answer": "second try" }))
    );
    assert_eq!(record.error_code.as_deref(), Some("InvalidResponse"));
    assert_eq!(record.spent.model_calls, 2);
    assert_eq!(record.spent.prompt_tokens, 110);
    assert_eq!(record.spent.cost_usd, Some(0.25));
    assert_eq!(house.store.sessions(ALL).await.unwrap(), []);
}

#[tokio::test]
async fn an_error_of_the_thinker_keeps_its_code_and_hint() {
    let provider = || "langbase".to_owned();
    for (error, code, hint) in [
        (
            ThinkError::Unavailable {
                provider: provider(),
                reason: "connection refused".to_owned(),
                attempts: 4,
            },
            "LangbaseUnavailable",
            "deliberate doctor",
        ),
        (
            ThinkError::Api {
                provider: provider(),
                status: 401,
                message: "no".to_owned(),
            },
            "ApiError",
            "API key",
        ),
        (
            ThinkError::RateLimited {
                provider: provider(),
                retry_after: Some(Duration::from_secs(7)),
            },
            "RateLimited",
            "in 7 s",
        ),
        (
            ThinkError::Timeout {
                provider: provider(),
                after: Duration::from_secs(30),
            },
            "Timeout",
            "REQUEST_TIMEOUT_MS",
        ),
        (
            ThinkError::Misconfigured {
                provider: provider(),
                reason: "no base URL".to_owned(),
            },
            "Config",
            "Correct the setting",
        ),
    ] {
        let house = House::thinking(Scripted::reacting([Err(error.clone())]));
        let got = house
            .call("ponder", json!({ "content": "x" }))
            .await
            .unwrap_err();
        assert_eq!(got, ToolError::Think(error.clone()));
        assert_eq!(got.code(), code);
        assert!(got.hint().unwrap().contains(hint), "{:?}", got.hint());
        let record = house.last_record().await;
        assert_eq!(record.error_code.as_deref(), Some(code));
        assert_eq!(record.error, Some(error.to_string()));
        assert_eq!(house.store.sessions(ALL).await.unwrap(), []);
    }
}

#[tokio::test]
async fn an_ask_that_failed_was_an_ask() {
    let down = || {
        Err(ThinkError::Unavailable {
            provider: "scripted".to_owned(),
            reason: "gone".to_owned(),
            attempts: 1,
        })
    };
    let house = House::thinking(Scripted::reacting([down()]));
    house
        .call("ponder", json!({ "content": "x" }))
        .await
        .unwrap_err();
    let record = house.last_record().await;
    assert_eq!(record.pipe_name.as_deref(), Some("scripted"));
    assert_eq!(record.spent.model_calls, 1);

    // The first answer was paid for; the second ask never came back.
    let house = House::thinking(Scripted::reacting([
        Ok(costs("hm", 100, Some(0.25))),
        down(),
    ]));
    house
        .call("ponder", json!({ "content": "x" }))
        .await
        .unwrap_err();
    let record = house.last_record().await;
    assert_eq!(record.pipe_name.as_deref(), Some("pipe-v1"));
    assert_eq!(
        (record.spent.model_calls, record.spent.prompt_tokens),
        (2, 100)
    );
    assert_eq!(record.spent.cost_usd, Some(0.25));
}

#[tokio::test]
async fn waiting_for_the_client_is_no_ask_of_a_model() {
    let house = House::without_model();
    waits_for(house.call("ponder", json!({ "content": "x" })).await);
    assert_eq!(house.last_record().await.spent, Spent::default());
}

#[tokio::test(start_paused = true)]
async fn the_thinker_has_until_the_end_of_the_call() {
    let mind = Scripted::new([says(GOOD)]);
    let registry = Registry::new(Parts {
        bounds: Bounds {
            call_time: Duration::from_secs(42),
            ..Bounds::default()
        },
        ..parts(Recorder::new(), Some(mind.clone()))
    })
    .with(Ponder);
    let end = Instant::now() + Duration::from_secs(42);
    done(
        registry
            .call("ponder", json!({ "content": "x" }), Caller::default())
            .await,
    );
    assert_eq!(mind.deadlines(), [end]);
}

#[tokio::test]
async fn the_clients_own_model_is_asked_where_there_is_no_other() {
    let offered = |text: &str| {
        let mind = Scripted::new([says(text)]);
        let caller = Caller {
            mind: Some(mind.clone()),
            ..Caller::default()
        };
        (mind, caller)
    };
    let arguments = json!({ "content": "x" });

    let (client, caller) = offered(GOOD);
    let house = House::without_model();
    done(
        house
            .registry
            .call("ponder", arguments.clone(), caller)
            .await,
    );
    assert_eq!(client.asked().len(), 1);

    let (client, caller) = offered(GOOD);
    let own = Scripted::new([says(GOOD)]);
    let house = House::thinking(Arc::clone(&own) as Arc<_>);
    done(house.registry.call("ponder", arguments, caller).await);
    assert_eq!((own.asked().len(), client.asked().len()), (1, 0));
}
