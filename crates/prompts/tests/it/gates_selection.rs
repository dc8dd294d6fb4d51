//! Selection of the gates that apply to a step.

use std::sync::Arc;

use deliberate_prompts::{
    gate::{
        GateParameter, GateSource, GateSources, InlineGateSpec, SelectedGate, render_guidance,
        select_gates,
    },
    library::PromptLibrary,
    model::{
        Activation, CriterionKind, Gate, GateConfiguration, GateSeverity, Methodology,
        MethodologyGate,
    },
};
use serde_json::{Value, json};

/// A gate that applies only when it is requested.
fn gate(id: &str) -> Gate {
    Gate {
        id: id.to_owned(),
        name: id.to_owned(),
        activation: Some(Activation {
            explicit_request: true,
            ..Activation::default()
        }),
        ..Gate::default()
    }
}

fn library(gates: impl IntoIterator<Item = Gate>) -> PromptLibrary {
    PromptLibrary {
        gates: gates
            .into_iter()
            .map(|gate| (gate.id.clone(), Arc::new(gate)))
            .collect(),
        ..PromptLibrary::default()
    }
}

pub(crate) fn sample_library() -> PromptLibrary {
    library(["code-quality", "code-style", "short-answer", "no-secrets"].map(gate))
}

pub(crate) fn parse_gate_parameters(entries: Value) -> Vec<GateParameter> {
    serde_json::from_value(entries).unwrap()
}

fn including(ids: &[&str]) -> GateConfiguration {
    GateConfiguration {
        include: ids.iter().map(|id| (*id).to_owned()).collect(),
        ..GateConfiguration::default()
    }
}

fn excluding(ids: &[&str]) -> GateConfiguration {
    GateConfiguration {
        exclude: ids.iter().map(|id| (*id).to_owned()).collect(),
        ..GateConfiguration::default()
    }
}

pub(crate) fn ids(chosen: &[SelectedGate]) -> Vec<&str> {
    chosen.iter().map(|it| it.gate.id.as_str()).collect()
}

pub(crate) fn judged_descriptions(chosen: &SelectedGate) -> Vec<String> {
    chosen
        .gate
        .criteria
        .iter()
        .map(|it| match &it.kind {
            CriterionKind::LlmSelfCheck {
                prompt_template, ..
            } => prompt_template.clone().unwrap(),
            other => panic!("not a judgement: {other:?}"),
        })
        .collect()
}

#[test]
fn every_source_brings_gates_in_the_order_of_priority() {
    let mut library = sample_library();
    library.gates.insert(
        "always".to_owned(),
        Arc::new(Gate {
            id: "always".to_owned(),
            ..Gate::default()
        }),
    );
    let methodology = Methodology {
        methodology_gates: vec![MethodologyGate {
            id: "phases".to_owned(),
            validation_criteria: vec!["Every phase is there".to_owned()],
            priority: "critical".to_owned(),
            ..MethodologyGate::default()
        }],
        ..Methodology::default()
    };
    let collected = select_gates(&GateSources {
        inline: &[InlineGateSpec::Criterion("Cites sources".to_owned())],
        client: &["no-secrets".to_owned()],
        parameter: &parse_gate_parameters(json!(["short-answer"])),
        prompt: Some(&including(&["code-quality"])),
        step_gates: &["The step says why".to_owned()],
        chain: Some(&including(&["code-style"])),
        methodology: Some(&methodology),
        ..GateSources::empty(&library)
    })
    .unwrap();
    let found: Vec<(&str, GateSource)> = collected
        .gates
        .iter()
        .map(|it| (it.gate.id.as_str(), it.source))
        .collect();
    assert_eq!(
        found,
        [
            ("inline-criteria", GateSource::Inline),
            ("no-secrets", GateSource::Client),
            ("short-answer", GateSource::Parameter),
            ("code-quality", GateSource::Prompt),
            ("step-criteria", GateSource::Prompt),
            ("code-style", GateSource::Chain),
            ("phases", GateSource::Methodology),
            ("always", GateSource::Registry),
        ]
    );
    let priorities: Vec<u32> = found.iter().map(|(_, it)| it.priority()).collect();
    assert_eq!(priorities, [100, 90, 80, 60, 60, 50, 40, 20]);
    assert_eq!(collected.gates[6].gate.severity, GateSeverity::Critical);
    assert_eq!(
        judged_descriptions(&collected.gates[6]),
        ["Every phase is there"]
    );
}

