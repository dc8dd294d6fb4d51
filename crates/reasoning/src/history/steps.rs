//! The steps of a history: which of them a prompt shows, and how a long one is shortened.

use deliberate_core::{Thought, approximate_tokens, equal_shares, fit_items, shorten_tokens};
use serde::{Deserialize, Serialize};

use super::{SessionHistory, metadata_text};

/// The largest number of steps shown, however short they are.
const MAX_STEPS: u32 = 24;

/// One step more than is shown tells whether steps are left out.
pub(super) const STEPS_TO_READ: u32 = MAX_STEPS + 1;

/// The first step and the two newest are shown in any case, shortened if they are too long.
pub(super) const ALWAYS_SHOWN: usize = 3;

/// The latest result and the latest doubt may each take one part in this many of the budget.
const FIELD_SHARE: usize = 16;

/// A step: whole, or shortened to its share of the budget.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct HistoryStep {
    input: String,
    thought: String,
    answer: Option<String>,
    confidence: String,
}

/// Selects the newest steps that fit the budget, and the first step, which is always shown.
pub(super) fn select_steps(
    newest: &[Thought],
    first: Option<&Thought>,
    budget: usize,
) -> SessionHistory {
    let latest = newest.first().map(|thought| thought.id.clone());
    let session = newest.first().map(|thought| thought.session_id.clone());
    let latest_field = |name: &str| {
        let text = metadata_text(newest.first()?, name)?;
        Some(shorten_tokens(&text, budget / FIELD_SHARE))
    };
    let latest_answer = latest_field("answer");
    let open_point = latest_field("weakest_point");
    let read = newest.len();
    let is_first = |thought: &Thought| first.is_some_and(|first| first.id == thought.id);
    let place = newest.iter().position(is_first);
    // Each step with its place: 0 is the newest.
    let (others, mut steps): (Vec<_>, Vec<_>) = (
        newest
            .iter()
            .enumerate()
            .filter(|(_, it)| !is_first(it))
            .collect(),
        first
            .into_iter()
            .map(|it| (place.unwrap_or(read), it))
            .collect(),
    );
    let total = others.len() + steps.len();
    steps.extend(others.into_iter().take(MAX_STEPS as usize));
    let mut steps: Vec<(usize, HistoryStep)> = steps
        .into_iter()
        .map(|(place, thought)| (place, HistoryStep::from(thought)))
        .collect();
    let sizes: Vec<usize> = steps.iter().map(|(_, step)| step.tokens()).collect();
    let shares = fit_items(&sizes, ALWAYS_SHOWN, budget);
    steps.truncate(shares.len());
    let left_out = total - steps.len();
    let mut steps: Vec<(usize, HistoryStep)> = steps
        .into_iter()
        .zip(shares)
        .map(|((place, step), share)| (place, step.shortened(share)))
        .collect();
    steps.sort_by_key(|(place, _)| std::cmp::Reverse(*place));
    SessionHistory {
        steps: steps.into_iter().map(|(_, step)| step).collect(),
        left_out,
        is_longer: left_out > 0 && place.is_none() && read == STEPS_TO_READ as usize,
        session,
        latest,
        latest_answer,
        open_point,
        ..SessionHistory::default()
    }
}

impl From<&Thought> for HistoryStep {
    fn from(thought: &Thought) -> Self {
        Self {
            input: thought.input.clone().unwrap_or_default(),
            thought: thought.content.clone(),
            answer: metadata_text(thought, "answer"),
            confidence: format!("{:.2}", thought.confidence.get()),
        }
    }
}

impl HistoryStep {
    /// The approximate tokens of the tags around a step.
    const TAG_TOKENS: usize = 16;

    /// Shortens the longest of its texts until the step has about `tokens` tokens.
    fn shortened(self, tokens: usize) -> Self {
        if self.tokens() <= tokens {
            return self;
        }
        let room = tokens.saturating_sub(Self::TAG_TOKENS);
        let texts = [
            self.input.as_str(),
            self.thought.as_str(),
            self.answer.as_deref().unwrap_or_default(),
        ];
        let shares = equal_shares(&texts.map(approximate_tokens), room);
        let mut texts = texts
            .into_iter()
            .zip(shares)
            .map(|(text, share)| shorten_tokens(text, share));
        let (input, thought) = (texts.next(), texts.next());
        Self {
            input: input.unwrap_or_default(),
            thought: thought.unwrap_or_default(),
            answer: texts.next().filter(|it| !it.is_empty()),
            confidence: self.confidence,
        }
    }

    fn tokens(&self) -> usize {
        let answer = self.answer.as_deref().map_or(0, approximate_tokens);
        approximate_tokens(&self.input)
            + approximate_tokens(&self.thought)
            + answer
            + Self::TAG_TOKENS
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

    fn inputs(past: &SessionHistory) -> Vec<&str> {
        past.steps.iter().map(|step| step.input.as_str()).collect()
    }

    #[test]
    fn a_short_session_is_shown_whole_oldest_first() {
        let newest = vec![thought(3, "c"), thought(2, "b"), thought(1, "a")];
        let past = select_steps(&newest, Some(&thought(1, "a")), 1_000);
        assert_eq!(inputs(&past), ["input 1", "input 2", "input 3"]);
        assert_eq!(past.left_out, 0);
    }

    #[test]
    fn a_long_session_keeps_its_first_and_its_newest_steps_within_the_budget() {
        let long = "word ".repeat(400);
        let newest: Vec<_> = (2..=20).rev().map(|n| thought(n, &long)).collect();
        let past = select_steps(&newest, Some(&thought(1, &long)), 2_000);
        assert_eq!(past.left_out, 20 - past.steps.len());
        assert_eq!(inputs(&past).first(), Some(&"input 1"));
        assert_eq!(inputs(&past).last(), Some(&"input 20"));
        let tokens: usize = past.steps.iter().map(HistoryStep::tokens).sum();
        assert!(tokens <= 2_000, "{tokens}");
        let is_whole = |step: &HistoryStep| step.thought == long;
        assert!(past.steps.len() == 3 && past.steps.iter().all(is_whole));
    }
}
