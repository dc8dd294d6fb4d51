//! The progress of an exploration: a message for each approach that is worked out.

use std::sync::atomic::{AtomicU32, Ordering};

use deliberate_core::truncate_chars;
use deliberate_toolkit::ToolContext;

use super::{explore::NAME_CHARS, model_output::Approach};

/// The share of the call that the approaches take; their comparison takes the rest.
const APPROACHES_SHARE: f64 = 0.8;

/// Counts the approaches that are worked out.
pub(super) struct ExploreProgress {
    finished: AtomicU32,
    count: u32,
}

impl ExploreProgress {
    pub(super) fn new(count: usize) -> Self {
        Self {
            finished: AtomicU32::new(0),
            count: u32::try_from(count).unwrap_or(u32::MAX).max(1),
        }
    }

    /// Reports an approach: `2 of 4 approaches: By rail (80 %)`. `deliberate think` draws it.
    pub(super) fn report(&self, approach: &Approach, call: &ToolContext) {
        let finished = self.finished.fetch_add(1, Ordering::Relaxed) + 1;
        let name = approach.name.as_ref().unwrap_or(&approach.thought);
        let words: Vec<&str> = name.split_whitespace().collect();
        let name = truncate_chars(&words.join(" "), NAME_CHARS);
        let percent = (approach.fields.confidence().get() * 100.0).round();
        let message = format!(
            "{finished} of {} approaches: {name} ({percent} %)",
            self.count
        );
        let share = f64::from(finished) / f64::from(self.count);
        call.progress(share * APPROACHES_SHARE, Some(1.0), &message);
    }
}
