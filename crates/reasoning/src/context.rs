//! What a model is shown of a session's past, or of one line of it: the newest steps that fit a
//! token budget, and the first one, which says what it all was about. Never what was set aside. The same size for a session of ten steps and of
//! ten thousand.

use deliberate_core::{Session, Thought, ThoughtId, approximate_tokens, cut_to_tokens};
use deliberate_store::{Page, StoreError, Which};
use deliberate_toolkit::Call;
use serde::Serialize;

/// Steps shown at the most, however short they are.
const MOST_STEPS: u32 = 24;

/// One long step may take this share of the budget, so that it does not push out all others.
const SHARE_OF_ONE: usize = 4;

/// A session's past, as far as it is shown.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub(crate) struct Past {
    /// The steps, oldest first.
    pub(crate) steps: Vec<PastStep>,
    /// Whether steps between the first and the others are left out.
    pub(crate) gap: bool,
    /// The latest thought, which the next one builds on.
    #[serde(skip)]
    pub(crate) latest: Option<ThoughtId>,
}

/// One step, cut to its share.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct PastStep {
    input: String,
    thought: String,
    confidence: String,
}

/// One more than is shown, to know whether something is left out.
const READ: u32 = MOST_STEPS + 1;

/// Reads the past of `session` within the budget of the call.
pub(crate) async fn past(session: &Session, call: &Call) -> Result<Past, StoreError> {
    let newest = call.store().latest_thoughts(&session.id, READ).await?;
    shown(newest, session, call).await
}

/// Reads the line that ends with `latest`: that thought, what it built on, and so on.
pub(crate) async fn line(
    latest: Option<&ThoughtId>,
    session: &Session,
    call: &Call,
) -> Result<Past, StoreError> {
    let Some(latest) = latest else {
        return Ok(Past::default());
    };
    let newest = call.store().line(latest, READ).await?;
    shown(newest, session, call).await
}

async fn shown(newest: Vec<Thought>, session: &Session, call: &Call) -> Result<Past, StoreError> {
    let latest = newest.first().map(|thought| thought.id.clone());
    let first = if newest.len() < READ as usize {
        newest.last().cloned()
    } else {
        let first = Page::first(1);
        let first = call
            .store()
            .thoughts(&session.id, Which::Current, first)
            .await?;
        first.into_iter().next()
    };
    Ok(select(newest, first, latest, call.context_tokens()))
}

fn select(
    newest: Vec<Thought>,
    first: Option<Thought>,
    latest: Option<ThoughtId>,
    budget: usize,
) -> Past {
    let share = budget / SHARE_OF_ONE;
    let anchor = first.map(|first| (first.id.clone(), PastStep::cut(&first, share)));
    let mut left = budget.saturating_sub(anchor.as_ref().map_or(0, |(_, step)| step.tokens()));
    let mut steps = Vec::new();
    let mut reached_anchor = anchor.is_none();
    for thought in newest {
        if anchor.as_ref().is_some_and(|(id, _)| *id == thought.id) {
            reached_anchor = true;
            break;
        }
        if steps.len() == MOST_STEPS as usize {
            break;
        }
        let step = PastStep::cut(&thought, share);
        let Some(rest) = left.checked_sub(step.tokens()) else {
            break;
        };
        left = rest;
        steps.push(step);
    }
    steps.extend(anchor.map(|(_, step)| step));
    steps.reverse();
    Past {
        gap: !reached_anchor,
        steps,
        latest,
    }
}

impl PastStep {
    fn cut(thought: &Thought, tokens: usize) -> Self {
        let input = thought.input.as_deref().unwrap_or_default();
        Self {
            input: cut_to_tokens(input, tokens / 2),
            thought: cut_to_tokens(&thought.content, tokens / 2),
            confidence: format!("{:.2}", thought.confidence.get()),
        }
    }

    fn tokens(&self) -> usize {
        // The tags around a step take about this many.
        const FRAME: usize = 16;
        approximate_tokens(&self.input) + approximate_tokens(&self.thought) + FRAME
    }
}

#[cfg(test)]
mod tests {
    use deliberate_core::{Mode, Score, Timestamp};

    use super::*;

    fn thought(number: usize, text: &str) -> Thought {
        Thought {
            id: format!("t{number}").as_str().into(),
            session_id: "s".into(),
            input: Some(format!("input {number}")),
            content: text.to_owned(),
            confidence: Score::DEFAULT_CONFIDENCE,
            mode: Mode::Linear,
            parent_id: None,
            branch_id: None,
            set_aside: false,
            created_at: Timestamp::from_micros(0),
            metadata: None,
        }
    }

    fn inputs(past: &Past) -> Vec<&str> {
        past.steps.iter().map(|step| step.input.as_str()).collect()
    }

    #[test]
    fn a_short_session_is_shown_whole_oldest_first() {
        let newest = vec![thought(3, "c"), thought(2, "b"), thought(1, "a")];
        let past = select(newest, Some(thought(1, "a")), None, 1_000);
        assert_eq!(inputs(&past), ["input 1", "input 2", "input 3"]);
        assert!(!past.gap);
    }

    #[test]
    fn a_long_session_keeps_its_first_and_its_newest_steps_within_the_budget() {
        let long = "word ".repeat(400);
        let newest: Vec<_> = (2..=20).rev().map(|n| thought(n, &long)).collect();
        let past = select(newest, Some(thought(1, &long)), None, 2_000);
        assert!(past.gap);
        assert_eq!(inputs(&past).first(), Some(&"input 1"));
        assert_eq!(inputs(&past).last(), Some(&"input 20"));
        let tokens: usize = past.steps.iter().map(PastStep::tokens).sum();
        assert!(tokens <= 2_000, "{tokens}");
        assert!(past.steps.len() > 3);
    }
}
