//! What came of work on a list, and how far it came if it broke off, for people.

use std::fmt::Write as _;

use deliberate_core::cut_to_chars;

use super::shown::plain;
use crate::collect::job::{Job, JobLine};

/// So many are named of those that were done.
const MOST_NAMED: usize = 20;

/// What came of each, for people.
pub(crate) fn said_of_job(job: &Job) -> String {
    let mut counts = Vec::new();
    for outcome in ["added", "joined", "known", "unchanged", "failed"] {
        match job.count(outcome) {
            0 => {}
            many => counts.push(format!("{many} {outcome}")),
        }
    }
    let mut said = format!("{} in all: {}.\n", job.total(), counts.join(", "));
    for line in &job.done {
        let title = line
            .title
            .as_deref()
            .map(|it| format!(" **{}**", plain(it)));
        let _ = write!(
            said,
            "\n- {}: {}{}",
            plain(&line.name),
            line.outcome,
            title.unwrap_or_default()
        );
        for note in &line.notes {
            let _ = write!(said, "\n  - {}", plain(note));
        }
    }
    said
}

/// What was done of work that broke off, and how to go on.
pub(crate) fn so_far(done: &[JobLine]) -> String {
    let failed = |it: &&JobLine| it.outcome == "failed";
    let (failed, came): (Vec<&JobLine>, Vec<&JobLine>) = done.iter().partition(failed);
    let named = |all: &[&JobLine], what: &str| {
        if all.is_empty() {
            return String::new();
        }
        let names = all.iter().take(MOST_NAMED).map(|it| plain(&it.name));
        let mut names: Vec<String> = names.map(|it| cut_to_chars(&it, 80)).collect();
        if let Some(more) = all.len().checked_sub(MOST_NAMED).filter(|it| *it > 0) {
            names.push(format!("{more} more"));
        }
        format!("{} {what}: {}. ", all.len(), names.join(", "))
    };
    format!(
        "{}{}Call again with the same arguments to go on.",
        named(&came, "came in"),
        named(&failed, "failed")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(name: &str, outcome: &str) -> JobLine {
        JobLine {
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
            so_far(&done),
            "2 came in: a.pdf, c.pdf. 1 failed: b.pdf. Call again with the same arguments to go on."
        );
        let many = vec![line("a.pdf", "added"); 100];
        assert!(so_far(&many).contains("a.pdf, 80 more."));
    }
}
