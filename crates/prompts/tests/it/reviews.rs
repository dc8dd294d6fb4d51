//! Gate reviews: computed results of an answer, and their consequences.

use deliberate_prompts::{EngineOptions, GateJudgeKind};
use serde_json::{Value, json};

use super::engine_support::{ECHO, EngineHarness, reply_text, run_id};

const SHORT: (&str, &str) = (
    "gates/brief/gate.yaml",
    "id: brief\nname: Brief\ndescription: Keeps answers brief\ntype: validation\n\
     enforcementMode: blocking\nguidance: Be brief.\npass_criteria:\n  \
     - {type: content_check, max_length: 20, forbidden_patterns: ['as an AI']}\n\
     activation: {explicit_request: true}\n",
);

fn harness() -> EngineHarness {
    EngineHarness::new(&[ECHO, SHORT])
}

#[tokio::test]
async fn criteria_reach_the_answer_and_say_where_they_come_from() {
    let kit = harness();
    let answer = kit
        .call_engine(json!({ "command": ">>echo hi :: \"cites its sources\"", "gates": ["brief"] }))
        .await;
    let text = reply_text(&answer);
    assert!(
        text.contains("cites its sources") && text.contains("from: inline"),
        "{text}"
    );
    assert!(
        text.contains("Be brief.") && text.contains("from: client selection"),
        "{text}"
    );
    assert_eq!(answer["gates"].as_array().unwrap().len(), 2);
}

#[tokio::test]
async fn criteria_are_not_cut_at_letters() {
    let text = harness()
        .command_text(">>echo hi :: \"understand standards and handle errors, cite sources\"")
        .await;
    assert!(
        text.contains("understand standards and handle errors, cite sources"),
        "{text}"
    );
}

#[tokio::test]
async fn what_the_server_finds_holds_whatever_the_verdict_says() {
    let kit = harness();
    let run = run_id(
        &kit.call_engine(json!({ "command": ">>echo hi :: brief" }))
            .await,
    );
    let long = "x".repeat(30);
    let held = kit
        .call_engine(
            json!({ "chain_id": run, "user_response": long, "gate_verdict": "PASS - fine" }),
        )
        .await;
    assert_eq!(held["status"], "review", "{held}");
    assert!(reply_text(&held).contains("Attempt 1 of 2"), "{held}");
    let done = kit.answer_step(&run, "short").await;
    assert_eq!(done["status"], "done", "{done}");
}

#[tokio::test]
async fn a_failed_answer_counts_once() {
    let kit = harness();
    let run = run_id(
        &kit.call_engine(json!({ "command": ">>echo hi :: \"is polite\"" }))
            .await,
    );
    let fail = |text: &str| json!({ "chain_id": run, "user_response": text, "gate_verdict": "FAIL - rude" });
    let first = kit.call_engine(fail("one")).await;
    assert!(reply_text(&first).contains("Attempt 1 of 2"), "{first}");
    let second = kit.call_engine(fail("two")).await;
    assert!(reply_text(&second).contains("Attempt 2 of 2"), "{second}");
    assert!(reply_text(&second).contains("gate_action"), "{second}");
    let retry = kit
        .call_engine(json!({ "chain_id": run, "gate_action": "retry" }))
        .await;
    assert_eq!(retry["status"], "step", "{retry}");
    let done = kit
        .call_engine(
            json!({ "chain_id": run, "user_response": "three", "gate_verdict": "PASS - kind" }),
        )
        .await;
    assert_eq!(done["status"], "done", "{done}");
}

#[tokio::test]
async fn a_held_answer_that_is_sent_again_counts_once() {
    let kit = harness();
    let run = run_id(
        &kit.call_engine(json!({ "command": ">>echo hi :: brief" }))
            .await,
    );
    let long = "x".repeat(30);
    let first = kit.answer_step(&run, &long).await;
    let second = kit.answer_step(&run, &long).await;
    assert_eq!(first, second);
    let fail = json!({ "chain_id": run, "user_response": long, "gate_verdict": "FAIL - too long" });
    let third = kit.call_engine(fail).await;
    assert!(reply_text(&third).contains("Attempt 1 of 2"), "{third}");
}

#[tokio::test]
async fn a_judgement_can_be_given_after_the_answer() {
    let kit = harness();
    let run = run_id(
        &kit.call_engine(json!({ "command": ">>echo hi :: \"is polite\"" }))
            .await,
    );
    let held = kit.answer_step(&run, "my answer").await;
    assert_eq!(held["status"], "review");
    assert!(reply_text(&held).contains("verdict is needed"), "{held}");
    let done = kit
        .call_engine(
            json!({ "chain_id": run, "gate_verdict": { "overall": "pass", "rationale": "it is" } }),
        )
        .await;
    assert_eq!(
        (&done["status"], &done["results"]["Echo"]),
        (&json!("done"), &json!("my answer"))
    );
}

