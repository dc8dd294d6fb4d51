//! Records the events of the dispatcher.

use std::time::Duration;

use deliberate_core::ModelUsage;
use deliberate_toolkit::{CallEvent, CallListener};

use super::{
    ServerMetrics,
    labels::{
        CallLabels, ModelRequestLabels, ProviderLabel, TokenLabels, ToolLabel, outcome_label,
    },
};

impl CallListener for ServerMetrics {
    fn on_event(&self, event: CallEvent<'_>) {
        match event {
            CallEvent::Ended {
                call,
                elapsed: took,
                error,
                ..
            } => self.record_call(call.tool, took, error),
            CallEvent::ModelRequested {
                provider,
                elapsed: took,
                error,
                usage: spent,
            } => self.record_model_request(provider, took, error, spent),
            CallEvent::ExternalCallEnded(ended) => self.upstream.record(ended),
            CallEvent::UnknownTool => {
                // The name of an unknown tool comes from the caller and must not become a label.
                let labels = CallLabels {
                    tool: "unknown",
                    outcome: outcome_label(Some("UnknownTool")),
                };
                self.calls.get_or_create(&labels).inc();
            }
            CallEvent::Panicked { .. } => {
                self.panics.inc();
            }
            _ => {}
        }
    }
}

impl ServerMetrics {
    fn record_call(&self, tool: &'static str, took: Duration, error: Option<&str>) {
        let outcome = outcome_label(error);
        self.calls
            .get_or_create(&CallLabels { tool, outcome })
            .inc();
        self.call_time
            .get_or_create(&ToolLabel { tool })
            .observe(took.as_secs_f64());
    }

    fn record_model_request(
        &self,
        provider: &str,
        took: Duration,
        error: Option<&str>,
        spent: &ModelUsage,
    ) {
        let provider = self.providers.label_for(provider);
        let asks = ModelRequestLabels {
            provider: provider.clone(),
            outcome: outcome_label(error),
        };
        self.asks.get_or_create(&asks).inc();
        for (kind, tokens) in [
            ("prompt", spent.prompt_tokens),
            ("completion", spent.completion_tokens),
        ] {
            let labels = TokenLabels {
                provider: provider.clone(),
                kind,
            };
            let tokens = u64::try_from(tokens).unwrap_or(0);
            self.tokens.get_or_create(&labels).inc_by(tokens);
        }
        let label = ProviderLabel { provider };
        self.ask_time
            .get_or_create(&label)
            .observe(took.as_secs_f64());
        // A counter only increases, so a negative cost is ignored.
        if let Some(cost) = spent
            .cost_usd
            .filter(|cost| cost.is_finite() && *cost > 0.0)
        {
            self.cost.get_or_create(&label).inc_by(cost);
        }
    }
}
