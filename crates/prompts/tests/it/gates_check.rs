//! Computed checks of an answer.

use std::{collections::BTreeMap, sync::Arc};

use deliberate_prompts::{
    gate::{
        COMMANDS_NOT_ALLOWED, CheckContext, CheckOutcome, CriterionResult, ExternalCheckResult,
        GateSource, JudgedBy, SelectedGate, check_all,
    },
    library::PromptLibrary,
    model::{Gate, Methodology},
};
use serde_json::{Value, json};

use CheckOutcome::{CannotTell, Fail, Pass};

fn gate_with(criteria: Value) -> SelectedGate {
    SelectedGate {
        gate: Gate {
            id: "it".to_owned(),
            criteria: serde_json::from_value(criteria).unwrap(),
            ..Gate::default()
        },
        source: GateSource::Prompt,
        also: Vec::new(),
    }
}

fn check_criterion(criterion: Value, answer: &str, context: &CheckContext<'_>) -> CriterionResult {
    let mut result = check_all(&[gate_with(json!([criterion]))], answer, context).remove(0);
    assert_eq!(result.outcome, result.criteria[0].outcome);
    result.criteria.remove(0)
}

fn outcome_and_reason(criterion: Value, answer: &str) -> (CheckOutcome, String) {
    let it = check_criterion(criterion, answer, &CheckContext::default());
    (it.outcome, it.why)
}

fn outcome_for(criterion: Value, answer: &str) -> CheckOutcome {
    outcome_and_reason(criterion, answer).0
}

#[test]
fn length_is_counted_in_characters() {
    let bounds = json!({ "type": "content_check", "min_length": 3, "max_length": 4 });
    assert_eq!(outcome_for(bounds.clone(), "éé"), Fail);
    assert_eq!(outcome_for(bounds.clone(), "ééé"), Pass);
    assert_eq!(outcome_for(bounds.clone(), "éééé"), Pass);
    let (outcome, why) = outcome_and_reason(bounds, "ééééé");
    assert_eq!(outcome, Fail);
    assert_eq!(why, "5 characters, at most 4 allowed");
}

#[test]
fn patterns_match_whatever_the_case() {
    let content = json!({
        "type": "content_check",
        "required_patterns": ["^summary", "risk(s)?"],
        "forbidden_patterns": ["as an ai"],
    });
    assert_eq!(outcome_for(content.clone(), "SUMMARY: RISKS are few"), Pass);
    assert_eq!(outcome_for(content.clone(), "The summary: risks"), Fail);
    let (outcome, why) = outcome_and_reason(content, "Summary: as an AI I see a risk");
    assert_eq!(outcome, Fail);
    assert_eq!(why, "the answer matches `as an ai`");
    let pattern = json!({ "type": "pattern_check", "regex_patterns": ["\\bv\\d+\\b"] });
    assert_eq!(outcome_for(pattern.clone(), "see V2"), Pass);
    assert_eq!(outcome_for(pattern, "see v"), Fail);
}

#[test]
fn words_are_counted_as_whole_words() {
    let words = json!({ "type": "pattern_check", "keyword_count": { "risk": 2 } });
    assert_eq!(outcome_for(words.clone(), "Risk, risky, RISK"), Pass);
    let (outcome, why) = outcome_and_reason(words, "risk, risky, risks");
    assert_eq!(outcome, Fail);
    assert_eq!(why, "`risk` occurs 1 time(s), at least 2 needed");
}

#[test]
fn a_broken_pattern_is_never_a_pass_and_never_hides_a_failure() {
    for criterion in [
        json!({ "type": "content_check", "required_patterns": ["(open"] }),
        json!({ "type": "content_check", "forbidden_patterns": ["a(?=b)"] }),
        json!({ "type": "pattern_check", "regex_patterns": ["[z-a]", "fine"] }),
        json!({ "type": "pattern_check", "keyword_count": { " ": 1 } }),
    ] {
        let it = check_criterion(criterion, "fine", &CheckContext::default());
        assert_eq!(it.outcome, CannotTell);
        assert!(!it.why.is_empty() && !it.judgement);
    }
    let both = json!({ "type": "content_check", "required_patterns": ["(open", "absent"] });
    assert_eq!(outcome_for(both, "fine"), Fail);
}

