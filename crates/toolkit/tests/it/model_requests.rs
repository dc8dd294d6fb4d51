//! Tests of model requests: their cost, their failures, and the choice of model.

use std::{sync::Arc, time::Duration};

use deliberate_core::ModelUsage;
use deliberate_llm::ModelError;
use deliberate_toolkit::{CallLimits, CallerContext, Registry, RegistryDeps, ToolError};
use serde_json::json;
use tokio::time::Instant;

use super::{
    recording_store::RecordingStore,
    registry_fixture::{ALL, RegistryFixture, deps, expect_done, expect_needs_reply},
    scripted_model::{ScriptedModel, reply, reply_with_cost},
    test_tools::{AskOnceTool, model_request},
};

const GOOD: &str = r#"{"view": "yes", "percent": 85}"#;

#[tokio::test]
async fn the_answer_is_used_and_its_cost_recorded() {
    let mind = ScriptedModel::new([reply_with_cost(GOOD, 100, Some(0.25))]);
    let house = RegistryFixture::with_model(mind.clone());
    let output = expect_done(house.call("ponder", json!({ "content": "why?" })).await);
    assert_eq!(
        (&output["content"], &output["confidence"]),
        (&json!("yes"), &json!(0.85))
    );
    assert_eq!(mind.requests(), [model_request("view", "why?")]);
    let record = house.last_record().await;
    assert_eq!(record.pipe_name.as_deref(), Some("pipe-v1"));
    assert_eq!(
        record.spent,
        ModelUsage {
            model: Some("m".to_owned()),
            model_calls: 1,
            prompt_tokens: 100,
            completion_tokens: 200,
            cost_usd: Some(0.25),
        }
    );
}

#[tokio::test]
async fn the_answer_says_which_model_thought() {
    let named = RegistryFixture::with_model(ScriptedModel::new([reply_with_cost(GOOD, 1, None)]));
    let output = expect_done(named.call("ponder", json!({ "content": "why?" })).await);
    assert_eq!(output["model"], "m");

    let unnamed = RegistryFixture::with_model(ScriptedModel::new([reply(GOOD)]));
    let output = expect_done(unnamed.call("ponder", json!({ "content": "why?" })).await);
    assert_eq!(
        output["model"], "scripted",
        "the provider, if it names no model"
    );

    let client = RegistryFixture::without_model();
    let asked = client.call("ponder", json!({ "content": "why?" })).await;
    let id = expect_needs_reply(asked).id;
    let replies = json!([{ "view": "yes", "percent": 85 }]);
    let output = expect_done(client.resume(&id, replies.clone()).await);
    assert_eq!(output["model"], "client");
    let again = expect_done(client.resume(&id, replies).await);
    assert_eq!(again, output, "the stored answer says it, too");

    let output = expect_done(client.call("echo", json!({ "content": "x" })).await);
    assert_eq!(output.get("model"), None, "no model was asked");
}

