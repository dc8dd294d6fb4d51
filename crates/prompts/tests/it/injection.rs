//! Decisions about adding guidance to a step, and the level that decides.

use deliberate_core::Timestamp;
use deliberate_prompts::{
    injection::{
        GateStatus, InjectionContext, InjectionDecision, InjectionLevel, InjectionLevels,
        InjectionModifier, InjectionOverride, InjectionSources, OverrideScope, PreviousStepResult,
        StepType, decide, explain, matches_pattern,
    },
    library::InjectionConfig,
    model::{Injection, InjectionRules},
};
use serde_json::{Value, json};

use Injection::{GateGuidance, StyleGuidance, SystemPrompt};

pub(crate) fn context_at(step: u32) -> InjectionContext<'static> {
    InjectionContext {
        step,
        total_steps: 5,
        step_name: "draft",
        session: "session-1",
        chain: "plan-trip",
        run: "chain-plan-trip#2",
        ..InjectionContext::single_step(Timestamp::from_micros(1_000))
    }
}

pub(crate) fn rules(value: Value) -> InjectionRules {
    serde_json::from_value(value).unwrap()
}

/// Decides with a system prompt rule on the step.
fn decide_by_step(rule: Value, at: &InjectionContext<'_>) -> InjectionDecision {
    let rules = rules(json!({ "system-prompt": rule }));
    let levels = InjectionLevels::new(InjectionSources {
        step: Some(&rules),
        ..InjectionSources::default()
    });
    decide(SystemPrompt, &levels, at)
}

/// Returns the decision of the step level, or `None` if another level decided.
fn step_decision(rule: Value, at: &InjectionContext<'_>) -> Option<bool> {
    let decided = decide_by_step(rule, at);
    (decided.level == InjectionLevel::Step).then_some(decided.inject)
}

#[test]
fn without_rules_the_defaults_decide() {
    let levels = InjectionLevels::default();
    let steps = |kind| -> Vec<bool> {
        (1..=5)
            .map(|step| decide(kind, &levels, &context_at(step)))
            .inspect(|decided| assert_eq!(decided.level, InjectionLevel::Default))
            .map(|decided| decided.inject)
            .collect()
    };
    assert_eq!(steps(SystemPrompt), [true, false, true, false, true]);
    assert_eq!(steps(GateGuidance), [true; 5]);
    assert_eq!(steps(StyleGuidance), [true, false, false, false, false]);
}

#[test]
fn modifiers_go_before_everything() {
    let on = json!({ "enabled": true });
    let all = rules(json!({ "system-prompt": on, "gate-guidance": on, "style-guidance": on }));
    let overrides = Injection::ALL.map(|kind| InjectionOverride {
        kind,
        enabled: true,
        scope: OverrideScope::Session,
        scope_id: None,
        expires_at: None,
    });
    let with = |modifier| {
        let levels = InjectionLevels::new(InjectionSources {
            modifier: Some(modifier),
            overrides: &overrides,
            step: Some(&all),
            ..InjectionSources::default()
        });
        Injection::ALL.map(|kind| {
            let decided = decide(kind, &levels, &context_at(2));
            (decided.level == InjectionLevel::Modifier).then_some(decided.inject)
        })
    };
    assert_eq!(with(InjectionModifier::Clean), [Some(false); 3]);
    assert_eq!(
        with(InjectionModifier::Lean),
        [Some(false), None, Some(false)]
    );
    assert_eq!(
        with(InjectionModifier::Framework),
        [None, Some(false), Some(false)]
    );
    assert_eq!(with(InjectionModifier::Judge), [Some(true), None, None]);
}

#[test]
fn an_override_counts_in_its_scope_and_until_it_ends() {
    let decided = |scope, scope_id: Option<&str>, expires_at: Option<i64>| {
        let overrides = [InjectionOverride {
            kind: SystemPrompt,
            enabled: false,
            scope,
            scope_id: scope_id.map(str::to_owned),
            expires_at: expires_at.map(Timestamp::from_micros),
        }];
        let levels = InjectionLevels::new(InjectionSources {
            overrides: &overrides,
            ..InjectionSources::default()
        });
        let other = decide(StyleGuidance, &levels, &context_at(1));
        assert_eq!(other.level, InjectionLevel::Default);
        decide(SystemPrompt, &levels, &context_at(1)).level == InjectionLevel::Override
    };
    assert!(decided(OverrideScope::Session, None, None));
    assert!(decided(
        OverrideScope::Session,
        Some("session-1"),
        Some(1_001)
    ));
    assert!(!decided(
        OverrideScope::Session,
        Some("session-1"),
        Some(1_000)
    ));
    assert!(!decided(OverrideScope::Session, Some("session-2"), None));
    assert!(decided(OverrideScope::Chain, Some("plan-trip"), None));
    assert!(decided(OverrideScope::Chain, Some("plan*"), None));
    assert!(decided(
        OverrideScope::Chain,
        Some("chain-plan-trip#2"),
        None
    ));
    assert!(!decided(
        OverrideScope::Chain,
        Some("chain-plan-trip#3"),
        None
    ));
    assert!(decided(OverrideScope::Step, Some("draft"), None));
    assert!(decided(OverrideScope::Step, Some("1"), None));
    assert!(!decided(OverrideScope::Step, Some("2"), None));
}

