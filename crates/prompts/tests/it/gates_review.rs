//! What follows from what was found.

use deliberate_prompts::{
    gate::{
        Chosen, Context, Decision, JudgedBy, Review, Source, Verdict, apply, check_all, decide,
    },
    model::{Enforcement, Gate, GateKind, Severity},
};
use serde_json::{Value, json};

fn fails() -> Value {
    json!({ "type": "content_check", "min_length": 100 })
}

fn open() -> Value {
    json!({ "type": "llm_self_check", "prompt_template": "Is it kind?" })
}

fn gate(criteria: Value) -> Gate {
    Gate {
        id: "it".to_owned(),
        criteria: serde_json::from_value(criteria).unwrap(),
        ..Gate::default()
    }
}

fn from(gate: Gate, source: Source) -> Chosen {
    Chosen {
        gate,
        source,
        also: Vec::new(),
    }
}

fn review(chosen: &Chosen, used: u32, retries: Option<u32>) -> Review {
    let results = check_all(std::slice::from_ref(chosen), "short", &Context::default());
    decide(&results, used, retries)
}

fn decision(gate: Gate, source: Source) -> &'static str {
    match review(&from(gate, source), 1, None).decision {
        Decision::Pass => "pass",
        Decision::Advance { .. } => "advance",
        Decision::Hold {
            waiting_for_verdict: true,
            ..
        } => "wait",
        Decision::Hold { .. } => "hold",
    }
}

#[test]
fn severity_decides_what_a_failure_does() {
    for (severity, expected) in [
        (Severity::Critical, "hold"),
        (Severity::High, "advance"),
        (Severity::Medium, "advance"),
        (Severity::Low, "pass"),
    ] {
        let gate = Gate {
            severity,
            ..gate(json!([fails()]))
        };
        assert_eq!(decision(gate, Source::Prompt), expected);
    }
}

#[test]
fn what_a_gate_says_of_itself_goes_first_then_what_the_user_asked_for() {
    let said = |enforcement| Gate {
        enforcement,
        severity: Severity::Critical,
        ..gate(json!([fails()]))
    };
    let advisory = said(Some(Enforcement::Advisory));
    assert_eq!(decision(advisory.clone(), Source::Prompt), "advance");
    assert_eq!(decision(advisory, Source::Inline), "advance");
    let informational = said(Some(Enforcement::Informational));
    assert_eq!(decision(informational, Source::Prompt), "pass");
    for (source, expected) in [
        (Source::Inline, "hold"),
        (Source::Parameter, "hold"),
        (Source::Client, "hold"),
        (Source::Registry, "advance"),
    ] {
        assert_eq!(decision(gate(json!([fails()])), source), expected);
    }
    let also = Chosen {
        also: vec![Source::Parameter],
        ..from(gate(json!([fails()])), Source::Prompt)
    };
    assert!(matches!(
        review(&also, 1, None).decision,
        Decision::Hold { .. }
    ));
    let guides = Gate {
        kind: GateKind::Guidance,
        severity: Severity::Critical,
        ..gate(json!([fails()]))
    };
    assert_eq!(decision(guides, Source::Prompt), "pass");
}

#[test]
fn a_blocking_judgement_waits_for_its_verdict_and_others_do_not() {
    assert_eq!(decision(gate(json!([open()])), Source::Inline), "wait");
    assert_eq!(decision(gate(json!([open()])), Source::Registry), "pass");
    assert_eq!(
        decision(gate(json!([open(), fails()])), Source::Inline),
        "hold"
    );
}

#[test]
fn what_nobody_can_settle_holds_only_where_somebody_insists() {
    let broken = json!([{ "type": "content_check", "required_patterns": ["("] }]);
    let critical = Gate {
        severity: Severity::Critical,
        ..gate(broken.clone())
    };
    assert_eq!(decision(critical.clone(), Source::Prompt), "advance");
    let strict = Gate {
        evaluation: serde_json::from_value(json!({ "strict": true })).unwrap(),
        ..critical
    };
    assert_eq!(decision(strict, Source::Prompt), "hold");
    assert_eq!(decision(gate(broken), Source::Inline), "hold");
}

#[test]
fn a_methodology_that_only_warns_never_holds() {
    let warned = json!([{ "type": "methodology_compliance", "severity": "warn",
        "quality_indicators": { "why": { "keywords": ["because"] } } }]);
    assert_eq!(decision(gate(warned), Source::Inline), "advance");
}

#[test]
fn row_21_attempts_are_counted_by_answers_and_not_by_verdicts() {
    let chosen = from(gate(json!([open()])), Source::Inline);
    let results = check_all(
        std::slice::from_ref(&chosen),
        "first answer",
        &Context::default(),
    );
    let first = decide(&results, 1, None);
    assert_eq!((first.attempts.used, first.attempts.limit), (1, 2));
    let no = Verdict::read(&json!("FAIL - thin")).unwrap();
    let failed = apply(&no, results, JudgedBy::Client).unwrap().results;
    let judged = decide(&failed, 1, None);
    assert_eq!(judged.attempts.used, 1);
    assert!(!judged.is_stuck());
    let Decision::Hold { failed: held, .. } = &judged.decision else {
        panic!("it must hold");
    };
    assert_eq!(
        (held[0].gate.as_str(), held[0].why.as_str()),
        ("it", "thin")
    );
    assert!(decide(&failed, 2, None).is_stuck());
}

#[test]
fn the_limit_is_the_steps_else_the_gates() {
    let mut patient = gate(json!([fails()]));
    patient.retry.max_attempts = 4;
    let chosen = from(patient, Source::Inline);
    assert_eq!(review(&chosen, 1, None).attempts.limit, 4);
    assert_eq!(review(&chosen, 1, Some(3)).attempts.limit, 3);
    assert_eq!(review(&chosen, 1, Some(0)).attempts.limit, 1);
    assert!(review(&chosen, 3, Some(3)).is_stuck());
    assert!(!review(&chosen, 2, Some(3)).is_stuck());
}

#[test]
fn up_to_three_hints_come_from_what_failed() {
    let many = json!([fails(), fails(), fails(), fails(), open()]);
    let hints = review(&from(gate(many.clone()), Source::Inline), 1, None).hints;
    assert_eq!(hints.len(), 3);
    assert!(hints[0].contains("5 characters, at least 100 wanted"));
    let mut silent = gate(many);
    silent.retry.improvement_hints = false;
    let none: [&str; 0] = [];
    assert_eq!(review(&from(silent, Source::Inline), 1, None).hints, none);
}
