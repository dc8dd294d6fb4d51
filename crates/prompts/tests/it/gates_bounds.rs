//! Limits of one review, and of the gates that one call may request.

use std::{collections::BTreeMap, sync::Arc};

use deliberate_prompts::{
    gate::{
        CheckContext, CheckOutcome, ExternalCheckResult, GateLimitError, GateResult, GateSource,
        GateSources, InlineGateSpec, SelectedGate, check_all, check_all_async, is_active,
        select_gates,
    },
    library::PromptLibrary,
    model::{Activation, Gate, Methodology},
};
use serde_json::{Value, json};

use super::gates_selection::{ids, judged_descriptions, parse_gate_parameters, sample_library};

fn gate_with(id: &str, criteria: Value) -> SelectedGate {
    SelectedGate {
        gate: Gate {
            id: id.to_owned(),
            criteria: serde_json::from_value(criteria).unwrap(),
            ..Gate::default()
        },
        source: GateSource::Inline,
        also: Vec::new(),
    }
}

/// A gate that forbids `count` words, none of which occurs.
fn gate_forbidding(id: &str, count: usize) -> SelectedGate {
    let patterns: Vec<String> = (0..count).map(|at| format!("zz{id}{at}")).collect();
    gate_with(
        id,
        json!([{ "type": "content_check", "forbidden_patterns": patterns }]),
    )
}

fn outcomes(results: &[GateResult]) -> Vec<CheckOutcome> {
    results.iter().map(|it| it.outcome).collect()
}

#[test]
fn one_review_looks_for_no_more_than_five_hundred_patterns() {
    let gates: Vec<SelectedGate> = (0..7)
        .map(|at| gate_forbidding(&format!("g{at}-"), 90))
        .collect();
    let results = check_all(&gates, "short", &CheckContext::default());
    let (looked, left) = results.split_at(5);
    assert_eq!(outcomes(looked), [CheckOutcome::Pass; 5]);
    assert_eq!(outcomes(left), [CheckOutcome::CannotTell; 2]);
    let why = &left[1].criteria[0].why;
    assert!(why.contains("too much to check at once"), "{why}");
}

#[test]
fn one_review_looks_through_no_more_than_so_much_text() {
    let answer = "word ".repeat(200_000);
    let gates = [gate_forbidding("a", 60), gate_forbidding("b", 60)];
    let results = check_all(&gates, &answer, &CheckContext::default());
    assert_eq!(
        outcomes(&results),
        [CheckOutcome::Pass, CheckOutcome::CannotTell]
    );
    let compliance = json!({ "type": "methodology_compliance",
        "quality_indicators": { "why": { "keywords": ["because"] } } });
    let citation = json!({ "type": "citation_check", "min_citations": 0 });
    let schema = json!({ "type": "schema_check", "schema": {} });
    let rest = gate_with("rest", json!([compliance, citation, schema]));
    let results = check_all(
        &[gate_forbidding("a", 68), rest],
        &answer,
        &CheckContext::default(),
    );
    assert!(
        results[1]
            .criteria
            .iter()
            .all(|it| it.why.contains("too much to check at once")),
        "{results:?}"
    );
}

#[tokio::test]
async fn looking_apart_finds_the_same() {
    let compliance = json!({ "type": "methodology_compliance" });
    let command = json!({ "type": "shell_verify", "shell_command": "true" });
    let methodology: Methodology = Methodology {
        quality_indicators: json!({ "why": { "keywords": ["because"] } }),
        ..Methodology::default()
    };
    let ran = BTreeMap::from([(
        ("b".to_owned(), 2),
        ExternalCheckResult {
            outcome: CheckOutcome::Fail,
            reason: "no".to_owned(),
        },
    )]);
    let library = PromptLibrary::default();
    for (patterns, answer) in [
        (2, "because".to_owned()),
        (40, "because".to_owned()),
        (2, "because ".repeat(4_000)),
    ] {
        let gates = vec![
            gate_forbidding("a", patterns),
            gate_with("b", json!([compliance, command])),
        ];
        let context = CheckContext {
            methodology: Some(&methodology),
            library: Some(&library),
            external_results: Some(&ran),
        };
        let wanted = check_all(&gates, &answer, &context);
        assert_eq!(outcomes(&wanted), [CheckOutcome::Pass, CheckOutcome::Fail]);
        let apart = check_all_async(
            gates,
            answer,
            Some(Arc::new(methodology.clone())),
            Arc::new(library.clone()),
            ran.clone(),
        );
        assert_eq!(apart.await, wanted);
    }
}

#[test]
fn one_call_asks_for_no_more_than_two_hundred_criteria() {
    let library = sample_library();
    let of = |gates: usize, step: u32| {
        let words: Vec<String> = (0..50).map(|at| format!("Says thing {at}")).collect();
        let gates: Vec<Value> = (0..gates)
            .map(|at| json!({ "id": format!("g{at}"), "criteria": words, "target_step_number": step }))
            .collect();
        select_gates(&GateSources {
            parameter: &parse_gate_parameters(json!(gates)),
            ..GateSources::empty(&library)
        })
    };
    assert_eq!(of(4, 1).unwrap().gates.len(), 4);
    assert_eq!(of(5, 1), Err(GateLimitError::Criteria));
    // The limit holds for every step.
    assert!(of(4, 2).unwrap().gates.is_empty());
    assert_eq!(of(5, 2), Err(GateLimitError::Criteria));
    assert!(
        GateLimitError::Criteria
            .to_string()
            .contains("200 criteria in all")
    );
}

#[test]
fn a_slip_of_a_gates_name_is_no_criterion() {
    let library = sample_library();
    let words = ["code-qualitty", "funny", "code-quality"];
    let collected = select_gates(&GateSources {
        inline: &words.map(|word| InlineGateSpec::Word(word.to_owned())),
        ..GateSources::empty(&library)
    })
    .unwrap();
    assert_eq!(ids(&collected.gates), ["code-quality", "inline-criteria"]);
    assert_eq!(judged_descriptions(&collected.gates[1]), ["funny"]);
    let [unknown] = collected.unknown.as_slice() else {
        panic!("{:?}", collected.unknown)
    };
    assert!(unknown.is_caller_error());
    assert_eq!(unknown.nearest[0], "code-quality");
    let told = unknown.to_string();
    assert!(told.contains("`code-qualitty` (from: inline); did you mean `code-quality`"));
    assert!(told.contains("put it in quotes"), "{told}");
}

#[test]
fn conditions_hold_for_gates_and_styles_alike() {
    let when = Activation {
        framework_context: vec!["five_whys".to_owned()],
        ..Activation::default()
    };
    let whys = Methodology {
        id: "Five-Whys".to_owned(),
        ..Methodology::default()
    };
    assert!(is_active(&when, true, None, Some(&whys)));
    assert!(!is_active(&when, true, None, None));
    assert!(is_active(&when, false, None, None));
    assert!(!is_active(
        &when,
        false,
        None,
        Some(&Methodology::default())
    ));
    let asked = Activation {
        explicit_request: true,
        ..when
    };
    assert!(!is_active(&asked, false, None, Some(&whys)));
}
