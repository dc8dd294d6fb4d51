//! Inline gates.

use deliberate_prompts::{
    gate::{GateParameter, GateSources, InlineGateSpec, select_gates},
    model::{CriterionKind, GateConfiguration, InlineGate, ShellCheck, ShellCheckPreset},
};
use serde_json::{Value, json};

use super::gates_selection::{ids, judged_descriptions, parse_gate_parameters, sample_library};

#[test]
fn a_gate_can_be_for_some_steps_only() {
    let library = sample_library();
    let parameter = parse_gate_parameters(json!([
        { "id": "second", "description": "x", "target_step_number": 2 },
        { "id": "odd", "description": "x", "apply_to_steps": [1, 3] },
        { "id": "untargeted", "description": "x" },
        "short-answer"
    ]));
    let at = |step, parameter_at| {
        let collected = select_gates(&GateSources {
            parameter: &parameter,
            parameter_step: parameter_at,
            step,
            ..GateSources::empty(&library)
        });
        ids(&collected.unwrap().gates).join(" ")
    };
    assert_eq!(at(1, Some(1)), "odd untargeted short-answer");
    assert_eq!(at(2, Some(1)), "second");
    assert_eq!(at(3, Some(1)), "odd");
    assert_eq!(at(2, None), "second untargeted short-answer");

    let prompt = GateConfiguration {
        inline_gate_definitions: vec![InlineGate {
            id: Some("own".to_owned()),
            description: Some("x".to_owned()),
            target_step_number: Some(2),
            ..InlineGate::default()
        }],
        ..GateConfiguration::default()
    };
    let own = |step| {
        let collected = select_gates(&GateSources {
            prompt: Some(&prompt),
            step,
            ..GateSources::empty(&library)
        });
        collected.unwrap().gates.len()
    };
    assert_eq!((own(1), own(2)), (0, 1));
}

#[test]
fn a_gate_defined_on_the_spot_falls_back_from_guidance_to_criteria_to_description() {
    let library = sample_library();
    let parameter = parse_gate_parameters(json!([
        { "name": "All of it", "guidance": "g", "criteria": ["a b", "c"], "description": "d" },
        { "name": "Criteria", "criteria": ["a b", "c"], "description": "d" },
        { "name": "Words", "description": "d" },
        { "pass_criteria": ["plain words", { "type": "content_check", "max_length": 5 }] },
    ]));
    let collected = select_gates(&GateSources {
        parameter: &parameter,
        ..GateSources::empty(&library)
    })
    .unwrap();
    assert_eq!(
        ids(&collected.gates),
        ["all-of-it", "criteria", "words", "gate-4"]
    );
    let said: Vec<&str> = collected
        .gates
        .iter()
        .map(|it| it.gate.guidance.as_str())
        .collect();
    assert_eq!(said, ["g", "a b\nc", "d", ""]);
    assert_eq!(judged_descriptions(&collected.gates[0]), ["a b", "c"]);
    assert_eq!(judged_descriptions(&collected.gates[2]), ["d"]);
    let last = &collected.gates[3].gate.criteria;
    assert!(matches!(
        &last[0].kind,
        CriterionKind::LlmSelfCheck { prompt_template: Some(words), .. } if words == "plain words"
    ));
    assert!(matches!(
        last[1].kind,
        CriterionKind::ContentCheck {
            max_length: Some(5),
            ..
        }
    ));
}

#[test]
fn named_criteria_and_commands_are_gates_of_their_own() {
    let library = sample_library();
    let verify = |preset, max_attempts| {
        InlineGateSpec::Verify(ShellCheck {
            command: "cargo test".to_owned(),
            preset,
            max_attempts,
            ..ShellCheck::default()
        })
    };
    let collected = select_gates(&GateSources {
        inline: &[
            InlineGateSpec::Named {
                id: "tone".to_owned(),
                text: "Is kind".to_owned(),
            },
            verify(Some(ShellCheckPreset::Fast), None),
            verify(None, Some(7)),
            verify(None, None),
        ],
        ..GateSources::empty(&library)
    })
    .unwrap();
    assert_eq!(
        ids(&collected.gates),
        ["tone", "verify", "verify-2", "verify-3"]
    );
    let attempts: Vec<u32> = collected
        .gates
        .iter()
        .skip(1)
        .map(|it| it.gate.retry.max_attempts)
        .collect();
    assert_eq!(attempts, [1, 7, 5]);
}

#[test]
fn what_can_not_be_read_as_a_gate_says_why() {
    let error = |entry: Value| GateParameter::try_from(entry).unwrap_err().to_string();
    assert!(error(json!(7)).contains("not 7"));
    assert!(error(json!({ "criterias": ["x"] })).contains("did you mean `criteria`?"));
    assert!(error(json!({ "severity": "awful" })).contains("awful"));
}

#[test]
fn there_is_a_limit_to_gates_and_criteria() {
    let library = sample_library();
    let many: Vec<InlineGateSpec> = (0..101)
        .map(|at| InlineGateSpec::Criterion(format!("criterion {at}")))
        .collect();
    let sources = |inline| GateSources {
        inline,
        ..GateSources::empty(&library)
    };
    assert!(select_gates(&sources(&many[..100])).is_ok());
    let refused = select_gates(&sources(&many)).unwrap_err().to_string();
    assert!(refused.contains("100"), "{refused}");
}