#[tokio::test]
async fn skipping_goes_on_and_aborting_ends() {
    let kit = harness();
    let run = run_id(
        &kit.call_engine(json!({ "command": ">>echo one :: brief --> >>echo two" }))
            .await,
    );
    kit.answer_step(&run, &"x".repeat(30)).await;
    let next = kit
        .call_engine(json!({ "chain_id": run, "gate_action": "skip" }))
        .await;
    assert_eq!(next["steps"], json!([2]), "{next}");
    let end = kit
        .call_engine(json!({ "chain_id": run, "gate_action": "abort" }))
        .await;
    assert_eq!(end["status"], "aborted");
}

#[tokio::test]
async fn a_verdict_without_its_reason_is_an_error() {
    let kit = harness();
    let run = run_id(
        &kit.call_engine(json!({ "command": ">>echo hi :: \"is polite\"" }))
            .await,
    );
    let wrong = kit
        .error_text(json!({ "chain_id": run, "user_response": "x", "gate_verdict": "PASS" }))
        .await;
    assert!(wrong.contains("GATE_REVIEW"), "{wrong}");
}

#[tokio::test]
async fn clean_drops_gates_and_lean_keeps_them() {
    let kit = harness();
    let clean = kit
        .call_engine(json!({ "command": "%clean >>echo hi :: brief" }))
        .await;
    assert_eq!(clean, json!({ "said": "hi" }));
    let lean = kit
        .call_engine(json!({ "command": "%lean >>echo hi :: brief" }))
        .await;
    assert!(reply_text(&lean).contains("Be brief."), "{lean}");
}

#[tokio::test]
async fn a_model_can_judge() {
    let options = EngineOptions {
        judge: GateJudgeKind::Model,
        ..EngineOptions::default()
    };
    let kit = EngineHarness::with_options(&[ECHO, SHORT], options, true);
    let verdict = |word: &str| {
        json!({ "criteria": [{ "index": 1, "verdict": word, "rationale": "seen" }] }).to_string()
    };
    kit.queue_replies(&[&verdict("fail"), &verdict("pass")]);
    let run = run_id(
        &kit.call_engine(json!({ "command": ">>echo hi :: \"is polite\"" }))
            .await,
    );
    assert_eq!(kit.answer_step(&run, "rude").await["status"], "review");
    assert_eq!(kit.answer_step(&run, "kind").await["status"], "done");
    assert!(
        kit.model_requests()[0].contains("is polite") && kit.model_requests()[0].contains("rude")
    );
}

#[tokio::test]
async fn a_command_is_not_run_unless_the_operator_allows_it() {
    let kit = harness();
    let marker = kit.workspace().join("marker");
    let command = format!(">>echo hi :: verify:\"touch {}\"", marker.display());
    let wrong = kit.error_text(json!({ "command": command })).await;
    assert!(
        wrong.starts_with("NotAllowed") && wrong.contains("operator"),
        "{wrong}"
    );
    assert!(!marker.exists());
}

#[tokio::test]
async fn an_allowed_command_is_run_on_the_answer_and_not_before() {
    let options = EngineOptions {
        commands: vec!["test -s *".to_owned()],
        ..EngineOptions::default()
    };
    let kit = EngineHarness::with_options(&[ECHO], options, false);
    let file = kit.workspace().join("made.txt");
    let command = format!(">>echo hi :: verify:\"test -s {}\"", file.display());
    let run = run_id(&kit.call_engine(json!({ "command": command })).await);
    let held = kit.answer_step(&run, "I made nothing").await;
    assert!(reply_text(&held).contains("Attempt 1 of 5"), "{held}");
    std::fs::write(&file, "made").unwrap();
    assert_eq!(kit.answer_step(&run, "now I did").await["status"], "done");
}

#[tokio::test]
async fn a_gate_of_a_call_chooses_neither_environment_nor_folder_of_a_command() {
    let options = EngineOptions {
        commands: vec!["true".to_owned()],
        ..EngineOptions::default()
    };
    let kit = EngineHarness::with_options(&[ECHO], options, false);
    for (field, value) in [
        ("shell_env", json!({ "PYTEST_ADDOPTS": "-p evil" })),
        ("shell_working_dir", json!("prompts")),
    ] {
        let mut criterion = json!({ "type": "shell_verify", "shell_command": "true" });
        criterion[field] = value;
        let gate = json!({ "id": "x", "name": "X", "pass_criteria": [criterion] });
        for gate in [gate.clone(), json!(gate.to_string())] {
            let wrong = kit
                .error_text(json!({ "command": ">>echo hi", "gates": [gate] }))
                .await;
            assert!(wrong.contains(field), "{wrong}");
        }
    }
}

