//! Conditions of steps, and paths to values.

use std::collections::BTreeSet;

use deliberate_prompts::{
    EngineLimits,
    template::{ParsedCondition, TemplateRenderer, lookup},
};
use serde_json::json;

use crate::templates::values;

fn known_names() -> BTreeSet<String> {
    [
        "severity",
        "count",
        "previous_step_result",
        "steps",
        "answer",
    ]
    .map(str::to_owned)
    .into()
}

#[test]
fn expressions_hold_or_not() {
    let renderer = TemplateRenderer::new(&EngineLimits::default());
    let given = values(json!({
        "severity": "high", "count": 3, "previous_step_result": "I say yes to it", "answer": null,
        "steps": {"Collect": {"result": "x", "output": {"ok": true}}},
    }));
    for (text, holds) in [
        (r#"severity == "high""#, true),
        (r#"severity == "hgih""#, false),
        ("count > 2 and not answer", true),
        (r#""yes" in previous_step_result"#, true),
        (r#""no way" in previous_step_result"#, false),
        ("steps.Collect.output.ok", true),
        ("steps.Collect.output.missing", false),
        ("severity", true),
        ("answer", false),
        ("answer is defined", false),
        ("previous_step_result | length > 100", false),
        ("previous_step_result.length > 3", true),
        ("true", true),
        ("{{ count == 3 }}", true),
        ("answer == none", true),
        ("count != none", true),
    ] {
        let Ok(ParsedCondition::Expression(expression)) =
            renderer.parse_condition(text, &known_names())
        else {
            panic!("{text} is no expression")
        };
        assert_eq!(
            renderer.evaluate_bool(&expression, &given),
            Ok(holds),
            "{text}"
        );
    }
    assert_eq!(renderer.evaluate("count + 1", &given), Ok(json!(4)));
    assert_eq!(
        renderer.evaluate("steps.Collect.output", &given),
        Ok(json!({"ok": true}))
    );
    let unknown = renderer.evaluate("cuont + 1", &given).unwrap_err();
    assert!(
        unknown.to_string().contains("did you mean `count`?"),
        "{unknown}"
    );
}

#[test]
fn sentences_are_questions() {
    let renderer = TemplateRenderer::new(&EngineLimits::default());
    for text in [
        "Is the severity high enough to wake someone?",
        "the answer is complete",
        "answer is correct",
        "finished",
        "Did the step find errors, or warnings?",
        "it's done",
        "",
    ] {
        let found = renderer.parse_condition(text, &known_names());
        assert_eq!(
            found,
            Ok(ParsedCondition::Question(text.to_owned())),
            "{text}"
        );
    }
}

#[test]
fn a_slip_does_not_become_a_question() {
    let renderer = TemplateRenderer::new(&EngineLimits::default());
    let found = renderer
        .parse_condition(r#"severty == "x""#, &known_names())
        .unwrap_err();
    assert_eq!(
        found.to_string(),
        "condition `severty == \"x\"`: there is no value named `severty`; did you mean `severity`?"
    );
    for text in [
        "severity && count",
        "x === 1",
        "severity === 'x'",
        "severity == ",
        "not finished",
        "count | nofilter == 1",
        "step.x",
    ] {
        assert!(
            renderer.parse_condition(text, &known_names()).is_err(),
            "{text}"
        );
    }
    assert!(
        renderer
            .parse_condition(&"x ".repeat(10_000), &known_names())
            .is_err()
    );
}

#[test]
fn paths_name_and_evaluate_nothing() {
    let given = values(json!({
        "x": 1, "odd.name": 2, "none": null,
        "steps": {"My step": {"result": "text", "output": {"field": [10, 20]}}, "B": {"output": "{\"f\": 5}"}},
        "chain_args": {"x": "y"}, "step1_result": "one",
    }));
    for (path, value) in [
        ("x", json!(1)),
        (" odd.name ", json!(2)),
        ("steps.My step.result", json!("text")),
        ("steps[\"My step\"].output.field", json!([10, 20])),
        ("steps['My step'].output.field[1]", json!(20)),
        ("steps[My step].output.field.0", json!(10)),
        ("steps.B.output.f", json!(5)),
        ("chain_args.x", json!("y")),
        ("step1_result", json!("one")),
    ] {
        assert_eq!(lookup(path, &given), Some(value), "{path}");
    }
    for path in [
        "",
        "y",
        "none",
        "x.y",
        "steps.",
        "steps..B",
        "steps[",
        "steps['B",
        "1 + 1",
        "x | upper",
        "steps[B]x",
        "step2_result",
    ] {
        assert_eq!(lookup(path, &given), None, "{path}");
    }
}
