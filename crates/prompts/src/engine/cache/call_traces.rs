//! Traces of the last calls: the stages and their durations. They are kept in memory, bounded, to
//! show where the time went.

use std::{
    collections::VecDeque,
    sync::{Mutex, PoisonError},
    time::Duration,
};

use deliberate_core::{Timestamp, truncate_chars};
use deliberate_toolkit::ToolError;
use serde::Serialize;

use crate::engine::{EngineContext, Input};

/// The most traces that are stored.
const MAX_TRACES: usize = 50;

/// The trace of one call.
#[derive(Debug, Clone, Serialize)]
pub struct CallTrace {
    pub at: Timestamp,
    /// The request, shortened.
    pub asked: String,
    pub stages: Vec<StageTiming>,
    /// The id of the run that the call was about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub chain_id: Option<String>,
    /// The error, if the call failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// The duration of one stage.
#[derive(Debug, Clone, Serialize)]
pub struct StageTiming {
    pub stage: &'static str,
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

/// The traces of the last calls.
#[derive(Default)]
pub(crate) struct CallTraces(Mutex<VecDeque<CallTrace>>);

impl CallTraces {
    pub(crate) fn add(&self, trace: CallTrace) {
        let mut traces = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        traces.truncate(MAX_TRACES - 1);
        traces.push_front(trace);
    }

    /// Returns the last traces, newest first.
    pub(crate) fn last(&self, limit: usize) -> Vec<CallTrace> {
        let traces = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        traces.iter().take(limit).cloned().collect()
    }
}