#[tokio::test]
async fn a_schema_that_would_be_checked_for_ever_is_not_used() {
    let kit = harness();
    let next = |at: usize| json!({ "$ref": format!("#/$defs/d{}", at + 1) });
    let mut definitions: serde_json::Map<String, Value> = (0..34)
        .map(|at| (format!("d{at}"), json!({ "allOf": [next(at), next(at)] })))
        .collect();
    definitions.insert("d34".to_owned(), json!({ "type": "string" }));
    let doubling = json!({ "$ref": "#/$defs/d0", "$defs": definitions });
    let constants: Vec<Value> = (0..1_000).map(|at| json!({ "const": at })).collect();
    let many = json!({ "items": { "anyOf": constants } });
    let answer = Value::from(vec![-1; 5_000]).to_string();
    for (schema, answer, said) in [
        (doubling, "1".to_owned(), "too often to be checked"),
        (many, answer, "too large to be checked"),
    ] {
        let criterion = json!({ "type": "schema_check", "schema": schema });
        let gate = json!({ "id": "x", "name": "X", "pass_criteria": [criterion] });
        let arguments = json!({ "command": ">>echo hi", "gates": [gate] });
        let run = run_id(&kit.call_engine(arguments).await);
        let held = kit.answer_step(&run, &answer).await;
        assert!(reply_text(&held).contains(said), "{held}");
    }
}

#[tokio::test]
async fn a_review_is_the_same_in_another_process() {
    let kit = harness();
    let run = run_id(
        &kit.call_engine(json!({ "command": ">>echo hi :: brief" }))
            .await,
    );
    let held = kit.answer_step(&run, &"x".repeat(30)).await;
    let shown: Value = kit
        .second_process()
        .call_engine(json!({ "chain_id": run }))
        .await;
    assert_eq!(shown["review"], held["review"]);
    assert!(reply_text(&shown).contains("Attempt 1 of 2"), "{shown}");
}

#[tokio::test]
async fn what_a_model_is_to_judge_is_not_passed_by_whoever_answered() {
    let judged = (
        "gates/judged/gate.yaml",
        "id: judged\nname: Judged\ndescription: A model looks at it\ntype: validation\n\
         severity: critical\nguidance: Be kind.\nevaluation: {mode: judge, strict: true}\n\
         pass_criteria: [{type: llm_self_check, prompt_template: is kind}]\n\
         activation: {explicit_request: true}\n",
    );
    let kit = EngineHarness::with_options(&[ECHO, judged], EngineOptions::default(), true);
    let verdict = json!({ "criteria": [{ "index": 1, "verdict": "fail", "rationale": "rude" }] });
    kit.queue_replies(&[&verdict.to_string()]);
    let run = run_id(
        &kit.call_engine(json!({ "command": ">>echo hi :: judged" }))
            .await,
    );
    let held = kit
        .call_engine(
            json!({ "chain_id": run, "user_response": "x", "gate_verdict": "PASS - sure" }),
        )
        .await;
    assert_eq!(held["status"], "review", "{held}");
    assert_eq!(held["review"][0]["criteria"][0]["judged_by"], "model");
}

#[tokio::test]
async fn what_only_warns_is_told() {
    let advisory = (
        "gates/short/gate.yaml",
        "id: short\nname: Short\ndescription: Keeps answers short\ntype: validation\n\
         enforcementMode: advisory\nguidance: Be brief.\n\
         pass_criteria: [{type: content_check, max_length: 5}]\n\
         activation: {explicit_request: true}\n",
    );
    let kit = EngineHarness::new(&[ECHO, advisory]);
    let run = run_id(
        &kit.call_engine(json!({ "command": ">>echo a :: short --> >>echo b" }))
            .await,
    );
    let next = kit.answer_step(&run, "much too long").await;
    assert_eq!(next["steps"], json!([2]));
    assert!(
        reply_text(&next).contains("short:") && reply_text(&next).contains("only a warning"),
        "{next}"
    );
}

#[tokio::test]
async fn the_limit_of_answers_is_one() {
    let kit = harness();
    let run = run_id(
        &kit.call_engine(json!({ "command": ">>echo hi :: brief" }))
            .await,
    );
    kit.answer_step(&run, &"x".repeat(30)).await;
    kit.answer_step(&run, &"y".repeat(30)).await;
    let wrong = kit
        .error_text(json!({ "chain_id": run, "user_response": "fine" }))
        .await;
    assert!(wrong.starts_with("LimitReached"), "{wrong}");
    let again = json!({ "chain_id": run, "gate_action": "retry", "user_response": "fine" });
    assert_eq!(kit.call_engine(again).await["status"], "done");
}

#[tokio::test]
async fn a_verdict_of_no_is_not_turned_round_without_another_answer() {
    let kit = harness();
    let run = run_id(
        &kit.call_engine(json!({ "command": ">>echo hi :: \"is polite\"" }))
            .await,
    );
    let no = json!({ "chain_id": run, "user_response": "one", "gate_verdict": "FAIL - rude" });
    kit.call_engine(no).await;
    let wrong = kit
        .error_text(json!({ "chain_id": run, "gate_verdict": "PASS - well" }))
        .await;
    assert!(wrong.starts_with("AlreadyJudged"), "{wrong}");
}

#[tokio::test]
async fn a_gate_whose_file_is_broken_is_no_criterion() {
    let broken = ("gates/broken/gate.yaml", "id: [");
    let kit = EngineHarness::new(&[ECHO, broken]);
    let wrong = kit
        .error_text(json!({ "command": ">>echo hi :: broken" }))
        .await;
    assert!(wrong.contains("gates/broken/gate.yaml"), "{wrong}");
}
