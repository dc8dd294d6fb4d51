//! Chain runs: advancing, the values that steps see, and recovery.

use futures::future::join_all;
use serde_json::{Value, json};

use super::engine_support::{ECHO, EngineHarness, reply_text, run_id};

pub(crate) fn prompt(id: &str, template: &str, more: &str) -> (String, String) {
    let folder = id.rsplit_once('/').map_or(id, |it| it.1);
    (
        format!("prompts/general/{id}/prompt.yaml"),
        format!(
            "id: {folder}\nname: {folder}\ndescription: A prompt that a test made up\n\
             userMessageTemplate: |-\n  {template}\n{more}"
        ),
    )
}

pub(crate) fn harness(prompts: &[(String, String)]) -> EngineHarness {
    EngineHarness::new(&files(prompts))
}

pub(crate) fn files(prompts: &[(String, String)]) -> Vec<(&str, &str)> {
    let own = prompts
        .iter()
        .map(|(path, text)| (path.as_str(), text.as_str()));
    std::iter::once(ECHO).chain(own).collect()
}

pub(crate) fn abc_prompts() -> Vec<(String, String)> {
    vec![
        prompt(
            "a",
            "Do a with {{ topic | default('nothing') }}.",
            "arguments: [{name: topic}]\n",
        ),
        prompt("b", "Do b after: {{ previous_step_result }}", ""),
        prompt(
            "c",
            "Do c: {{ step1_result }} / {{ step2_result }} / {{ steps.b.result }}",
            "",
        ),
    ]
}

#[tokio::test]
async fn a_chain_goes_step_by_step_to_a_summary() {
    let kit = harness(&abc_prompts());
    let first = kit
        .call_engine(json!({ "command": ">>a topic:'tea' --> >>b --> >>c" }))
        .await;
    assert!(reply_text(&first).starts_with("Do a with tea."), "{first}");
    assert_eq!(first["chain_id"], "chain-a#1");
    assert_eq!(
        (&first["steps"], &first["total_steps"]),
        (&json!([1]), &json!(3))
    );
    let run = run_id(&first);
    let second = kit.answer_step(&run, "A is done").await;
    assert!(
        reply_text(&second).starts_with("Do b after: A is done"),
        "{second}"
    );
    let third = kit.answer_step(&run, "B is done").await;
    assert!(
        reply_text(&third).starts_with("Do c: A is done / B is done / B is done"),
        "{third}"
    );
    let end = kit.answer_step(&run, "C is done").await;
    assert_eq!(end["status"], "done");
    assert_eq!(end["results"]["c"], "C is done");
    assert!(reply_text(&end).contains("C is done"), "{end}");
    // A later call finds the run done and changes nothing.
    let again = kit.call_engine(json!({ "chain_id": run })).await;
    assert_eq!(again["status"], "done");
}

#[tokio::test]
async fn the_same_answer_twice_is_one_answer() {
    let kit = harness(&abc_prompts());
    let run = run_id(
        &kit.call_engine(json!({ "command": ">>a --> >>b --> >>c" }))
            .await,
    );
    let call = json!({ "chain_id": run, "step": 1, "user_response": "once" });
    let one = kit.call_engine(call.clone()).await;
    let two = kit.call_engine(call).await;
    assert_eq!(one, two);
    // Without a step number the call counts as a repetition, too, and reports that.
    let three = kit.answer_step(&run, "once").await;
    assert_eq!(three["steps"], json!([2]));
    assert!(reply_text(&three).contains("add step: 2"), "{three}");
    // A different answer to a finished step is an error.
    let wrong = kit
        .error_text(json!({ "chain_id": run, "step": 1, "user_response": "other" }))
        .await;
    assert!(wrong.starts_with("AlreadyAnswered"), "{wrong}");
    // With a step number the answer is for that step.
    let meant = json!({ "chain_id": run, "step": 2, "user_response": "once" });
    assert_eq!(kit.call_engine(meant).await["steps"], json!([3]));
}

#[tokio::test]
async fn an_unknown_number_is_an_error_and_never_another_run() {
    let kit = harness(&abc_prompts());
    let run = run_id(&kit.call_engine(json!({ "command": ">>a --> >>b" })).await);
    assert_eq!(run, "chain-a#1");
    let wrong = kit
        .error_text(json!({ "chain_id": "chain-a#99", "user_response": "x" }))
        .await;
    assert!(wrong.starts_with("RunNotFound"), "{wrong}");
    let wrong = kit
        .error_text(json!({ "chain_id": "../../x", "user_response": "x" }))
        .await;
    assert!(wrong.starts_with("InvalidChainId"), "{wrong}");
    let shown = kit.call_engine(json!({ "chain_id": "chain-a" })).await;
    assert_eq!((run_id(&shown), &shown["steps"]), (run, &json!([1])));
}

