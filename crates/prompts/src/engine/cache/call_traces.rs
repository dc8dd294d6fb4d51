//! What the last calls did, stage by stage, and how long each took. Kept in memory, bounded; for
//! people who want to know where the time went.

use std::{
    collections::VecDeque,
    sync::{Mutex, PoisonError},
    time::Duration,
};

use deliberate_core::{Timestamp, truncate_chars};
use deliberate_toolkit::ToolError;
use serde::Serialize;

use crate::engine::{EngineContext, Input};

/// How many calls are kept.
const MAX_TRACES: usize = 50;

/// One call.
#[derive(Debug, Clone, Serialize)]
pub struct CallTrace {
    /// When.
    pub at: Timestamp,
    /// What was asked, shortened.
    pub asked: String,
    /// Its stages, in order.
    pub stages: Vec<StageTiming>,
    /// The run it was about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub chain_id: Option<String>,
    /// How it ended, if not well.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// One stage of a call.
#[derive(Debug, Clone, Serialize)]
pub struct StageTiming {
    /// Its name.
    pub stage: &'static str,
    /// How long it took, in microseconds.
    pub micros: u64,
}

impl CallTrace {
    pub(crate) fn start(at: Timestamp, request: &Input) -> Self {
        let asked = request.command.as_ref().or(request.chain_id.as_ref());
        Self {
            at,
            asked: truncate_chars(asked.map_or("", String::as_str), 120),
            stages: Vec::new(),
            chain_id: None,
            error: None,
        }
    }

    pub(crate) fn add(&mut self, stage: &'static str, took: Duration) {
        let micros = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
        self.stages.push(StageTiming { stage, micros });
    }

    pub(crate) fn finish(&mut self, context: &EngineContext<'_>, error: Option<&ToolError>) {
        self.chain_id = context.run.as_ref().map(|run| run.id.to_string());
        self.error = error.map(|error| error.code().to_owned());
    }
}

/// The last calls.
#[derive(Default)]
pub(crate) struct CallTraces(Mutex<VecDeque<CallTrace>>);

impl CallTraces {
    pub(crate) fn add(&self, trace: CallTrace) {
        let mut traces = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        traces.truncate(MAX_TRACES - 1);
        traces.push_front(trace);
    }

    /// The last ones, newest first.
    pub(crate) fn last(&self, limit: usize) -> Vec<CallTrace> {
        let traces = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        traces.iter().take(limit).cloned().collect()
    }
}
