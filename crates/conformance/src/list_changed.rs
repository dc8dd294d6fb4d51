//! Lists that change: the subscriptions, and the tools that trigger change notifications.

use std::{
    collections::BTreeMap,
    sync::{Mutex, MutexGuard, PoisonError},
};

use rmcp::{ErrorData, model::Tool, service::SubscriptionSink};
use serde_json::json;

use crate::tools::{FixtureCall, FixtureResult, build_tool, text_result};

/// The open subscriptions by our own numbers, because two clients may use the same request id.
#[derive(Default)]
pub(crate) struct ListChangedSubscribers(Mutex<BTreeMap<u64, SubscriptionSink>>);

impl ListChangedSubscribers {
    /// Adds a subscription and returns the number to remove it by.
    pub(crate) fn add(&self, sink: SubscriptionSink) -> u64 {
        let mut sinks = self.lock();
        let number = sinks.last_key_value().map_or(0, |(last, _)| last + 1);
        sinks.insert(number, sink);
        number
    }

    pub(crate) fn remove(&self, number: u64) {
        self.lock().remove(&number);
    }

    fn all(&self) -> Vec<SubscriptionSink> {
        self.lock().values().cloned().collect()
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<u64, SubscriptionSink>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

pub(crate) fn tools() -> Vec<Tool> {
    vec![
        build_tool(
            "test_trigger_tool_change",
            "Notifies that the tools changed",
            &json!({}),
        ),
        build_tool(
            "test_trigger_prompt_change",
            "Notifies that the prompts changed",
            &json!({}),
        ),
    ]
}

pub(crate) async fn call_tool(call: &FixtureCall<'_>, name: &str) -> FixtureResult {
    for sink in call.state.subscribers.all() {
        // Subscribers to other changes, or that are gone, are not notified.
        drop(match name {
            "test_trigger_tool_change" => sink.notify_tool_list_changed().await,
            "test_trigger_prompt_change" => sink.notify_prompt_list_changed().await,
            _ => return Err(ErrorData::invalid_params(format!("no tool {name}"), None)),
        });
    }
    text_result("All subscribers were notified.")
}
