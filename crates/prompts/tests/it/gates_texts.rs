//! Texts about gates.

use deliberate_prompts::{
    gate::{
        CheckContext, GateSource, GateVerdict, JudgedBy, SelectedGate, apply_verdict, check_all,
        decide_review, render_guidance, render_review,
    },
    model::Gate,
};
use proptest::prelude::*;
use serde_json::json;

fn selected_gate(id: &str, words: &str) -> SelectedGate {
    SelectedGate {
        gate: Gate {
            id: id.to_owned(),
            name: id.to_owned(),
            guidance: words.to_owned(),
            criteria: serde_json::from_value(json!([
                { "type": "content_check", "min_length": 100 },
                { "type": "llm_self_check", "prompt_template": "Is it kind?" },
                { "type": "content_check", "max_length": 1000 },
            ]))
            .unwrap(),
            ..Gate::default()
        },
        source: GateSource::Inline,
        also: vec![GateSource::Registry],
    }
}

#[test]
fn guidance_names_each_gate_its_criteria_and_where_it_came_from() {
    let gates = [selected_gate("one", "Be good."), selected_gate("two", "")];
    let text = render_guidance(&gates, 4_000);
    insta::assert_snapshot!(text, @r"
    ## Criteria for the answer

    **one** (from: inline, always on)
    Be good.
    1. at least 100 characters
    2. Is it kind?
    3. at most 1000 characters

    **two** (from: inline, always on)
    4. at least 100 characters
    5. Is it kind?
    6. at most 1000 characters
    ");
}

#[test]
fn when_room_is_short_the_prose_goes_before_the_criteria() {
    let gates = [selected_gate("one", &"Long prose. ".repeat(100))];
    let text = render_guidance(&gates, 400);
    assert!(text.chars().count() <= 400);
    assert!(text.contains("Long prose.") && text.contains("(shortened)"));
    assert!(text.contains("3. at most 1000 characters"));
    let text = render_guidance(&gates, 180);
    assert!(!text.contains("Long prose.") && text.contains("3. at most"));
}

#[test]
fn a_review_shows_what_was_found_and_what_to_send() {
    let gates = [selected_gate("one", "")];
    let results = check_all(&gates, "short", &CheckContext::default());
    let text = render_review(
        &results,
        &decide_review(&results, 1, None),
        "chain-plan#4",
        2,
        4_000,
    );
    insta::assert_snapshot!(text, @r#"
    ## Review: not passed
    Attempt 1 of 2

    ✗ **one** (from: inline)
    ✗ 1. at least 100 characters — 5 characters, at least 100 needed
    ? 2. Is it kind? — not judged yet
    ✓ 3. at most 1000 characters

    Hints:
    - at least 100 characters: 5 characters, at least 100 needed

    Next: revise the answer and send chain_id="chain-plan#4", step=2, user_response="<the whole answer>"; gate_action="skip" continues without these gates.
    "#);
    let stuck = render_review(
        &results,
        &decide_review(&results, 2, None),
        "chain-plan#4",
        2,
        4_000,
    );
    assert!(stuck.contains("Attempt 2 of 2"));
    assert!(stuck.contains("gate_action=\"retry\"") && stuck.contains("\"abort\""));

    let results = check_all(&gates, &"x".repeat(100), &CheckContext::default());
    let waiting = render_review(
        &results,
        &decide_review(&results, 1, None),
        "chain-plan#4",
        2,
        4_000,
    );
    assert!(waiting.contains("a verdict is needed") && waiting.contains("gate_verdict="));
    let yes = GateVerdict::parse(&json!("PASS - kind")).unwrap();
    let results = apply_verdict(&yes, results, JudgedBy::Client)
        .unwrap()
        .results;
    let passed = render_review(
        &results,
        &decide_review(&results, 1, None),
        "chain-plan#4",
        2,
        4_000,
    );
    assert!(passed.starts_with("## Review: passed\n") && !passed.contains("Next:"));
}

#[test]
fn what_to_do_next_is_the_last_to_be_cut() {
    let gates: Vec<SelectedGate> = (0..50)
        .map(|at| selected_gate(&format!("g{at}"), ""))
        .collect();
    let results = check_all(&gates, "short", &CheckContext::default());
    let text = render_review(&results, &decide_review(&results, 1, None), "run", 2, 600);
    assert!(text.chars().count() <= 600);
    assert!(text.contains("(shortened)") && text.contains("Next: revise the answer"));
}

proptest! {
    #[test]
    fn texts_fit_their_budget(budget in 0_usize..2_000, count in 0_usize..6, prose in ".{0,300}") {
        let gates: Vec<SelectedGate> = (0..count).map(|at| selected_gate(&format!("g{at}"), &prose)).collect();
        prop_assert!(render_guidance(&gates, budget).chars().count() <= budget);
        let results = check_all(&gates, &prose, &CheckContext::default());
        let text = render_review(&results, &decide_review(&results, 1, None), "run", 2, budget);
        prop_assert!(text.chars().count() <= budget);
    }
}

#[test]
fn what_cannot_be_checked_is_not_to_be_mended() {
    let mut gate = selected_gate("one", "");
    gate.gate.criteria = serde_json::from_value(json!([
        { "type": "content_check", "required_patterns": ["("] },
    ]))
    .unwrap();
    let results = check_all(&[gate.clone()], "short", &CheckContext::default());
    for used in [1, 9] {
        let found = decide_review(&results, used, None);
        assert!(found.is_uncheckable());
        let text = render_review(&results, &found, "chain-plan#4", 3, 4_000);
        assert!(text.starts_with("## Review: cannot be checked here"));
        assert!(
            !text.contains("mend") && !text.contains("gate_verdict") && !text.contains("retry")
        );
        let next = "Next: send chain_id=\"chain-plan#4\", step=3, gate_action=\"skip\"";
        assert!(text.contains(next) && text.contains("\"abort\""), "{text}");
    }
    gate.gate
        .criteria
        .extend(selected_gate("two", "").gate.criteria);
    let long = "x".repeat(100);
    let results = check_all(&[gate.clone()], &long, &CheckContext::default());
    let text = render_review(&results, &decide_review(&results, 1, None), "run", 3, 4_000);
    assert!(text.contains("cannot be checked here") && text.contains("gate_verdict="));
    let results = check_all(&[gate], "short", &CheckContext::default());
    let text = render_review(&results, &decide_review(&results, 1, None), "run", 3, 4_000);
    assert!(text.contains("Next: revise the answer and send chain_id=\"run\", step=3,"));
}

#[test]
fn every_next_line_names_the_run_and_the_step() {
    let gates = [selected_gate("one", "")];
    for (answer, used) in [("short", 1), ("short", 9), (&*"x".repeat(100), 1)] {
        let results = check_all(&gates, answer, &CheckContext::default());
        let text = render_review(
            &results,
            &decide_review(&results, used, None),
            "run",
            7,
            4_000,
        );
        let next = text.split("Next:").nth(1).unwrap();
        assert!(next.contains("chain_id=\"run\", step=7, "), "{text}");
    }
}