#[test]
fn the_last_override_counts() {
    let of = |enabled| InjectionOverride {
        kind: SystemPrompt,
        enabled,
        scope: OverrideScope::Session,
        scope_id: None,
        expires_at: None,
    };
    let overrides = [of(false), of(true)];
    let levels = InjectionLevels::new(InjectionSources {
        overrides: &overrides,
        ..InjectionSources::default()
    });
    assert!(decide(SystemPrompt, &levels, &context_at(2)).inject);
}

#[test]
fn frequencies() {
    let often = |frequency: Value| -> Vec<bool> {
        (1..=5)
            .map(|step| {
                step_decision(json!({ "frequency": frequency }), &context_at(step)).unwrap()
            })
            .collect()
    };
    assert_eq!(
        often(json!({ "mode": "every", "interval": 3 })),
        [true, false, false, true, false]
    );
    assert_eq!(often(json!({ "mode": "every" })), [true; 5]);
    assert_eq!(often(json!({ "mode": "every", "interval": 0 })), [true; 5]);
    assert_eq!(
        often(json!({ "mode": "first-only" })),
        [true, false, false, false, false]
    );
    assert_eq!(often(json!({ "mode": "never" })), [false; 5]);
}

#[test]
fn targets() {
    let review = InjectionContext {
        in_review: true,
        ..context_at(1)
    };
    let on = |target: &str| json!({ "enabled": true, "target": target });
    assert_eq!(step_decision(on("steps"), &context_at(1)), Some(true));
    assert_eq!(step_decision(on("steps"), &review), Some(false));
    assert_eq!(step_decision(on("gates"), &context_at(1)), Some(false));
    assert_eq!(step_decision(on("gates"), &review), Some(true));
    assert_eq!(step_decision(on("both"), &review), Some(true));
    // A rule that sets only the target leaves the frequency to the next level.
    assert_eq!(
        step_decision(json!({ "target": "steps" }), &context_at(1)),
        None
    );
}

#[test]
fn a_rule_that_is_switched_off_or_on_decides() {
    let off = json!({ "enabled": false, "frequency": { "mode": "every" } });
    assert_eq!(step_decision(off, &context_at(1)), Some(false));
    assert_eq!(
        step_decision(json!({ "enabled": true }), &context_at(2)),
        Some(true)
    );
    assert_eq!(step_decision(json!({}), &context_at(1)), None);
}

#[test]
fn conditions() {
    let when = |when: Value, at: &InjectionContext<'_>| {
        let rule = json!({
            "frequency": { "mode": "never" },
            "conditions": [{ "id": "c", "when": when, "then": "inject" }],
        });
        step_decision(rule, at).unwrap()
    };
    assert!(when(json!({ "type": "always" }), &context_at(2)));
    let review = InjectionContext {
        in_review: true,
        ..context_at(2)
    };
    let failed = InjectionContext {
        gate_status: Some(GateStatus::Fail),
        previous_result: PreviousStepResult::Failure,
        step_type: StepType::Tool,
        ..context_at(3)
    };
    let status = |status: &str| json!({ "type": "gate-status", "status": status });
    assert!(when(status("pending"), &review));
    assert!(when(status("fail"), &failed));
    assert!(!when(status("pass"), &failed));
    assert!(!when(status("pass"), &context_at(1)));
    let kind = |value: &str| json!({ "type": "step-type", "value": value });
    assert!(when(kind("prompt"), &context_at(1)));
    assert!(when(kind("tool"), &failed));
    assert!(when(kind("review"), &review));
    let previous = |value: &str| json!({ "type": "previous-step-result", "value": value });
    assert!(when(previous("none"), &context_at(1)));
    assert!(when(previous("failure"), &failed));
    assert!(!when(previous("success"), &failed));
    let position = |value: &str| json!({ "type": "chain-position", "value": value });
    let positions = ["first", "middle", "last"];
    let of = |step| positions.map(|value| when(position(value), &context_at(step)));
    assert_eq!(of(1), [true, false, false]);
    assert_eq!(of(3), [false, true, false]);
    assert_eq!(of(5), [false, false, true]);
}

#[test]
fn numbers_of_steps() {
    let holds = |operator: Option<&str>, value: Value| -> Vec<u32> {
        let when = json!({ "type": "step-number", "operator": operator, "value": value });
        let rule = json!({
            "frequency": { "mode": "never" },
            "conditions": [{ "when": when, "then": "inject" }],
        });
        (1..=5)
            .filter(|step| step_decision(rule.clone(), &context_at(*step)).unwrap())
            .collect()
    };
    assert_eq!(holds(None, json!(2)), [2]);
    assert_eq!(holds(Some("eq"), json!("2")), [2]);
    assert_eq!(holds(Some("gt"), json!(3)), [4, 5]);
    assert_eq!(holds(Some("gte"), json!(3)), [3, 4, 5]);
    assert_eq!(holds(Some("lt"), json!(3)), [1, 2]);
    assert_eq!(holds(Some("lte"), json!(3)), [1, 2, 3]);
    assert_eq!(holds(None, json!("first")), [1]);
    assert_eq!(holds(None, json!("last")), [5]);
    assert_eq!(holds(None, json!("odd")), [1, 3, 5]);
    assert_eq!(holds(None, json!("even")), [2, 4]);
}

