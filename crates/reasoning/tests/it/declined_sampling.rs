//! What happens if a client that offers its model declines to use it.

use deliberate_llm::ModelError;
use deliberate_testkit::fixtures::{ScriptedModel, expect_done, expect_needs_reply};
use deliberate_toolkit::CallerContext;
use serde_json::json;

use super::test_registry::ReasoningTestRegistry;

/// A caller whose model its user forbids.
fn declining_caller() -> CallerContext {
    let declining = ScriptedModel::from_fn(|_, _| {
        Err(ModelError::Declined {
            reason: "The person said no.".to_owned(),
        })
    });
    CallerContext {
        client_model: Some(declining),
        ..CallerContext::default()
    }
}

#[tokio::test]
async fn a_client_that_declines_to_choose_a_mode_gets_the_default_at_once() {
    let desk = ReasoningTestRegistry::without_model();
    let arguments = json!({ "content": "Our warehouse loses parcels every Tuesday" });
    let call = desk
        .registry
        .call("reasoning_auto", arguments, declining_caller());
    let output = expect_done(call.await);
    assert_eq!(output["decided_by"], "default");
    assert_eq!(output["tool"], "reasoning_linear");
    assert!(output["modes"].is_array());
}

#[tokio::test]
async fn a_client_that_declines_to_choose_a_mode_is_asked_only_for_the_thought() {
    let desk = ReasoningTestRegistry::without_model();
    let arguments = json!({ "content": "Our warehouse loses parcels every Tuesday", "run": true });
    let call = desk
        .registry
        .call("reasoning_auto", arguments, declining_caller());
    let needs = expect_needs_reply(call.await);
    let keys: Vec<&str> = needs.asks.iter().map(|ask| ask.key.as_str()).collect();
    assert_eq!(keys, ["linear"]);
    let resume = json!({ "id": needs.id, "replies": ["It is the new driver."] });
    let output = desk.call_ok("reasoning_resume", resume).await;
    assert_eq!(output["decided_by"], "default");
    assert_eq!(output["result"]["content"], "It is the new driver.");
}
