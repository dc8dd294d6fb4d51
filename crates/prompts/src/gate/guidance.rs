//! What is said about gates: before an answer, what it should be like; after it, what was found.
//! Each text fits a number of characters.

use super::{
    CheckOutcome, CriterionResult, GateDecision, GateResult, GateReview, GateSource, SelectedGate,
    criteria::description::describe_criterion,
};

/// What ends a text that had to be cut.
const TRUNCATION_MARKER: &str = "\n… (shortened)";

/// What the model is told before it answers; nothing if there are no gates.
pub fn render_guidance(gates: &[SelectedGate], budget: usize) -> String {
    if gates.is_empty() {
        return String::new();
    }
    // Criteria are what is checked, so the prose goes first when room is short.
    let whole = render_gates(gates, usize::MAX);
    if whole.chars().count() <= budget {
        return whole;
    }
    let bare = render_gates(gates, 0);
    let left = budget.saturating_sub(bare.chars().count());
    let each = left / gates.len();
    // Below that, the beginning of a guidance says nothing.
    if each >= 60 {
        return truncate(
            &render_gates(
                gates,
                each.saturating_sub(TRUNCATION_MARKER.chars().count()),
            ),
            budget,
        );
    }
    truncate(&bare, budget)
}

/// The gates with so many characters of each one's guidance.
fn render_gates(gates: &[SelectedGate], of_each: usize) -> String {
    let mut lines = vec!["## What the answer is checked for".to_owned()];
    let mut number = 0;
    for chosen in gates {
        let gate = &chosen.gate;
        lines.push(format!(
            "\n**{}** (from: {})",
            gate.name,
            source_labels(chosen)
        ));
        let said = [&gate.guidance, &gate.description]
            .into_iter()
            .map(|it| it.trim())
            .find(|it| !it.is_empty())
            .unwrap_or_default();
        let words: Vec<String> = gate.criteria.iter().map(describe_criterion).collect();
        if of_each > 0 && !said.is_empty() && said != words.join("\n") {
            lines.push(truncate(said, of_each));
        }
        for words in words {
            number += 1;
            lines.push(format!("{number}. {words}"));
        }
    }
    lines.join("\n")
}

fn source_labels(chosen: &SelectedGate) -> String {
    let labels: Vec<&str> = std::iter::once(chosen.source)
        .chain(chosen.also.iter().copied())
        .map(GateSource::label)
        .collect();
    labels.join(", ")
}

/// What was found, and what to do now. `run` and `step` are what the next call names the run and
/// the step by.
pub fn render_review(
    results: &[GateResult],
    review: &GateReview,
    run: &str,
    step: u32,
    budget: usize,
) -> String {
    let tail = render_next_action(results, review, run, step);
    let title = match &review.decision {
        GateDecision::Pass => "passed",
        GateDecision::Advance { .. } => "passed, with warnings",
        GateDecision::Hold {
            waiting_for_verdict: true,
            ..
        } => "a verdict is needed",
        GateDecision::Hold { .. } if review.is_uncheckable() => "can't be checked here",
        GateDecision::Hold { .. } => "not passed",
    };
    let mut lines = vec![format!("## Review: {title}")];
    if matches!(review.decision, GateDecision::Hold { .. }) {
        let attempts = review.attempts;
        lines.push(format!("Attempt {} of {}", attempts.used, attempts.limit));
    }
    for gate in results {
        let (sign, label) = (gate.outcome.symbol(), gate.source.label());
        lines.push(format!("\n{sign} **{}** (from: {label})", gate.name));
        lines.extend(gate.criteria.iter().map(|it| {
            let line = format!("{} {}. {}", it.outcome.symbol(), it.number, it.what);
            match it.outcome {
                CheckOutcome::Pass => line,
                CheckOutcome::Fail | CheckOutcome::CannotTell => format!("{line} — {}", it.why),
            }
        }));
    }
    if !review.hints.is_empty() {
        lines.push("\nHints:".to_owned());
        lines.extend(review.hints.iter().map(|hint| format!("- {hint}")));
    }
    // What to do now must not be what is cut off.
    let room = budget.saturating_sub(tail.chars().count());
    let text = format!("{}{tail}", truncate(&lines.join("\n"), room));
    truncate(&text, budget)
}

fn render_next_action(results: &[GateResult], review: &GateReview, run: &str, step: u32) -> String {
    let to = format!("chain_id=\"{run}\", step={step}");
    match &review.decision {
        GateDecision::Pass | GateDecision::Advance { .. } => String::new(),
        GateDecision::Hold {
            waiting_for_verdict: true,
            ..
        } => format!(
            "\n\nNext: judge the criteria marked `?` and send {to}, \
             gate_verdict=\"GATE_REVIEW: PASS - why\" (or FAIL), or a verdict for each criterion."
        ),
        // Another answer would be looked at no better than this one.
        GateDecision::Hold { .. } if review.is_uncheckable() => {
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
        GateDecision::Hold { .. } if review.is_stuck() => format!(
            "\n\nThe limit is reached. Next: send {to}, gate_action=\"retry\" (count anew), \
             \"skip\" (go on without these gates) or \"abort\"."
        ),
        GateDecision::Hold { .. } => format!(
            "\n\nNext: mend the answer and send {to}, user_response=\"<the whole answer>\"; \
             gate_action=\"skip\" goes on without these gates."
        ),
    }
}

/// A text that fits, with a word about it if it had to be cut.
fn truncate(text: &str, budget: usize) -> String {
    if text.chars().count() <= budget {
        return text.to_owned();
    }
    let room = budget.saturating_sub(TRUNCATION_MARKER.chars().count());
    if room == 0 {
        return text.chars().take(budget).collect();
    }
    text.chars()
        .take(room)
        .chain(TRUNCATION_MARKER.chars())
        .collect()
}
