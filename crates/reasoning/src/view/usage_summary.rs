//! The usage report of `reasoning_sessions`: calls, tokens, cost and time by day, session, tool or
//! model.

use deliberate_store::{UsageFigures, UsageGroup, UsageReport, UsageRow};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

// The property by which the calls are grouped.
#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(super) enum UsageDimension {
    Day,
    Session,
    Tool,
    Model,
}

impl From<UsageDimension> for UsageGroup {
    fn from(dimension: UsageDimension) -> Self {
        match dimension {
            UsageDimension::Day => Self::Day,
            UsageDimension::Session => Self::Session,
            UsageDimension::Tool => Self::Tool,
            UsageDimension::Model => Self::Model,
        }
    }
}

// The calls that were made, in groups and together.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct UsageSummary {
    /// One for each day (UTC, newest first), session (last used first), tool or model (most used
    /// first)
    groups: Vec<UsageGroupSummary>,
    /// How many groups were left out; omitted if none
    #[serde(skip_serializing_if = "Option::is_none")]
    groups_left_out: Option<u64>,
    /// All calls together
    total: UsageSums,
}

// The calls of one day, session, tool or model.
#[derive(Debug, Serialize, JsonSchema)]
struct UsageGroupSummary {
    /// The day, session, tool or model; null if the calls have none
    key: Option<String>,
    #[serde(flatten)]
    sums: UsageSums,
}

// Sums of calls.
#[derive(Debug, Serialize, JsonSchema)]
struct UsageSums {
    calls: u64,
    /// Requests to models
    model_requests: u64,
    prompt_tokens: u64,
    completion_tokens: u64,
    /// Known cost in US dollars; null if unknown
    cost_usd: Option<f64>,
    /// Calls whose cost is unknown; omitted if none
    #[serde(skip_serializing_if = "Option::is_none")]
    unpriced_calls: Option<u64>,
    /// Time of all calls
    ms: u64,
}

impl From<UsageReport> for UsageSummary {
    fn from(report: UsageReport) -> Self {
        let shown = u64::try_from(report.rows.len()).unwrap_or(u64::MAX);
        let left_out = report.group_count.saturating_sub(shown);
        let groups = report.rows.into_iter();
        let groups = groups.map(|UsageRow { key, figures }| UsageGroupSummary {
            key,
            sums: UsageSums::from(figures),
        });
        Self {
            groups: groups.collect(),
            groups_left_out: (left_out > 0).then_some(left_out),
            total: UsageSums::from(report.total),
        }
    }
}

impl From<UsageFigures> for UsageSums {
    fn from(figures: UsageFigures) -> Self {
        let unpriced = figures.unpriced_calls;
        Self {
            calls: figures.calls,
            model_requests: figures.model_calls,
            prompt_tokens: figures.prompt_tokens,
            completion_tokens: figures.completion_tokens,
            cost_usd: figures.cost_usd,
            unpriced_calls: (unpriced > 0).then_some(unpriced),
            ms: figures.total_ms,
        }
    }
}
