//! What happens if a client that offers its model declines to use it.

use std::sync::Arc;

use deliberate_llm::{ChatModel, ModelError, ModelReply, ModelRequest};
use deliberate_toolkit::{CallOutcome, CallerContext};
use futures::future::BoxFuture;
use serde_json::json;
use tokio::time::Instant;

use super::test_registry::ReasoningTestRegistry;

/// A client's model that its user forbids.
struct DecliningModel;

impl ChatModel for DecliningModel {
    fn name(&self) -> &'static str {
        "declining"
    }

    fn complete<'a>(
        &'a self,
        _: &'a ModelRequest,
        _: Instant,
    ) -> BoxFuture<'a, Result<ModelReply, ModelError>> {
        Box::pin(async {
            Err(ModelError::Declined {
                reason: "The person said no.".to_owned(),
            })
        })
    }
}

fn declining_caller() -> CallerContext {
    CallerContext {
        client_model: Some(Arc::new(DecliningModel)),
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
    let Ok(CallOutcome::Done(output)) = call.await else {
        panic!("nothing has to be replied");
    };
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
    let Ok(CallOutcome::NeedsReply(needs)) = call.await else {
        panic!("the client thinks");
    };
    let keys: Vec<&str> = needs.asks.iter().map(|ask| ask.key.as_str()).collect();
    assert_eq!(keys, ["linear"]);
    let resume = json!({ "id": needs.id, "replies": ["It is the new driver."] });
    let output = desk.call_ok("reasoning_resume", resume).await;
    assert_eq!(output["decided_by"], "default");
    assert_eq!(output["result"]["content"], "It is the new driver.");
}