#[tokio::test]
async fn force_restart_begins_anew_and_does_not_go_with_a_run() {
    let kit = harness(&abc_prompts());
    kit.call_engine(json!({ "command": ">>a --> >>b" })).await;
    let second = kit
        .call_engine(json!({ "command": ">>a --> >>b", "force_restart": true }))
        .await;
    assert_eq!(run_id(&second), "chain-a#2");
    let wrong = kit
        .error_text(json!({ "chain_id": "chain-a#1", "force_restart": true }))
        .await;
    assert!(wrong.starts_with("Conflict"), "{wrong}");
}

#[tokio::test]
async fn clean_stays_clean_for_the_whole_chain() {
    let kit = harness(&abc_prompts());
    let first = kit
        .call_engine(json!({ "command": "%clean @ReACT >>a --> >>b --> >>c" }))
        .await;
    let run = run_id(&first);
    let mut shown = vec![first];
    shown.push(kit.answer_step(&run, "1").await);
    shown.push(kit.answer_step(&run, "2").await);
    for answer in shown {
        assert!(!reply_text(&answer).contains("ReACT"), "{answer}");
    }
}

#[tokio::test]
async fn guidance_comes_as_often_as_its_rule_says() {
    let kit = harness(&abc_prompts());
    let first = kit
        .call_engine(json!({ "command": "@ReACT #concise >>a --> >>b --> >>c" }))
        .await;
    let run = run_id(&first);
    let mut shown = vec![reply_text(&first)];
    shown.push(reply_text(&kit.answer_step(&run, "1").await));
    shown.push(reply_text(&kit.answer_step(&run, "2").await));
    let has = |word: &str| shown.iter().map(|it| it.contains(word)).collect::<Vec<_>>();
    assert_eq!(has("Work by ReACT"), [true, false, true]);
    assert_eq!(has("Style ("), [true, false, false]);
}

#[tokio::test]
async fn an_error_in_a_later_step_loses_no_answer() {
    let mut prompts = abc_prompts();
    prompts.push(prompt("broken", "{{ nobody_knows_this }}", ""));
    let kit = harness(&prompts);
    let run = run_id(
        &kit.call_engine(json!({ "command": ">>a --> >>broken --> >>b" }))
            .await,
    );
    let wrong = kit
        .error_text(json!({ "chain_id": run, "user_response": "kept" }))
        .await;
    assert!(
        wrong.contains("nobody_knows_this") && wrong.contains("broken"),
        "{wrong}"
    );
    // The answer is stored, and the chain can continue after the broken step.
    let skipped = kit
        .call_engine(json!({ "chain_id": run, "gate_action": "skip" }))
        .await;
    assert!(
        reply_text(&skipped).starts_with("Do b after: kept"),
        "{skipped}"
    );
}

#[tokio::test]
async fn skip_and_abort_work_at_any_time() {
    let kit = harness(&abc_prompts());
    let run = run_id(
        &kit.call_engine(json!({ "command": ">>a --> >>b --> >>c" }))
            .await,
    );
    let skipped = kit
        .call_engine(json!({ "chain_id": run, "gate_action": "skip" }))
        .await;
    assert_eq!(skipped["steps"], json!([2]));
    let aborted = kit
        .call_engine(json!({ "chain_id": run, "gate_action": "abort" }))
        .await;
    assert_eq!(aborted["status"], "aborted");
    let late = kit.answer_step(&run, "too late").await;
    assert_eq!(late["status"], "aborted");
    assert!(reply_text(&late).contains("input was ignored"), "{late}");
}

#[tokio::test]
async fn the_servers_model_can_run_a_chain_to_its_end() {
    let prompts = abc_prompts();
    let kit = EngineHarness::with_replies(
        &files(&prompts),
        &[
            "{\"answer\": \"A!\"}",
            "{\"answer\": \"B!\"}",
            "{\"answer\": \"C!\"}",
        ],
    );
    let end = kit
        .call_engine(json!({ "command": ">>a --> >>b --> >>c", "run": true }))
        .await;
    assert_eq!(end["status"], "done", "{end}");
    assert!(reply_text(&end).ends_with("C!"), "{end}");
    assert!(
        kit.model_requests()[2].contains("Do c: A! / B! / B!"),
        "{:?}",
        kit.model_requests()
    );
}

