//! The report on the search of one source.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::http::HttpClientError;

/// The report on one source.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SourceReport {
    pub source: String,
    #[serde(flatten)]
    pub outcome: SourceOutcome,
    pub took_ms: u64,
    /// Criteria that it could not apply.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub ignored: Vec<String>,
    /// Records that could not be read.
    #[serde(default)]
    pub skipped: u32,
    /// Whether the response came from the cache.
    pub kept: bool,
}

/// The outcome of searching a source.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "outcome", rename_all = "snake_case")]
pub enum SourceOutcome {
    /// It answered.
    Ok {
        /// The number of papers.
        count: usize,
        /// The number of matches at the source.
        total: Option<u64>,
    },
    /// It is rate limited.
    RateLimited {
        /// Seconds to wait.
        wait_s: u64,
    },
    /// It failed.
    Failed {
        /// The error code.
        code: String,
        /// The reason.
        why: String,
    },
}

impl SourceReport {
    pub fn is_ok(&self) -> bool {
        matches!(self.outcome, SourceOutcome::Ok { .. })
    }

    /// The seconds to wait if the source is rate limited.
    pub fn wait_seconds(&self) -> Option<u64> {
        match self.outcome {
            SourceOutcome::RateLimited { wait_s } => Some(wait_s),
            SourceOutcome::Ok { .. } | SourceOutcome::Failed { .. } => None,
        }
    }

    /// Describes the failure in a sentence; `None` if the source answered.
    pub fn problem(&self) -> Option<String> {
        let source = &self.source;
        match &self.outcome {
            SourceOutcome::Ok { .. } => None,
            SourceOutcome::RateLimited { wait_s } => {
                Some(format!("{source} is rate limited; retry in {wait_s} s"))
            }
            SourceOutcome::Failed { why, .. } => Some(format!("{source} failed: {why}")),
        }
    }

    /// Describes the outcome in a few words.
    pub fn describe(&self) -> String {
        let SourceOutcome::Ok { count, total } = &self.outcome else {
            return self.problem().unwrap_or_default();
        };
        let of = total.filter(|it| *it > *count as u64);
        let of = of.map(|it| format!(" of {it}")).unwrap_or_default();
        let without = match self.ignored.as_slice() {
            [] => String::new(),
            ignored => format!(" (ignoring {})", ignored.join(", ")),
        };
        format!("{} {count}{of}{without}", self.source)
    }
}

impl From<&HttpClientError> for SourceOutcome {
    fn from(error: &HttpClientError) -> Self {
        match error.retry_after() {
            // Rounded up: a retry that is too early is worse than a late one.
            Some(wait) => Self::RateLimited {
                wait_s: u64::try_from(wait.as_millis().div_ceil(1_000))
                    .unwrap_or(u64::MAX)
                    .max(1),
            },
            None => Self::Failed {
                code: error.code().to_owned(),
                why: error.to_string(),
            },
        }
    }
}