#[test]
fn the_first_condition_that_applies_decides_and_inherit_leaves_it_to_the_next_level() {
    let rule = json!({
        "frequency": { "mode": "every" },
        "conditions": [
            { "id": "a", "when": { "type": "step-number", "value": 2 }, "then": "skip" },
            { "id": "b", "when": { "type": "step-number", "value": "even" }, "then": "inherit" },
            { "id": "c", "when": { "type": "always" }, "then": "inject" },
        ],
    });
    let of = |step| step_decision(rule.clone(), &context_at(step));
    assert_eq!([of(1), of(2), of(4)], [Some(true), Some(false), None]);
    assert_eq!(
        decide_by_step(rule.clone(), &context_at(2)).reason,
        "condition `a` says skip"
    );
}

fn config() -> InjectionConfig {
    serde_json::from_value(json!({
        "global": { "system-prompt": { "frequency": { "mode": "never" } } },
        "categories": { "travel": { "system-prompt": { "enabled": true } } },
        "chains": [
            { "chain": "other" },
            {
                "chain": "plan-*",
                "rules": { "system-prompt": { "enabled": false } },
                "steps": [{ "step": "last", "rules": { "system-prompt": { "enabled": true } } }],
            },
            { "chain": "*", "rules": { "style-guidance": { "enabled": false } } },
        ],
    }))
    .unwrap()
}

#[test]
fn each_level_has_its_place_and_the_rule_that_stands_nearer_wins() {
    let config = config();
    let base = InjectionSources {
        chain_id: "plan-trip",
        category_id: "travel",
        config: Some(&config),
        ..InjectionSources::default()
    };
    let of = |sources, step| {
        let decided = decide(
            SystemPrompt,
            &InjectionLevels::new(sources),
            &context_at(step),
        );
        (decided.level, decided.inject)
    };
    assert_eq!(of(base, 5), (InjectionLevel::Step, true));
    assert_eq!(of(base, 1), (InjectionLevel::Chain, false));
    let unnamed = InjectionSources {
        chain_id: "x",
        ..base
    };
    assert_eq!(of(unnamed, 1), (InjectionLevel::Category, true));
    let elsewhere = InjectionSources {
        category_id: "x",
        ..unnamed
    };
    assert_eq!(of(elsewhere, 1), (InjectionLevel::Global, false));

    let own = rules(json!({ "system-prompt": { "enabled": true } }));
    let off = rules(json!({ "systemPrompt": { "enabled": false } }));
    let with_step = InjectionSources {
        step: Some(&off),
        ..base
    };
    assert_eq!(of(with_step, 5), (InjectionLevel::Step, false));
    let with_chain = InjectionSources {
        chain: Some(&own),
        ..base
    };
    assert_eq!(of(with_chain, 1), (InjectionLevel::Chain, true));
    let with_category = InjectionSources {
        category: Some(&off),
        ..unnamed
    };
    assert_eq!(of(with_category, 1), (InjectionLevel::Category, false));

    // Only the first matching pattern applies.
    let style = decide(StyleGuidance, &InjectionLevels::new(base), &context_at(1));
    assert_eq!((style.level, style.inject), (InjectionLevel::Default, true));
}

#[test]
fn patterns_of_chains() {
    for (pattern, id, fits) in [
        ("plan", "plan", true),
        ("plan", "planner", false),
        ("plan*", "planner", true),
        ("plan*", "a-plan", false),
        ("*plan", "a-plan", true),
        ("*plan", "planner", false),
        ("*plan*", "a-planner", true),
        ("*plan*", "x", false),
        ("*", "anything", true),
        ("", "", false),
    ] {
        assert_eq!(matches_pattern(pattern, id), fits, "{pattern} {id}");
    }
}

#[test]
fn an_explanation_shows_what_each_level_says() {
    let config = config();
    let levels = InjectionLevels::new(InjectionSources {
        chain_id: "plan-trip",
        config: Some(&config),
        ..InjectionSources::default()
    });
    let lines = explain(SystemPrompt, &levels, &context_at(1));
    let told: Vec<(&str, Option<bool>, bool)> = lines
        .iter()
        .map(|line| (line.level.as_str(), line.inject, line.decides))
        .collect();
    assert_eq!(
        told,
        [
            ("modifier", None, false),
            ("override", None, false),
            ("step", None, false),
            ("chain", Some(false), true),
            ("category", None, false),
            ("global", Some(false), false),
            ("default", Some(true), false),
        ]
    );
    assert_eq!(lines[3].reason, "is disabled");
}
