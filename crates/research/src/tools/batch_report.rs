//! Readable reports of batch jobs, complete or interrupted.

use std::fmt::Write as _;

use deliberate_core::truncate_chars;

use super::rendering::escape_markdown;
use crate::ingest::batch_job::{BatchItemResult, BatchJob};

/// Items that an interrupted job names.
const MAX_NAMED: usize = 20;

/// Renders the result of each item.
pub(crate) fn render_batch(job: &BatchJob) -> String {
    let mut counts = Vec::new();
    for outcome in ["added", "joined", "known", "unchanged", "failed"] {
        match job.count_outcome(outcome) {
            0 => {}
            many => counts.push(format!("{many} {outcome}")),
        }
    }
    let mut said = format!("{} in all: {}.\n", job.total(), counts.join(", "));
    for line in &job.done {
        let title = line
            .title
            .as_deref()
            .map(|it| format!(" **{}**", escape_markdown(it)));
        let _ = write!(
            said,
            "\n- {}: {}{}",
            escape_markdown(&line.name),
            line.outcome,
            title.unwrap_or_default()
        );
        for note in &line.notes {
            let _ = write!(said, "\n  - {}", escape_markdown(note));
        }
    }
    said
}

/// Renders what an interrupted job has done and how to continue.
pub(crate) fn render_partial_batch(done: &[BatchItemResult]) -> String {
    let failed = |it: &&BatchItemResult| it.outcome == "failed";
    let (failed, came): (Vec<&BatchItemResult>, Vec<&BatchItemResult>) =
        done.iter().partition(failed);
    let named = |all: &[&BatchItemResult], what: &str| {
        if all.is_empty() {
            return String::new();
        }
        let names = all
            .iter()
            .take(MAX_NAMED)
            .map(|it| escape_markdown(&it.name));
        let mut names: Vec<String> = names.map(|it| truncate_chars(&it, 80)).collect();
        if let Some(more) = all.len().checked_sub(MAX_NAMED).filter(|it| *it > 0) {
            names.push(format!("{more} more"));
        }
        format!("{} {what}: {}. ", all.len(), names.join(", "))
    };
    format!(
        "{}{}Call again with the same arguments to continue.",
        named(&came, "succeeded"),
        named(&failed, "failed")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(name: &str, outcome: &str) -> BatchItemResult {
        BatchItemResult {
            name: name.to_owned(),
            outcome: outcome.to_owned(),
            article_id: None,
            title: None,
            notes: Vec::new(),
        }
    }

    #[test]
    fn what_was_done_is_named() {
        let done = [
            line("a.pdf", "added"),
            line("b.pdf", "failed"),
            line("c.pdf", "joined"),
        ];
        assert_eq!(
            render_partial_batch(&done),
            "2 succeeded: a.pdf, c.pdf. 1 failed: b.pdf. Call again with the same arguments to continue."
        );
        let many = vec![line("a.pdf", "added"); 100];
        assert!(render_partial_batch(&many).contains("a.pdf, 80 more."));
    }
}