#[test]
fn a_gate_from_several_places_stands_once_under_the_strongest() {
    let library = sample_library();
    let collected = select_gates(&GateSources {
        inline: &[InlineGateSpec::Word("Code_Quality".to_owned())],
        parameter: &parse_gate_parameters(json!(["code-quality", "short-answer"])),
        prompt: Some(&including(&["short-answer", "code-quality"])),
        ..GateSources::empty(&library)
    })
    .unwrap();
    assert_eq!(ids(&collected.gates), ["code-quality", "short-answer"]);
    assert_eq!(collected.gates[0].source, GateSource::Inline);
    assert_eq!(
        collected.gates[0].also,
        [GateSource::Parameter, GateSource::Prompt]
    );
    assert_eq!(collected.gates[1].source, GateSource::Parameter);
    assert_eq!(collected.gates[1].also, [GateSource::Prompt]);
}

#[test]
fn a_veto_takes_a_gate_away_whoever_brought_it() {
    let library = sample_library();
    let everywhere = including(&["code-quality", "short-answer"]);
    let vetoes_of_methodology = Methodology {
        gates: serde_json::from_value(json!({ "exclude": ["code-quality"] })).unwrap(),
        ..Methodology::default()
    };
    let excluded = excluding(&["code_quality"]);
    let base = GateSources {
        client: &["code-quality".to_owned()],
        parameter: &parse_gate_parameters(json!(["code-quality", "short-answer"])),
        chain: Some(&everywhere),
        ..GateSources::empty(&library)
    };
    let by_caller = parse_gate_parameters(json!(["code-quality", "short-answer", "-code-quality"]));
    let by_caller_too = parse_gate_parameters(json!(["short-answer", "!code-quality"]));
    for sources in [
        GateSources {
            prompt: Some(&excluded),
            ..base
        },
        GateSources {
            methodology: Some(&vetoes_of_methodology),
            ..base
        },
        GateSources {
            parameter: &by_caller,
            ..base
        },
        GateSources {
            parameter: &by_caller_too,
            ..base
        },
    ] {
        let collected = select_gates(&sources).unwrap();
        assert_eq!(ids(&collected.gates), ["short-answer"]);
        assert_eq!(collected.vetoed[0].gate, "code-quality");
        assert_eq!(collected.unknown, []);
    }
    assert_eq!(
        ids(&select_gates(&base).unwrap().gates),
        ["code-quality", "short-answer"]
    );
}

#[test]
fn what_the_user_wrote_into_the_command_beats_a_veto() {
    let library = sample_library();
    let collected = select_gates(&GateSources {
        inline: &[InlineGateSpec::Word("code-quality".to_owned())],
        prompt: Some(&excluding(&["code-quality"])),
        ..GateSources::empty(&library)
    })
    .unwrap();
    assert_eq!(ids(&collected.gates), ["code-quality"]);
}

#[test]
fn a_prompt_can_do_without_the_gates_of_the_methodology() {
    let library = sample_library();
    let methodology = Methodology {
        methodology_gates: vec![MethodologyGate {
            id: "phases".to_owned(),
            ..MethodologyGate::default()
        }],
        gates: serde_json::from_value(json!({ "include": ["code-style", "short-answer"] }))
            .unwrap(),
        ..Methodology::default()
    };
    let with = |framework_gates| {
        let prompt = GateConfiguration {
            framework_gates,
            ..including(&["short-answer"])
        };
        let collected = select_gates(&GateSources {
            prompt: Some(&prompt),
            methodology: Some(&methodology),
            ..GateSources::empty(&library)
        });
        let collected = collected.unwrap();
        ids(&collected.gates).join(" ")
    };
    assert_eq!(with(None), "short-answer phases code-style");
    assert_eq!(with(Some(true)), "short-answer phases code-style");
    assert_eq!(with(Some(false)), "short-answer");
}

