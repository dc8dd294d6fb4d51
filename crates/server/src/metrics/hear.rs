//! What happens at the gate, counted.

use std::time::Duration;

use deliberate_core::Spent;
use deliberate_toolkit::{Event, Listener};

use super::{
    Metrics,
    labels::{AskLabels, CallLabels, ProviderLabel, TokenLabels, ToolLabel, outcome},
};

impl Listener for Metrics {
    fn hear(&self, event: Event<'_>) {
        match event {
            Event::Ended {
                call, took, error, ..
            } => self.ended(call.tool, took, error),
            Event::Asked {
                provider,
                took,
                error,
                spent,
            } => self.asked(provider, took, error, spent),
            Event::UnknownTool => {
                // What it was called is the caller's choice, and no label.
                let labels = CallLabels {
                    tool: "unknown",
                    outcome: outcome(Some("UnknownTool")),
                };
                self.calls.get_or_create(&labels).inc();
            }
            Event::Panicked { .. } => {
                self.panics.inc();
            }
            _ => {}
        }
    }
}

impl Metrics {
    fn ended(&self, tool: &'static str, took: Duration, error: Option<&str>) {
        let outcome = outcome(error);
        self.calls
            .get_or_create(&CallLabels { tool, outcome })
            .inc();
        self.call_time
            .get_or_create(&ToolLabel { tool })
            .observe(took.as_secs_f64());
    }

    fn asked(&self, provider: &str, took: Duration, error: Option<&str>, spent: &Spent) {
        let provider = self.providers.name(provider);
        let asks = AskLabels {
            provider: provider.clone(),
            outcome: outcome(error),
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
        // A counter only grows, whatever a provider says that it costs.
        if let Some(cost) = spent
            .cost_usd
            .filter(|cost| cost.is_finite() && *cost > 0.0)
        {
            self.cost.get_or_create(&label).inc_by(cost);
        }
    }
}
