//! Decisions that follow from gate results.

use deliberate_prompts::{
    gate::{
        CheckContext, GateDecision, GateReview, GateSource, GateVerdict, JudgedBy, SelectedGate,
        apply_verdict, check_all, decide_review,
    },
    model::{Enforcement, Gate, GateKind, GateSeverity},
};
use serde_json::{Value, json};

fn failing_criterion() -> Value {
    json!({ "type": "content_check", "min_length": 100 })
}

fn judged_criterion() -> Value {
    json!({ "type": "llm_self_check", "prompt_template": "Is it kind?" })
}

fn gate(criteria: Value) -> Gate {
    Gate {
        id: "it".to_owned(),
        criteria: serde_json::from_value(criteria).unwrap(),
        ..Gate::default()
    }
}

fn selected_from(gate: Gate, source: GateSource) -> SelectedGate {
    SelectedGate {
        gate,
        source,
        also: Vec::new(),
    }
}

fn review(gate: &SelectedGate, used: u32, retries: Option<u32>) -> GateReview {
    let results = check_all(
        std::slice::from_ref(gate),
        "short",
        &CheckContext::default(),
    );
    decide_review(&results, used, retries)
}

fn decision(gate: Gate, source: GateSource) -> &'static str {
    match review(&selected_from(gate, source), 1, None).decision {
        GateDecision::Pass => "pass",
        GateDecision::Advance { .. } => "advance",
        GateDecision::Hold {
            waiting_for_verdict: true,
            ..
        } => "wait",
        GateDecision::Hold { .. } => "hold",
    }
}

#[test]
fn severity_decides_what_a_failure_does() {
    for (severity, expected) in [
        (GateSeverity::Critical, "hold"),
        (GateSeverity::High, "advance"),
        (GateSeverity::Medium, "advance"),
        (GateSeverity::Low, "pass"),
    ] {
        let gate = Gate {
            severity,
            ..gate(json!([failing_criterion()]))
        };
        assert_eq!(decision(gate, GateSource::Prompt), expected);
    }
}

#[test]
fn what_a_gate_says_of_itself_goes_first_then_what_the_user_asked_for() {
    let said = |enforcement| Gate {
        enforcement,
        severity: GateSeverity::Critical,
        ..gate(json!([failing_criterion()]))
    };
    let advisory = said(Some(Enforcement::Advisory));
    assert_eq!(decision(advisory.clone(), GateSource::Prompt), "advance");
    assert_eq!(decision(advisory, GateSource::Inline), "advance");
    let informational = said(Some(Enforcement::Informational));
    assert_eq!(decision(informational, GateSource::Prompt), "pass");
    for (source, expected) in [
        (GateSource::Inline, "hold"),
        (GateSource::Parameter, "hold"),
        (GateSource::Client, "hold"),
        (GateSource::Registry, "advance"),
    ] {
        assert_eq!(
            decision(gate(json!([failing_criterion()])), source),
            expected
        );
    }
    let also = SelectedGate {
        also: vec![GateSource::Parameter],
        ..selected_from(gate(json!([failing_criterion()])), GateSource::Prompt)
    };
    assert!(matches!(
        review(&also, 1, None).decision,
        GateDecision::Hold { .. }
    ));
    let guides = Gate {
        kind: GateKind::Guidance,
        severity: GateSeverity::Critical,
        ..gate(json!([failing_criterion()]))
    };
    assert_eq!(decision(guides, GateSource::Prompt), "pass");
}

#[test]
fn a_blocking_judgement_waits_for_its_verdict_and_others_do_not() {
    assert_eq!(
        decision(gate(json!([judged_criterion()])), GateSource::Inline),
        "wait"
    );
    assert_eq!(
        decision(gate(json!([judged_criterion()])), GateSource::Registry),
        "pass"
    );
    assert_eq!(
        decision(
            gate(json!([judged_criterion(), failing_criterion()])),
            GateSource::Inline
        ),
        "hold"
    );
}

#[test]
fn what_nobody_can_settle_holds_only_where_somebody_insists() {
    let broken = json!([{ "type": "content_check", "required_patterns": ["("] }]);
    let critical = Gate {
        severity: GateSeverity::Critical,
        ..gate(broken.clone())
    };
    assert_eq!(decision(critical.clone(), GateSource::Prompt), "advance");
    let strict = Gate {
        evaluation: serde_json::from_value(json!({ "strict": true })).unwrap(),
        ..critical
    };
    assert_eq!(decision(strict, GateSource::Prompt), "hold");
    assert_eq!(decision(gate(broken), GateSource::Inline), "hold");
}

#[test]
fn a_methodology_that_only_warns_never_holds() {
    let warned = json!([{ "type": "methodology_compliance", "severity": "warn",
        "quality_indicators": { "why": { "keywords": ["because"] } } }]);
    assert_eq!(decision(gate(warned), GateSource::Inline), "advance");
}

#[test]
fn row_21_attempts_are_counted_by_answers_and_not_by_verdicts() {
    let chosen = selected_from(gate(json!([judged_criterion()])), GateSource::Inline);
    let results = check_all(
        std::slice::from_ref(&chosen),
        "first answer",
        &CheckContext::default(),
    );
    let first = decide_review(&results, 1, None);
    assert_eq!((first.attempts.used, first.attempts.limit), (1, 2));
    let no = GateVerdict::parse(&json!("FAIL - thin")).unwrap();
    let failed = apply_verdict(&no, results, JudgedBy::Client)
        .unwrap()
        .results;
    let judged = decide_review(&failed, 1, None);
    assert_eq!(judged.attempts.used, 1);
    assert!(!judged.is_stuck());
    let GateDecision::Hold { failed: held, .. } = &judged.decision else {
        panic!("it must hold");
    };
    assert_eq!(
        (held[0].gate.as_str(), held[0].why.as_str()),
        ("it", "thin")
    );
    assert!(decide_review(&failed, 2, None).is_stuck());
}

#[test]
fn the_limit_is_the_steps_else_the_gates() {
    let mut patient = gate(json!([failing_criterion()]));
    patient.retry.max_attempts = 4;
    let chosen = selected_from(patient, GateSource::Inline);
    assert_eq!(review(&chosen, 1, None).attempts.limit, 4);
    assert_eq!(review(&chosen, 1, Some(3)).attempts.limit, 3);
    assert_eq!(review(&chosen, 1, Some(0)).attempts.limit, 1);
    assert!(review(&chosen, 3, Some(3)).is_stuck());
    assert!(!review(&chosen, 2, Some(3)).is_stuck());
}

#[test]
fn up_to_three_hints_come_from_what_failed() {
    let many = json!([
        failing_criterion(),
        failing_criterion(),
        failing_criterion(),
        failing_criterion(),
        judged_criterion()
    ]);
    let hints = review(
        &selected_from(gate(many.clone()), GateSource::Inline),
        1,
        None,
    )
    .hints;
    assert_eq!(hints.len(), 3);
    assert!(hints[0].contains("5 characters, at least 100 needed"));
    let mut silent = gate(many);
    silent.retry.improvement_hints = false;
    let none: [&str; 0] = [];
    assert_eq!(
        review(&selected_from(silent, GateSource::Inline), 1, None).hints,
        none
    );
}
