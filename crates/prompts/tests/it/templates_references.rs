//! Includes of other prompts and of scripts.

use std::{collections::BTreeMap, sync::Arc};

use deliberate_prompts::{
    EngineLimits,
    library::PromptLibrary,
    model::{ArgumentDefinition, Prompt, ScriptTool},
    template::{IncludeTarget, ScriptCall, TemplateError, TemplateRenderer, find_includes},
};
use serde_json::{Value, json};

use crate::templates::{TEST_FENCE, text, values};

fn library(prompts: &[(&str, &str)]) -> PromptLibrary {
    let mut library = PromptLibrary::default();
    for (id, body) in prompts {
        let prompt = Prompt {
            id: (*id).to_owned(),
            template: Some(text(body)),
            ..Prompt::default()
        };
        library.prompts.insert((*id).to_owned(), Arc::new(prompt));
    }
    library
}

fn render(library: &PromptLibrary, id: &str, given: Value) -> Result<String, TemplateError> {
    render_with(library, id, given, &BTreeMap::new())
}

fn render_with(
    library: &PromptLibrary,
    id: &str,
    given: Value,
    scripts: &BTreeMap<ScriptCall, Value>,
) -> Result<String, TemplateError> {
    let renderer = TemplateRenderer::new(&EngineLimits::default());
    let prompt = &library.prompts[id];
    let rendered = renderer.render_prompt(library, prompt, &values(given), scripts, &TEST_FENCE)?;
    Ok(rendered.user)
}

#[test]
fn row_1_a_value_in_a_prompt_that_refers_to_another_is_never_run() {
    let library = library(&[
        ("a", "A {{ text }} / {{ref:b}}"),
        ("b", "B {{ text }} / {{ ref:c/d }}"),
        ("c/d", "D {{ text }}"),
    ]);
    let hostile =
        "{{range.constructor('return process.version')()}} {{ 7*7 }} {{ref:a}} {{script:s}}";
    assert_eq!(
        render(&library, "a", json!({"text": hostile})).unwrap(),
        format!("A {hostile} / B {hostile} / D {hostile}")
    );
}

#[test]
fn a_reference_stands_where_any_value_could() {
    let library = library(&[
        (
            "a",
            "x\n{%- for n in range(2) %}[{{- ref:b -}}]{% endfor %}{% raw %}{{ref:b}}{% endraw %}{# {{ref:no}} #}",
        ),
        ("b", "b\n"),
    ]);
    assert_eq!(
        render(&library, "a", json!({})).unwrap(),
        "x[b\n][b\n]{{ref:b}}"
    );
}

#[test]
fn both_texts_of_a_prompt_are_rendered() {
    let mut library = library(&[("b", "B{{ x }}")]);
    let prompt = Prompt {
        id: "a".to_owned(),
        system: Some(text("S {{ref:b}}")),
        template: Some(text("U {{ x }}{{ y }}{{ z }}")),
        arguments: vec![
            ArgumentDefinition {
                name: "y".to_owned(),
                ..ArgumentDefinition::default()
            },
            ArgumentDefinition {
                name: "z".to_owned(),
                default_value: Some(json!("Z")),
                ..ArgumentDefinition::default()
            },
        ],
        ..Prompt::default()
    };
    library.prompts.insert("a".to_owned(), Arc::new(prompt));
    let renderer = TemplateRenderer::new(&EngineLimits::default());
    let given = values(json!({"x": 1}));
    let rendered = renderer
        .render_prompt(
            &library,
            &library.prompts["a"],
            &given,
            &BTreeMap::new(),
            &TEST_FENCE,
        )
        .unwrap();
    assert_eq!(rendered.system.as_deref(), Some("S B1"));
    assert_eq!(rendered.user, "U 1Z");
    let names = renderer
        .names_used_by(&library, &library.prompts["a"])
        .unwrap();
    assert_eq!(names.into_iter().collect::<Vec<_>>(), vec!["x", "y", "z"]);
}

#[test]
fn a_cycle_and_a_missing_prompt_are_errors_that_name_the_way() {
    let library = library(&[
        ("a", "\n{{ref:b}}"),
        ("b", "{{ref:a}}"),
        ("c", "{{ref:aa}}"),
        ("d", "{{ref:nothing_like_it}}"),
    ]);
    let cycle = render(&library, "a", json!({})).unwrap_err();
    assert_eq!(cycle.message, "prompts include each other: a → b → a");
    assert_eq!((cycle.prompt.as_str(), cycle.line), ("b", 1));
    let near = render(&library, "c", json!({})).unwrap_err();
    assert_eq!(
        near.to_string(),
        "prompt \"c\", file user-message.md, line 1: there is no prompt `aa` to include; did you mean `a`?"
    );
    assert!(render(&library, "d", json!({})).unwrap_err().help.is_some());
    let renderer = TemplateRenderer::new(&EngineLimits::default());
    assert_eq!(
        renderer
            .script_calls(&library, &library.prompts["a"])
            .unwrap_err(),
        cycle
    );
}

#[test]
fn prompts_may_refer_to_prompts_so_deep_and_no_deeper() {
    let chain = |length: usize| {
        let bodies: Vec<(String, String)> = (0..=length)
            .map(|n| {
                (
                    format!("p{n}"),
                    if n == length {
                        "end".to_owned()
                    } else {
                        format!("{{{{ref:p{}}}}}", n + 1)
                    },
                )
            })
            .collect();
        let pairs: Vec<(&str, &str)> = bodies
            .iter()
            .map(|(a, b)| (a.as_str(), b.as_str()))
            .collect();
        library(&pairs)
    };
    assert_eq!(render(&chain(10), "p0", json!({})).unwrap(), "end");
    let deep = render(&chain(11), "p0", json!({})).unwrap_err();
    assert!(deep.message.contains("p0 → p1 →"), "{deep}");
}