#[test]
fn gates_are_active_by_themselves_only_where_they_fit() {
    let active = |gate_type: &str, activation: Value, category, methodology: Option<&str>| {
        let library = library([Gate {
            gate_type: gate_type.to_owned(),
            activation: serde_json::from_value(activation).unwrap(),
            ..gate("it")
        }]);
        let methodology = methodology.map(|id| Methodology {
            id: id.to_owned(),
            ..Methodology::default()
        });
        let collected = select_gates(&GateSources {
            category,
            methodology: methodology.as_ref(),
            ..GateSources::empty(&library)
        });
        !collected.unwrap().gates.is_empty()
    };
    let code = json!({ "prompt_categories": ["code"] });
    let both = json!({ "prompt_categories": ["code"], "framework_context": ["ReACT"] });
    assert!(active("custom", Value::Null, None, None));
    assert!(!active(
        "custom",
        json!({ "explicit_request": true }),
        Some("code"),
        None
    ));
    assert!(active("custom", code.clone(), Some("Code"), None));
    assert!(!active("custom", code.clone(), Some("my-own"), None));
    assert!(active("custom", code, None, None));
    assert!(active("custom", both.clone(), Some("code"), Some("react")));
    assert!(!active("custom", both.clone(), Some("code"), Some("5w1h")));
    assert!(active("custom", both.clone(), Some("code"), None));
    assert!(active(
        "framework",
        both.clone(),
        Some("code"),
        Some("react")
    ));
    assert!(!active("framework", both.clone(), Some("code"), None));
    assert!(!active("framework", both, None, Some("react")));
    assert!(!active("framework", json!({}), Some("code"), None));
    assert!(active("framework", json!({}), None, Some("react")));
}

#[test]
fn row_15_criteria_are_never_cut_at_letters() {
    let library = sample_library();
    let texts = [
        "understand standards and handle errors",
        "cite sources, and say which",
    ];
    let inline: Vec<InlineGateSpec> = texts
        .iter()
        .map(|text| InlineGateSpec::Criterion((*text).to_owned()))
        .chain([InlineGateSpec::Word("brand-safe".to_owned())])
        .collect();
    let collected = select_gates(&GateSources {
        inline: &inline,
        ..GateSources::empty(&library)
    })
    .unwrap();
    assert_eq!(collected.gates.len(), 1);
    assert_eq!(collected.gates[0].gate.name, "Inline criteria");
    assert_eq!(
        judged_descriptions(&collected.gates[0]),
        [texts[0], texts[1], "brand-safe"]
    );
}

#[test]
fn row_20_what_is_asked_for_reaches_the_model() {
    let mut library = sample_library();
    let with_guidance = Gate {
        guidance: "Name things well.".to_owned(),
        ..gate("code-quality")
    };
    library
        .gates
        .insert("code-quality".to_owned(), Arc::new(with_guidance));
    let collected = select_gates(&GateSources {
        inline: &[InlineGateSpec::Criterion("Under 200 words".to_owned())],
        parameter: &parse_gate_parameters(
            json!(["Uses plain words", { "name": "Tone", "description": "Is kind" }]),
        ),
        prompt: Some(&including(&["code-quality"])),
        ..GateSources::empty(&library)
    })
    .unwrap();
    let text = render_guidance(&collected.gates, 4_000);
    for expected in [
        "1. Under 200 words",
        "(from: inline)",
        "Is kind",
        "Uses plain words",
        "(from: gates parameter)",
        "Name things well.",
        "(from: prompt)",
    ] {
        assert!(text.contains(expected), "{expected} is not in:\n{text}");
    }
    let nothing = select_gates(&GateSources::empty(&library)).unwrap();
    assert_eq!(render_guidance(&nothing.gates, 4_000), "");
}

#[test]
fn row_44_an_unknown_gate_is_reported_with_the_nearest() {
    let library = sample_library();
    let collected = select_gates(&GateSources {
        parameter: &parse_gate_parameters(json!(["code-qualty", "Has a title", "-no-secret"])),
        prompt: Some(&including(&["no-such-thing-at-all", "short_answer"])),
        ..GateSources::empty(&library)
    })
    .unwrap();
    assert_eq!(ids(&collected.gates), ["given-criteria", "short-answer"]);
    assert_eq!(judged_descriptions(&collected.gates[0]), ["Has a title"]);
    let told: Vec<(String, bool)> = collected
        .unknown
        .iter()
        .map(|it| (it.to_string(), it.is_caller_error()))
        .collect();
    assert_eq!(told.len(), 3);
    assert!(
        told[0]
            .0
            .contains("no gate `code-qualty` (from: gates parameter); did you mean `code-quality`")
    );
    assert!(told[0].1);
    assert!(
        told[1]
            .0
            .contains("no gate `no-such-thing-at-all` (from: prompt)")
    );
    assert!(!told[1].1);
    assert!(told[2].0.contains("`no-secrets`"));
}