#[tokio::test]
async fn asking_again_is_paid_for_too() {
    let mind = ScriptedModel::new([
        reply_with_cost("let me think", 100, Some(0.25)),
        reply_with_cost(GOOD, 10, Some(0.5)),
    ]);
    let house = RegistryFixture::with_model(mind.clone());
    expect_done(house.call("ponder", json!({ "content": "why?" })).await);
    let keys: Vec<_> = mind.requests().into_iter().map(|ask| ask.key).collect();
    assert_eq!(keys, ["view", "view/again"]);
    assert_eq!(
        house.last_record().await.spent,
        ModelUsage {
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
    let mind = ScriptedModel::new([
        reply_with_cost(GOOD, 1, None),
        reply_with_cost(GOOD, 10, Some(0.5)),
        reply_with_cost(GOOD, 100, None),
    ]);
    let house = RegistryFixture::with_model(mind);
    expect_done(house.call("debate", json!({ "content": "tea" })).await);
    let spent = house.last_record().await.spent;
    assert_eq!((spent.model_calls, spent.prompt_tokens), (3, 111));
    assert_eq!(spent.cost_usd, Some(0.5));

    let mind = ScriptedModel::new([reply(GOOD)]);
    let house = RegistryFixture::with_model(mind);
    expect_done(house.call("ponder", json!({ "content": "tea" })).await);
    let record = house.last_record().await;
    assert_eq!(
        record.pipe_name.as_deref(),
        Some("scripted"),
        "else who thought"
    );
    assert_eq!(
        record.spent,
        ModelUsage {
            model_calls: 1,
            ..ModelUsage::default()
        }
    );
}

#[tokio::test]
async fn an_answer_that_stays_unusable_is_an_error_kept_in_the_record() {
    let mind = ScriptedModel::new([
        reply_with_cost("first try", 100, Some(0.25)),
        reply_with_cost("second try", 10, None),
    ]);
    let house = RegistryFixture::with_model(mind);
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
            ModelError::Unavailable {
                provider: provider(),
                reason: "connection refused".to_owned(),
                attempts: 4,
            },
            "LangbaseUnavailable",
            "deliberate doctor",
        ),
        (
            ModelError::Api {
                provider: provider(),
                status: 401,
                message: "no".to_owned(),
            },
            "ApiError",
            "API key",
        ),
        (
            ModelError::RateLimited {
                provider: provider(),
                retry_after: Some(Duration::from_secs(7)),
            },
            "RateLimited",
            "in 7 s",
        ),
        (
            ModelError::Timeout {
                provider: provider(),
                after: Duration::from_secs(30),
            },
            "Timeout",
            "REQUEST_TIMEOUT_MS",
        ),
        (
            ModelError::Misconfigured {
                provider: provider(),
                reason: "no base URL".to_owned(),
            },
            "Config",
            "Correct the setting",
        ),
    ] {
        let house = RegistryFixture::with_model(ScriptedModel::with_results([Err(error.clone())]));
        let got = house
            .call("ponder", json!({ "content": "x" }))
            .await
            .unwrap_err();
        assert_eq!(got, ToolError::Model(error.clone()));
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
        Err(ModelError::Unavailable {
            provider: "scripted".to_owned(),
            reason: "gone".to_owned(),
            attempts: 1,
        })
    };
    let house = RegistryFixture::with_model(ScriptedModel::with_results([down()]));
    house
        .call("ponder", json!({ "content": "x" }))
        .await
        .unwrap_err();
    let record = house.last_record().await;
    assert_eq!(record.pipe_name.as_deref(), Some("scripted"));
    assert_eq!(record.spent.model_calls, 1);

    // The first answer was paid for; the second request got no reply.
    let house = RegistryFixture::with_model(ScriptedModel::with_results([
        Ok(reply_with_cost("hm", 100, Some(0.25))),
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
    let house = RegistryFixture::without_model();
    expect_needs_reply(house.call("ponder", json!({ "content": "x" })).await);
    assert_eq!(house.last_record().await.spent, ModelUsage::default());
}

#[tokio::test(start_paused = true)]
async fn the_thinker_has_until_the_end_of_the_call() {
    let mind = ScriptedModel::new([reply(GOOD)]);
    let registry = Registry::new(RegistryDeps {
        limits: CallLimits {
            call_time: Duration::from_secs(42),
            ..CallLimits::default()
        },
        ..deps(RecordingStore::new(), Some(mind.clone()))
    })
    .with(AskOnceTool);
    let end = Instant::now() + Duration::from_secs(42);
    expect_done(
        registry
            .call(
                "ponder",
                json!({ "content": "x" }),
                CallerContext::default(),
            )
            .await,
    );
    assert_eq!(mind.deadlines(), [end]);
}

#[tokio::test]
async fn the_clients_own_model_is_asked_where_there_is_no_other() {
    let offered = |text: &str| {
        let mind = ScriptedModel::new([reply(text)]);
        let caller = CallerContext {
            client_model: Some(mind.clone()),
            ..CallerContext::default()
        };
        (mind, caller)
    };
    let arguments = json!({ "content": "x" });

    let (client, caller) = offered(GOOD);
    let house = RegistryFixture::without_model();
    expect_done(
        house
            .registry
            .call("ponder", arguments.clone(), caller)
            .await,
    );
    assert_eq!(client.requests().len(), 1);

    let (client, caller) = offered(GOOD);
    let own = ScriptedModel::new([reply(GOOD)]);
    let house = RegistryFixture::with_model(Arc::clone(&own) as Arc<_>);
    expect_done(house.registry.call("ponder", arguments, caller).await);
    assert_eq!((own.requests().len(), client.requests().len()), (1, 0));
}
