//! What is said about gates: before an answer, what it should be like; after it, what was found.
//! Each text fits a number of characters.

use super::{
    Chosen, CriterionResult, Decision, GateResult, Outcome, Review, Source, wording::in_words,
};

/// What ends a text that had to be cut.
const CUT: &str = "\n… (shortened)";

/// What the model is told before it answers; nothing if there are no gates.
pub fn guidance(gates: &[Chosen], budget: usize) -> String {
    if gates.is_empty() {
        return String::new();
    }
    // Criteria are what is checked, so the prose goes first when room is short.
    let whole = written(gates, usize::MAX);
    if whole.chars().count() <= budget {
        return whole;
    }
    let bare = written(gates, 0);
    let left = budget.saturating_sub(bare.chars().count());
    let each = left / gates.len();
    // Below that, the beginning of a guidance says nothing.
    if each >= 60 {
        return cut(
            &written(gates, each.saturating_sub(CUT.chars().count())),
            budget,
        );
    }
    cut(&bare, budget)
}

/// The gates with so many characters of each one's guidance.
fn written(gates: &[Chosen], of_each: usize) -> String {
    let mut lines = vec!["## What the answer is checked for".to_owned()];
    let mut number = 0;
    for chosen in gates {
        let gate = &chosen.gate;
        lines.push(format!("\n**{}** (from: {})", gate.name, from(chosen)));
        let said = [&gate.guidance, &gate.description]
            .into_iter()
            .map(|it| it.trim())
            .find(|it| !it.is_empty())
            .unwrap_or_default();
        let words: Vec<String> = gate.criteria.iter().map(in_words).collect();
        if of_each > 0 && !said.is_empty() && said != words.join("\n") {
            lines.push(cut(said, of_each));
        }
        for words in words {
            number += 1;
            lines.push(format!("{number}. {words}"));
        }
    }
    lines.join("\n")
}

fn from(chosen: &Chosen) -> String {
    let labels: Vec<&str> = std::iter::once(chosen.source)
        .chain(chosen.also.iter().copied())
        .map(Source::label)
        .collect();
    labels.join(", ")
}

/// What was found, and what to do now. `run` and `step` are what the next call names the run and
/// the step by.
pub fn review(
    results: &[GateResult],
    review: &Review,
    run: &str,
    step: u32,
    budget: usize,
) -> String {
    let tail = next(results, review, run, step);
    let title = match &review.decision {
        Decision::Pass => "passed",
        Decision::Advance { .. } => "passed, with warnings",
        Decision::Hold {
            waiting_for_verdict: true,
            ..
        } => "a verdict is needed",
        Decision::Hold { .. } if review.is_uncheckable() => "can't be checked here",
        Decision::Hold { .. } => "not passed",
    };
    let mut lines = vec![format!("## Review: {title}")];
    if matches!(review.decision, Decision::Hold { .. }) {
        let attempts = review.attempts;
        lines.push(format!("Attempt {} of {}", attempts.used, attempts.limit));
    }
    for gate in results {
        let (sign, label) = (gate.outcome.sign(), gate.source.label());
        lines.push(format!("\n{sign} **{}** (from: {label})", gate.name));
        lines.extend(gate.criteria.iter().map(|it| {
            let line = format!("{} {}. {}", it.outcome.sign(), it.number, it.what);
            match it.outcome {
                Outcome::Pass => line,
                Outcome::Fail | Outcome::CannotTell => format!("{line} — {}", it.why),
            }
        }));
    }
    if !review.hints.is_empty() {
        lines.push("\nHints:".to_owned());
        lines.extend(review.hints.iter().map(|hint| format!("- {hint}")));
    }
    // What to do now must not be what is cut off.
    let room = budget.saturating_sub(tail.chars().count());
    let text = format!("{}{tail}", cut(&lines.join("\n"), room));
    cut(&text, budget)
}

fn next(results: &[GateResult], review: &Review, run: &str, step: u32) -> String {
    let to = format!("chain_id=\"{run}\", step={step}");
    match &review.decision {
        Decision::Pass | Decision::Advance { .. } => String::new(),
        Decision::Hold {
            waiting_for_verdict: true,
            ..
        } => format!(
            "\n\nNext: judge the criteria marked `?` and send {to}, \
             gate_verdict=\"GATE_REVIEW: PASS - why\" (or FAIL), or a verdict for each criterion."
        ),
        // Another answer would be looked at no better than this one.
        Decision::Hold { .. } if review.is_uncheckable() => {
            let open = results
                .iter()
                .any(|gate| gate.criteria.iter().any(CriterionResult::is_open));
            let verdict = if open {
                " What is not judged yet takes gate_verdict=\"GATE_REVIEW: PASS - why\" (or FAIL) \
                 in the same way."
            } else {
                ""
            };
            format!(
                "\n\nNothing failed, but some criteria marked `?` can't be checked here. Next: send \
                 {to}, gate_action=\"skip\" (go on without these gates) or \"abort\".{verdict}"
            )
        }
        Decision::Hold { .. } if review.is_stuck() => format!(
            "\n\nThe limit is reached. Next: send {to}, gate_action=\"retry\" (count anew), \
             \"skip\" (go on without these gates) or \"abort\"."
        ),
        Decision::Hold { .. } => format!(
            "\n\nNext: mend the answer and send {to}, user_response=\"<the whole answer>\"; \
             gate_action=\"skip\" goes on without these gates."
        ),
    }
}

/// A text that fits, with a word about it if it had to be cut.
fn cut(text: &str, budget: usize) -> String {
    if text.chars().count() <= budget {
        return text.to_owned();
    }
    let room = budget.saturating_sub(CUT.chars().count());
    if room == 0 {
        return text.chars().take(budget).collect();
    }
    text.chars().take(room).chain(CUT.chars()).collect()
}