#[test]
fn row_30_a_hostile_pattern_takes_no_time() {
    let hostile = json!({ "type": "pattern_check", "regex_patterns": ["^(a+)+$"] });
    assert_eq!(outcome_for(hostile.clone(), &"a".repeat(30)), Pass);
    assert_eq!(
        outcome_for(hostile.clone(), &format!("{}!", "a".repeat(30))),
        Fail
    );
    assert_eq!(
        outcome_for(hostile, &format!("{}!", "a".repeat(100_000))),
        Fail
    );
    let large =
        json!({ "type": "pattern_check", "regex_patterns": ["(((a{1,100}){1,100}){1,100})"] });
    assert_eq!(outcome_for(large, "a"), CannotTell);
}

#[test]
fn json_is_found_in_an_answer_and_problems_name_their_place() {
    let schema = json!({ "type": "schema_check", "schema": {
        "type": "object",
        "required": ["items"],
        "properties": { "items": { "type": "array", "items": { "type": "integer" } } },
    } });
    assert_eq!(outcome_for(schema.clone(), r#"{"items": [1]}"#), Pass);
    assert_eq!(
        outcome_for(schema.clone(), "So:\n```json\n{\"items\": []}\n```\nfine"),
        Pass
    );
    assert_eq!(
        outcome_for(schema.clone(), r#"As [1] says: {"items": [2]}."#),
        Pass
    );
    let (outcome, why) = outcome_and_reason(schema.clone(), r#"Here {"items": [1, "two"]}"#);
    assert_eq!(outcome, Fail);
    assert!(why.contains("at /items/1:"), "{why}");
    let (outcome, why) = outcome_and_reason(schema, "nothing");
    assert_eq!(
        (outcome, why.as_str()),
        (Fail, "there is no JSON in the answer")
    );
    let broken = json!({ "type": "schema_check", "schema": { "type": 7 } });
    assert_eq!(outcome_for(broken, "{}"), CannotTell);
}

#[test]
fn sources_are_counted_once_each() {
    let two = json!({ "type": "citation_check", "min_citations": 2 });
    assert_eq!(outcome_for(two.clone(), "so [1], and again [1]"), Fail);
    assert_eq!(outcome_for(two.clone(), "so [1], and (Smith, 2020)"), Pass);
    assert_eq!(
        outcome_for(
            json!({ "type": "citation_check" }),
            "see https://example.com"
        ),
        Pass
    );
    assert_eq!(
        outcome_and_reason(two, "none").1,
        "0 source(s) named, at least 2 needed"
    );
}

#[test]
fn judgements_are_open_until_somebody_judges() {
    for criterion in [
        json!({ "type": "llm_self_check", "prompt_template": "Is it kind?" }),
        json!({ "type": "content_check", "description": "Is it kind?" }),
        json!({ "type": "inline_guidance", "description": "Is it kind?" }),
    ] {
        let it = check_criterion(criterion, "x", &CheckContext::default());
        assert_eq!(it.outcome, CannotTell);
        assert_eq!(it.judged_by, JudgedBy::Nobody);
        assert_eq!(it.what, "Is it kind?");
        assert!(it.judgement && it.is_open());
    }
}

#[test]
fn commands_say_what_they_said_and_nothing_if_they_were_not_run() {
    let command = json!({ "type": "shell_verify", "shell_command": "cargo test" });
    let it = check_criterion(command.clone(), "x", &CheckContext::default());
    assert_eq!(
        (it.outcome, it.why.as_str()),
        (CannotTell, COMMANDS_NOT_ALLOWED)
    );
    assert!(it.why.contains("the operator can allow"));
    assert!(!it.judgement);
    let script = json!({ "type": "script_tool", "script_tool_id": "lint" });
    assert_eq!(outcome_for(script, "x"), CannotTell);
    for outcome in [Pass, Fail, CannotTell] {
        let ran = BTreeMap::from([(
            ("it".to_owned(), 1),
            ExternalCheckResult {
                outcome,
                reason: "so".to_owned(),
            },
        )]);
        let context = CheckContext {
            external_results: Some(&ran),
            ..CheckContext::default()
        };
        let it = check_criterion(command.clone(), "x", &context);
        assert_eq!((it.outcome, it.why.as_str()), (outcome, "so"));
    }
}

fn methodology() -> Methodology {
    serde_json::from_value(json!({
        "id": "demo",
        "enabled": true,
        "phases": [
            { "id": "context", "name": "Context", "section_header": "Context",
              "guards": { "required": true, "min_length": 10, "contains_any": ["because", "since"],
                          "contains_all": ["scope"], "forbidden_terms": ["TODO"],
                          "matches_pattern": "\\d+", "max_length": 200 } },
            { "id": "goals", "name": "Goals" },
        ],
        "qualityIndicators": {
            "context": { "keywords": ["context"], "patterns": [] },
            "goals": { "keywords": ["goal"], "patterns": ["so that .+"] },
        },
    }))
    .unwrap()
}

const GOOD: &str = "## Context\nThe scope is 3 teams, because of the move.\n\n## Goals\nOne goal.";

#[test]
fn a_methodology_shows_by_its_words_and_its_sections() {
    let methodology = methodology();
    let context = CheckContext {
        methodology: Some(&methodology),
        ..CheckContext::default()
    };
    let all = json!({ "type": "methodology_compliance", "min_compliance_score": 1.0 });
    let half = json!({ "type": "methodology_compliance", "min_compliance_score": 0.5 });
    let at = |criterion: &Value, answer: &str| check_criterion(criterion.clone(), answer, &context);
    assert_eq!(at(&all, GOOD).outcome, Pass, "{}", at(&all, GOOD).why);
    assert_eq!(
        at(&all, &GOOD.replace("One goal.", "So that it works")).outcome,
        Pass
    );
    let without_goals = GOOD.replace("One goal.", "None.");
    let without_goals = without_goals.replace("Goals", "Rest");
    assert_eq!(at(&all, &without_goals).outcome, Fail);
    assert!(at(&all, &without_goals).why.contains("0.50 of the phases"));
    assert_eq!(at(&half, &without_goals).outcome, Pass);
    for (broken, why) in [
        (GOOD.replace("## Context", "Context is good."), "no section"),
        (GOOD.replace("because of", "for"), "none of"),
        (GOOD.replace("scope", "size"), "lacks `scope`"),
        (GOOD.replace("teams", "teams todo"), "forbidden"),
        (GOOD.replace('3', "three"), "does not match"),
        (
            GOOD.replace("The scope is 3 teams, because of the move.", "x"),
            "at least 10",
        ),
        (GOOD.replace("move", &"m".repeat(200)), "at most 200"),
    ] {
        let it = at(&all, &broken);
        assert_eq!(it.outcome, Fail, "{broken}");
        assert!(it.why.contains(why), "{why} is not in {}", it.why);
    }
}

#[test]
fn a_methodology_can_be_named_and_only_warned_of() {
    let library = PromptLibrary {
        methodologies: [("demo".to_owned(), Arc::new(methodology()))].into(),
        ..PromptLibrary::default()
    };
    let context = CheckContext {
        library: Some(&library),
        ..CheckContext::default()
    };
    let warned =
        json!({ "type": "methodology_compliance", "methodology": "Demo", "severity": "warn" });
    let it = check_criterion(warned, "nothing of it", &context);
    assert_eq!(it.outcome, Fail);
    assert!(it.warn_only);
    let own = json!({ "type": "methodology_compliance",
        "quality_indicators": { "why": { "keywords": ["because"] } } });
    assert_eq!(outcome_for(own.clone(), "because"), Pass);
    assert_eq!(outcome_for(own, "therefore"), Fail);
    let none = json!({ "type": "methodology_compliance" });
    assert!(check_criterion(none, "x", &CheckContext::default()).is_open());
    let broken = json!({ "type": "methodology_compliance",
        "quality_indicators": { "why": { "patterns": ["("] } } });
    assert_eq!(outcome_for(broken, "x"), CannotTell);
}

#[test]
fn criteria_are_numbered_through_all_gates() {
    let judged = json!({ "type": "llm_self_check", "prompt_template": "x" });
    let one = gate_with(json!([judged, judged]));
    let results = check_all(&[one.clone(), one], "x", &CheckContext::default());
    let numbers: Vec<(usize, usize)> = results
        .iter()
        .flat_map(|it| &it.criteria)
        .map(|it| (it.number, it.index))
        .collect();
    assert_eq!(numbers, [(1, 1), (2, 2), (3, 1), (4, 2)]);
}

#[test]
fn the_worst_criterion_is_the_outcome_of_a_gate() {
    let (pass, fail, open) = (
        json!({ "type": "content_check", "min_length": 1 }),
        json!({ "type": "content_check", "min_length": 9 }),
        json!({ "type": "llm_self_check" }),
    );
    let of = |criteria| check_all(&[gate_with(criteria)], "x", &CheckContext::default())[0].outcome;
    assert_eq!(of(json!([pass])), Pass);
    assert_eq!(of(json!([pass, open])), CannotTell);
    assert_eq!(of(json!([pass, open, fail])), Fail);
}
