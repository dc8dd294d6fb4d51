//! Whether guidance is added to a step, and which level says so.

use deliberate_core::Timestamp;
use deliberate_prompts::{
    inject::{
        Decided, GateStatus, Level, LevelSources, Levels, Modifier, Moment, Override, Previous,
        Scope, StepType, decide, explain, fits_pattern,
    },
    library::InjectionConfig,
    model::{Injection, InjectionRules},
};
use serde_json::{Value, json};

use Injection::{GateGuidance, StyleGuidance, SystemPrompt};

pub(crate) fn at(step: u32) -> Moment<'static> {
    Moment {
        step,
        steps: 5,
        step_name: "draft",
        session: "session-1",
        chain: "plan-trip",
        run: "chain-plan-trip#2",
        ..Moment::single(Timestamp::from_micros(1_000))
    }
}

pub(crate) fn rules(value: Value) -> InjectionRules {
    serde_json::from_value(value).unwrap()
}

/// A rule for the system prompt that stands with the step.
fn by_step(rule: Value, at: &Moment<'_>) -> Decided {
    let rules = rules(json!({ "system-prompt": rule }));
    let levels = Levels::new(LevelSources {
        step: Some(&rules),
        ..LevelSources::default()
    });
    decide(SystemPrompt, &levels, at)
}

/// Yes or no of the step, or nothing if it left the decision to others.
fn said(rule: Value, at: &Moment<'_>) -> Option<bool> {
    let decided = by_step(rule, at);
    (decided.level == Level::Step).then_some(decided.inject)
}

