//! A word from each source on how it went.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::http::HttpClientError;

/// How it went with a source.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SourceReport {
    /// Which.
    pub source: String,
    /// How.
    #[serde(flatten)]
    pub outcome: SourceOutcome,
    /// How long it took.
    pub took_ms: u64,
    /// What of the question it could not take into account.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub ignored: Vec<String>,
    /// How many of its records could not be read.
    #[serde(default)]
    pub skipped: u32,
    /// Whether its answer was kept from before.
    pub kept: bool,
}

/// How a source answered.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "outcome", rename_all = "snake_case")]
pub enum SourceOutcome {
    /// It answered.
    Ok {
        /// With so many papers.
        count: usize,
        /// Of so many in all, if it says.
        total: Option<u64>,
    },
    /// It is asked too often.
    RateLimited {
        /// Ask again after so many seconds.
        wait_s: u64,
    },
    /// It failed.
    Failed {
        /// The stable code.
        code: String,
        /// Why, in a sentence.
        why: String,
    },
}

impl SourceReport {
    /// Whether it answered.
    pub fn is_ok(&self) -> bool {
        matches!(self.outcome, SourceOutcome::Ok { .. })
    }

    /// How many seconds to wait before asking it again, if that is what it wants.
    pub fn wait_seconds(&self) -> Option<u64> {
        match self.outcome {
            SourceOutcome::RateLimited { wait_s } => Some(wait_s),
            SourceOutcome::Ok { .. } | SourceOutcome::Failed { .. } => None,
        }
    }

    /// What went wrong, in a sentence.
    pub fn problem(&self) -> Option<String> {
        let source = &self.source;
        match &self.outcome {
            SourceOutcome::Ok { .. } => None,
            SourceOutcome::RateLimited { wait_s } => Some(format!(
                "{source} is asked too often; ask again in {wait_s} s"
            )),
            SourceOutcome::Failed { why, .. } => Some(format!("{source} failed: {why}")),
        }
    }

    /// How it went, in a few words.
    pub fn describe(&self) -> String {
        let SourceOutcome::Ok { count, total } = &self.outcome else {
            return self.problem().unwrap_or_default();
        };
        let of = total.filter(|it| *it > *count as u64);
        let of = of.map(|it| format!(" of {it}")).unwrap_or_default();
        let without = match self.ignored.as_slice() {
            [] => String::new(),
            ignored => format!(" (without regard to {})", ignored.join(", ")),
        };
        format!("{} {count}{of}{without}", self.source)
    }
}

impl From<&HttpClientError> for SourceOutcome {
    fn from(error: &HttpClientError) -> Self {
        match error.retry_after() {
            // Half a second is a second: to ask again too early is worse than a little late.
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