#[tokio::test]
async fn thirty_runs_of_one_chain_at_once_stay_apart() {
    let kit = harness(&abc_prompts());
    let other = kit.second_process();
    let starts = (0..30).map(|at| {
        let kit = if at % 2 == 0 { &kit } else { &other };
        kit.call_engine(json!({ "command": format!(">>a topic:'t{at}' --> >>b --> >>c") }))
    });
    let started: Vec<Value> = join_all(starts).await;
    let mut runs: Vec<String> = started.iter().map(run_id).collect();
    let ends = runs.iter().enumerate().map(|(at, run)| {
        let (one, two) = if at % 3 == 0 {
            (&kit, &other)
        } else {
            (&other, &kit)
        };
        async move {
            let second = one.answer_step(run, &format!("a{at}")).await;
            assert!(
                reply_text(&second).starts_with(&format!("Do b after: a{at}\n")),
                "{second}"
            );
            let third = two.answer_step(run, &format!("b{at}")).await;
            let expected = format!("Do c: a{at} / b{at} / b{at}");
            assert!(reply_text(&third).starts_with(&expected), "{third}");
        }
    });
    join_all(ends).await;
    runs.sort();
    runs.dedup();
    assert_eq!(runs.len(), 30);
}

#[tokio::test]
async fn a_run_survives_what_happens_to_its_prompts() {
    let kit = harness(&abc_prompts());
    let run = run_id(&kit.call_engine(json!({ "command": ">>a --> >>b" })).await);
    std::fs::remove_dir_all(kit.workspace().join("resources/prompts")).unwrap();
    let other = kit.second_process();
    assert!(
        other
            .error_text(json!({ "command": ">>b" }))
            .await
            .starts_with("UnknownName")
    );
    let next = other.answer_step(&run, "still here").await;
    assert!(
        reply_text(&next).starts_with("Do b after: still here"),
        "{next}"
    );
}

#[tokio::test]
async fn marks_at_a_step_are_for_that_step() {
    let kit = harness(&abc_prompts());
    let first = kit
        .call_engine(json!({ "command": ">>a --> @react #concise >>b --> >>c" }))
        .await;
    assert!(!reply_text(&first).contains("ReACT"), "{first}");
    let run = run_id(&first);
    let second = reply_text(&kit.answer_step(&run, "1").await);
    assert!(
        second.contains("Work by ReACT") && second.contains("Style ("),
        "{second}"
    );
    let third = reply_text(&kit.answer_step(&run, "2").await);
    assert!(
        !third.contains("ReACT") && !third.contains("Style ("),
        "{third}"
    );
}

#[tokio::test]
async fn answers_to_several_steps_sent_twice_are_taken_once() {
    let kit = harness(&abc_prompts());
    let run = run_id(
        &kit.call_engine(json!({ "command": ">>a + >>echo \"y\" --> >>c" }))
            .await,
    );
    let both = json!({ "1": "first", "2": "second" }).to_string();
    let one = kit.answer_step(&run, &both).await;
    let two = kit.answer_step(&run, &both).await;
    assert_eq!(one, two);
}

#[tokio::test]
async fn a_decision_sent_twice_is_one_decision() {
    let kit = harness(&abc_prompts());
    let command = ">>a --> ? \"Is it A?\" : >>echo \"1\" --> ? \"Is it B?\" : >>echo \"2\" --> >>b";
    let run = run_id(&kit.call_engine(json!({ "command": command })).await);
    kit.answer_step(&run, "plan").await;
    let no = json!({ "chain_id": run, "gate_verdict": "FAIL - no" });
    let one = kit.call_engine(no.clone()).await;
    assert!(reply_text(&one).contains("Is it B?"), "{one}");
    let two = kit.call_engine(no).await;
    assert!(reply_text(&two).contains("Is it B?"), "{two}");
    let yes = json!({ "chain_id": run, "user_response": "yes" });
    let three = kit.call_engine(yes.clone()).await;
    assert!(reply_text(&three).starts_with('2'), "{three}");
    assert!(reply_text(&kit.call_engine(yes).await).starts_with('2'));
}

#[tokio::test]
async fn what_is_skipped_with_an_answer_keeps_it() {
    let kit = harness(&abc_prompts());
    let run = run_id(&kit.call_engine(json!({ "command": ">>a --> >>b" })).await);
    let skip =
        json!({ "chain_id": run, "step": 1, "gate_action": "skip", "user_response": "half" });
    let next = kit.call_engine(skip.clone()).await;
    assert!(reply_text(&next).starts_with("Do b after: half"), "{next}");
    // A repeated call has the same result.
    assert_eq!(kit.call_engine(skip).await["steps"], json!([2]));
}