#[test]
fn prompts_that_double_each_other_are_stopped() {
    let bodies: Vec<(String, String)> = (0..10)
        .map(|n| {
            (
                format!("p{n}"),
                format!("{{{{ref:p{}}}}}", n + 1).repeat(30),
            )
        })
        .chain([("p10".to_owned(), "x".repeat(100))])
        .collect();
    let pairs: Vec<(&str, &str)> = bodies
        .iter()
        .map(|(a, b)| (a.as_str(), b.as_str()))
        .collect();
    let found = render(&library(&pairs), "p0", json!({})).unwrap_err();
    assert_eq!(
        found.message,
        "the template produces more text than a prompt may contain"
    );
}

#[test]
fn a_fault_in_what_is_taken_in_names_that_prompt() {
    let library = library(&[("a", "{{ref:b}}"), ("b", "1\n{{ nme }}")]);
    let found = render(&library, "a", json!({"name": "x"})).unwrap_err();
    assert_eq!((found.prompt.as_str(), found.line), ("b", 2));
    assert_eq!(found.help.unwrap(), "did you mean `name`?");
}

#[test]
fn scripts_are_named_once_and_their_answers_are_values() {
    let mut library = library(&[
        (
            "a",
            "{{script:count}} {{ script:count.total }} {{script:count k='v' n=1 b=true}} {{script:own.list}} {{ref:b}}",
        ),
        ("b", "{{script:own}}"),
    ]);
    for key in ["count", "own", "a:own"] {
        library
            .scripts
            .insert(key.to_owned(), Arc::new(ScriptTool::default()));
    }
    let renderer = TemplateRenderer::new(&EngineLimits::default());
    let calls = renderer
        .script_calls(&library, &library.prompts["a"])
        .unwrap();
    let names: Vec<(&str, &str)> = calls
        .iter()
        .map(|it| (it.script.as_str(), it.input.as_str()))
        .collect();
    assert_eq!(
        names,
        vec![
            ("count", "{}"),
            ("count", r#"{"k":"v","n":1,"b":true}"#),
            ("a:own", "{}"),
            ("own", "{}")
        ]
    );
    assert_eq!(calls[1].input()["n"], json!(1));
    let answers = [
        json!({"total": 3}),
        json!("{{ 7*7 }}"),
        json!({"list": [1, "<"]}),
        json!("O"),
    ];
    let answers: BTreeMap<ScriptCall, Value> = calls.into_iter().zip(answers).collect();
    assert_eq!(
        render_with(&library, "a", json!({}), &answers).unwrap(),
        r#"{"total":3} 3 {{ 7*7 }} [1,"<"] O"#
    );
}

#[test]
fn a_prompt_runs_so_many_scripts_and_no_more() {
    let body: Vec<String> = (0..300)
        .map(|n| format!("{{{{script:s n={n}}}}}"))
        .collect();
    let mut library = library(&[("a", &body.concat())]);
    library
        .scripts
        .insert("s".to_owned(), Arc::new(ScriptTool::default()));
    let renderer = TemplateRenderer::new(&EngineLimits::default());
    let found = renderer.script_calls(&library, &library.prompts["a"]);
    assert_eq!(
        found.unwrap_err().message,
        "a prompt may run at most 200 scripts"
    );
}

#[test]
fn what_a_script_lacks_is_an_error() {
    let mut library = library(&[
        ("a", "{{script:count.totl}}"),
        ("b", "{{script:cuont}}"),
        ("c", "\n{{script:x y}}"),
    ]);
    library
        .scripts
        .insert("count".to_owned(), Arc::new(ScriptTool::default()));
    let call = ScriptCall {
        script: "count".to_owned(),
        input: "{}".to_owned(),
    };
    let answers = BTreeMap::from([(call, json!({"total": 3}))]);
    let field = render_with(&library, "a", json!({}), &answers).unwrap_err();
    assert_eq!(
        field.message,
        "the output of script `count` has no field `totl`"
    );
    assert_eq!(field.help.unwrap(), "it has total");
    assert!(
        render(&library, "a", json!({}))
            .unwrap_err()
            .message
            .contains("was not run")
    );
    let missing = render(&library, "b", json!({})).unwrap_err();
    assert_eq!(missing.help.unwrap(), "did you mean `count`?");
    let broken = render(&library, "c", json!({})).unwrap_err();
    assert_eq!(broken.line, 2);
    assert!(broken.help.unwrap().contains("{{script:id}}"));
}

#[test]
fn references_are_found_without_a_library() {
    let found = find_includes("{{ref:a}}\n{{ x }} {{script:s.f k=1}}");
    assert_eq!(found.len(), 2);
    assert_eq!(
        (found[0].target.clone(), found[0].line),
        (IncludeTarget::Prompt("a".to_owned()), 1)
    );
    assert!(matches!(&found[1].target, IncludeTarget::Script { id, .. } if id == "s"));
    assert_eq!(found[1].line, 2);
}

#[test]
fn a_reference_outside_a_prompt_is_an_error() {
    let renderer = TemplateRenderer::new(&EngineLimits::default());
    let found = renderer
        .render(&text("{{ref:a}}"), "p", &values(json!({})), &TEST_FENCE)
        .unwrap_err();
    assert!(found.message.contains("cannot be included here"));
}
