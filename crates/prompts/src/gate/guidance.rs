//! Renders gates as text: the guidance before an answer and the review after it. Each text fits
//! into a character budget.

use deliberate_core::truncate_with_mark;

use super::{
    CheckOutcome, CriterionResult, GateDecision, GateResult, GateReview, GateSource, SelectedGate,
    criteria::description::describe_criterion,
};

/// The end of a truncated text.
const TRUNCATION_MARKER: &str = "\n… (shortened)";

/// Renders the guidance that the model reads before it answers; empty if there are no gates.
pub fn render_guidance(gates: &[SelectedGate], budget: usize) -> String {
    if gates.is_empty() {
        return String::new();
    }
    // The criteria are what is checked, so the prose is shortened first.
    let whole = render_gates(gates, usize::MAX);
    if whole.chars().count() <= budget {
        return whole;
    }
    let bare = render_gates(gates, 0);
    let left = budget.saturating_sub(bare.chars().count());
    let each = left / gates.len();
    // With fewer characters, the beginning of a guidance is useless.
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

/// Renders the gates with at most `of_each` characters of guidance for each.
fn render_gates(gates: &[SelectedGate], of_each: usize) -> String {
    let mut lines = vec!["## Criteria for the answer".to_owned()];
    let mut number = 0;
    for selected_gate in gates {
        let gate = &selected_gate.gate;
        lines.push(format!(
            "\n**{}** (from: {})",
            gate.name,
            source_labels(selected_gate)
        ));
        let text = [&gate.guidance, &gate.description]
            .into_iter()
            .map(|it| it.trim())
            .find(|it| !it.is_empty())
            .unwrap_or_default();
        let words: Vec<String> = gate.criteria.iter().map(describe_criterion).collect();
        if of_each > 0 && !text.is_empty() && text != words.join("\n") {
            lines.push(truncate(text, of_each));
        }
        for words in words {
            number += 1;
            lines.push(format!("{number}. {words}"));
        }
    }
    lines.join("\n")
}

fn source_labels(gate: &SelectedGate) -> String {
    let labels: Vec<&str> = std::iter::once(gate.source)
        .chain(gate.also.iter().copied())
        .map(GateSource::label)
        .collect();
    labels.join(", ")
}

/// Renders the results of a review and the next action. The next call identifies the run and the
/// step by `run` and `step`.
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
        GateDecision::Hold { .. } if review.is_uncheckable() => "cannot be checked here",
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
    // The next action must not be cut off.
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
            "\n\nNext: judge the criteria marked `?` and send {to}, gate_verdict=\"GATE_REVIEW: \
             PASS - why\" (or FAIL), or a verdict for each criterion."
        ),
        // Another answer could not be checked either.
        GateDecision::Hold { .. } if review.is_uncheckable() => {
            let open = results
                .iter()
                .any(|gate| gate.criteria.iter().any(CriterionResult::is_open));
            let verdict = if open {
                " To judge the open criteria, send gate_verdict=\"GATE_REVIEW: PASS - why\" (or \
                 FAIL) in the same way."
            } else {
                ""
            };
            format!(
                "\n\nNothing failed, but some criteria marked `?` cannot be checked here. Next: \
                 send {to}, gate_action=\"skip\" (continue without these gates) or \
                 \"abort\".{verdict}"
            )
        }
        GateDecision::Hold { .. } if review.is_stuck() => format!(
            "\n\nThe attempt limit is reached. Next: send {to}, gate_action=\"retry\" (reset the \
             count), \"skip\" (continue without these gates) or \"abort\"."
        ),
        GateDecision::Hold { .. } => format!(
            "\n\nNext: revise the answer and send {to}, user_response=\"<the whole answer>\"; \
             gate_action=\"skip\" continues without these gates."
        ),
    }
}

/// Truncates a text to the budget and marks that it was shortened.
fn truncate(text: &str, budget: usize) -> String {
    truncate_with_mark(text, budget, TRUNCATION_MARKER)
}