#[test]
fn without_rules_the_defaults_decide() {
    let levels = Levels::default();
    let steps = |kind| -> Vec<bool> {
        (1..=5)
            .map(|step| decide(kind, &levels, &at(step)))
            .inspect(|decided| assert_eq!(decided.level, Level::Default))
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
    let overrides = Injection::ALL.map(|kind| Override {
        kind,
        enabled: true,
        scope: Scope::Session,
        scope_id: None,
        expires_at: None,
    });
    let with = |modifier| {
        let levels = Levels::new(LevelSources {
            modifier: Some(modifier),
            overrides: &overrides,
            step: Some(&all),
            ..LevelSources::default()
        });
        Injection::ALL.map(|kind| {
            let decided = decide(kind, &levels, &at(2));
            (decided.level == Level::Modifier).then_some(decided.inject)
        })
    };
    assert_eq!(with(Modifier::Clean), [Some(false); 3]);
    assert_eq!(with(Modifier::Lean), [Some(false), None, Some(false)]);
    assert_eq!(with(Modifier::Framework), [None, Some(false), Some(false)]);
    assert_eq!(with(Modifier::Judge), [Some(true), None, None]);
}

#[test]
fn an_override_counts_in_its_scope_and_until_it_ends() {
    let decided = |scope, scope_id: Option<&str>, expires_at: Option<i64>| {
        let overrides = [Override {
            kind: SystemPrompt,
            enabled: false,
            scope,
            scope_id: scope_id.map(str::to_owned),
            expires_at: expires_at.map(Timestamp::from_micros),
        }];
        let levels = Levels::new(LevelSources {
            overrides: &overrides,
            ..LevelSources::default()
        });
        let other = decide(StyleGuidance, &levels, &at(1));
        assert_eq!(other.level, Level::Default);
        decide(SystemPrompt, &levels, &at(1)).level == Level::Override
    };
    assert!(decided(Scope::Session, None, None));
    assert!(decided(Scope::Session, Some("session-1"), Some(1_001)));
    assert!(!decided(Scope::Session, Some("session-1"), Some(1_000)));
    assert!(!decided(Scope::Session, Some("session-2"), None));
    assert!(decided(Scope::Chain, Some("plan-trip"), None));
    assert!(decided(Scope::Chain, Some("plan*"), None));
    assert!(decided(Scope::Chain, Some("chain-plan-trip#2"), None));
    assert!(!decided(Scope::Chain, Some("chain-plan-trip#3"), None));
    assert!(decided(Scope::Step, Some("draft"), None));
    assert!(decided(Scope::Step, Some("1"), None));
    assert!(!decided(Scope::Step, Some("2"), None));
}

#[test]
fn the_last_override_counts() {
    let of = |enabled| Override {
        kind: SystemPrompt,
        enabled,
        scope: Scope::Session,
        scope_id: None,
        expires_at: None,
    };
    let overrides = [of(false), of(true)];
    let levels = Levels::new(LevelSources {
        overrides: &overrides,
        ..LevelSources::default()
    });
    assert!(decide(SystemPrompt, &levels, &at(2)).inject);
}

#[test]
fn frequencies() {
    let often = |frequency: Value| -> Vec<bool> {
        (1..=5)
            .map(|step| said(json!({ "frequency": frequency }), &at(step)).unwrap())
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
    let review = Moment {
        in_review: true,
        ..at(1)
    };
    let on = |target: &str| json!({ "enabled": true, "target": target });
    assert_eq!(said(on("steps"), &at(1)), Some(true));
    assert_eq!(said(on("steps"), &review), Some(false));
    assert_eq!(said(on("gates"), &at(1)), Some(false));
    assert_eq!(said(on("gates"), &review), Some(true));
    assert_eq!(said(on("both"), &review), Some(true));
    // A rule that only says to what leaves it to the next level how often.
    assert_eq!(said(json!({ "target": "steps" }), &at(1)), None);
}

#[test]
fn a_rule_that_is_switched_off_or_on_decides() {
    let off = json!({ "enabled": false, "frequency": { "mode": "every" } });
    assert_eq!(said(off, &at(1)), Some(false));
    assert_eq!(said(json!({ "enabled": true }), &at(2)), Some(true));
    assert_eq!(said(json!({}), &at(1)), None);
}

#[test]
fn conditions() {
    let when = |when: Value, at: &Moment<'_>| {
        let rule = json!({
            "frequency": { "mode": "never" },
            "conditions": [{ "id": "c", "when": when, "then": "inject" }],
        });
        said(rule, at).unwrap()
    };
    assert!(when(json!({ "type": "always" }), &at(2)));
    let review = Moment {
        in_review: true,
        ..at(2)
    };
    let failed = Moment {
        gate_status: Some(GateStatus::Fail),
        previous: Previous::Failure,
        step_type: StepType::Tool,
        ..at(3)
    };
    let status = |status: &str| json!({ "type": "gate-status", "status": status });
    assert!(when(status("pending"), &review));
    assert!(when(status("fail"), &failed));
    assert!(!when(status("pass"), &failed));
    assert!(!when(status("pass"), &at(1)));
    let kind = |value: &str| json!({ "type": "step-type", "value": value });
    assert!(when(kind("prompt"), &at(1)));
    assert!(when(kind("tool"), &failed));
    assert!(when(kind("review"), &review));
    let previous = |value: &str| json!({ "type": "previous-step-result", "value": value });
    assert!(when(previous("none"), &at(1)));
    assert!(when(previous("failure"), &failed));
    assert!(!when(previous("success"), &failed));
    let position = |value: &str| json!({ "type": "chain-position", "value": value });
    let positions = ["first", "middle", "last"];
    let of = |step| positions.map(|value| when(position(value), &at(step)));
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
            .filter(|step| said(rule.clone(), &at(*step)).unwrap())
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
    let of = |step| said(rule.clone(), &at(step));
    assert_eq!([of(1), of(2), of(4)], [Some(true), Some(false), None]);
    assert_eq!(
        by_step(rule.clone(), &at(2)).reason,
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
    let base = LevelSources {
        chain_id: "plan-trip",
        category_id: "travel",
        config: Some(&config),
        ..LevelSources::default()
    };
    let of = |sources, step| {
        let decided = decide(SystemPrompt, &Levels::new(sources), &at(step));
        (decided.level, decided.inject)
    };
    assert_eq!(of(base, 5), (Level::Step, true));
    assert_eq!(of(base, 1), (Level::Chain, false));
    let unnamed = LevelSources {
        chain_id: "x",
        ..base
    };
    assert_eq!(of(unnamed, 1), (Level::Category, true));
    let elsewhere = LevelSources {
        category_id: "x",
        ..unnamed
    };
    assert_eq!(of(elsewhere, 1), (Level::Global, false));

    let own = rules(json!({ "system-prompt": { "enabled": true } }));
    let off = rules(json!({ "systemPrompt": { "enabled": false } }));
    let with_step = LevelSources {
        step: Some(&off),
        ..base
    };
    assert_eq!(of(with_step, 5), (Level::Step, false));
    let with_chain = LevelSources {
        chain: Some(&own),
        ..base
    };
    assert_eq!(of(with_chain, 1), (Level::Chain, true));
    let with_category = LevelSources {
        category: Some(&off),
        ..unnamed
    };
    assert_eq!(of(with_category, 1), (Level::Category, false));

    // Only the first pattern that fits counts.
    let style = decide(StyleGuidance, &Levels::new(base), &at(1));
    assert_eq!((style.level, style.inject), (Level::Default, true));
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
        assert_eq!(fits_pattern(pattern, id), fits, "{pattern} {id}");
    }
}

#[test]
fn an_explanation_shows_what_each_level_says() {
    let config = config();
    let levels = Levels::new(LevelSources {
        chain_id: "plan-trip",
        config: Some(&config),
        ..LevelSources::default()
    });
    let lines = explain(SystemPrompt, &levels, &at(1));
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
    assert_eq!(lines[3].reason, "is switched off");
}
