//! Steps of a chain: outputs, input mappings, nested chains, parallel steps, conditions, tools.

use serde_json::json;

use super::engine_support::{reply_text, run_id};
use crate::chains::{abc_prompts, harness, prompt};

const CHAIN: &str = "chainSteps:\n\
    \x20 - {promptId: flow/one, stepName: First, outputMapping: {draft: output}}\n\
    \x20 - {promptId: flow/two, stepName: Second, inputMapping: {material: draft, ask: chain_args.topic}}\n\
    \x20 - {promptId: flow/three, stepName: Third, inputMapping: {x: step1_result, y: steps.Second.output.score}}\n\
    arguments: [{name: topic, required: true}]\n";

fn flow_files() -> Vec<(String, String)> {
    vec![
        prompt("flow", "never shown", CHAIN),
        prompt(
            "flow/one",
            "One on {{ topic }}.",
            "arguments: [{name: topic, required: true}]\n",
        ),
        prompt(
            "flow/two",
            "Two: {{ material }} for {{ ask }}.",
            "arguments: [{name: material, required: true}, {name: ask}]\n",
        ),
        prompt(
            "flow/three",
            "Three: {{ x }} scored {{ y }}.",
            "arguments: [{name: x}, {name: y}]\n",
        ),
    ]
}

#[tokio::test]
async fn named_outputs_and_mappings_reach_later_steps() {
    let kit = harness(&flow_files());
    let first = kit
        .call_engine(json!({ "command": ">>flow topic:\"tea\"" }))
        .await;
    assert!(reply_text(&first).starts_with("One on tea."), "{first}");
    let run = run_id(&first);
    let second = kit.answer_step(&run, "the draft").await;
    assert!(
        reply_text(&second).starts_with("Two: the draft for tea."),
        "{second}"
    );
    let third = kit.answer_step(&run, "{\"score\": 7}").await;
    assert!(
        reply_text(&third).starts_with("Three: the draft scored 7."),
        "{third}"
    );
}

#[tokio::test]
async fn a_chain_within_a_chain_is_unfolded() {
    let mut prompts = flow_files();
    prompts.push(prompt(
        "outer",
        "never shown",
        "chainSteps:\n  - {promptId: a, stepName: Before}\n  - {promptId: flow, stepName: Inner, \
         inputMapping: {topic: previous_step_result}, outputMapping: {all: output}}\n  \
         - {promptId: echo, stepName: After, inputMapping: {text: all}}\n",
    ));
    prompts.extend(abc_prompts());
    let kit = harness(&prompts);
    let first = kit.call_engine(json!({ "command": ">>outer" })).await;
    assert_eq!(first["total_steps"], 5);
    let run = run_id(&first);
    let second = kit.answer_step(&run, "mint").await;
    assert!(reply_text(&second).starts_with("One on mint."), "{second}");
    kit.answer_step(&run, "d").await;
    kit.answer_step(&run, "{\"score\": 1}").await;
    let last = kit.answer_step(&run, "the end of the inner one").await;
    assert!(
        reply_text(&last).starts_with("the end of the inner one"),
        "{last}"
    );
}

#[tokio::test]
async fn steps_side_by_side_are_answered_in_any_order() {
    let kit = harness(&abc_prompts());
    let first = kit
        .call_engine(json!({ "command": ">>a topic:'x' + >>echo \"y + z\" --> >>c" }))
        .await;
    assert_eq!(first["steps"], json!([1, 2]));
    assert!(
        reply_text(&first).contains("## Step 2: Echo") && reply_text(&first).contains("y + z"),
        "{first}"
    );
    let run = run_id(&first);
    let wrong = kit
        .error_text(json!({ "chain_id": run, "user_response": "which?" }))
        .await;
    assert!(wrong.starts_with("WhichStep"), "{wrong}");
    let half = kit
        .call_engine(json!({ "chain_id": run, "step": 2, "user_response": "second" }))
        .await;
    assert_eq!(half["steps"], json!([1]));
    let next = kit
        .call_engine(json!({ "chain_id": run, "step": 1, "user_response": "first" }))
        .await;
    assert!(
        reply_text(&next).starts_with("Do c: first / second / "),
        "{next}"
    );
}

#[tokio::test]
async fn steps_side_by_side_can_be_answered_at_once() {
    let kit = harness(&abc_prompts());
    let run = run_id(
        &kit.call_engine(json!({ "command": ">>a + >>echo \"y\" --> >>c" }))
            .await,
    );
    let both = json!({ "1": "first", "Echo": "second" }).to_string();
    let next = kit.answer_step(&run, &both).await;
    assert!(
        reply_text(&next).starts_with("Do c: first / second / "),
        "{next}"
    );
}

#[tokio::test]
async fn a_condition_that_can_be_computed_is() {
    let kit = harness(&abc_prompts());
    for (answer, expected) in [("all good", "good"), ("all bad", "bad")] {
        let command =
            ">>a --> ? \"'good' in previous_step_result\" : >>echo \"good\" : >>echo \"bad\"";
        let run = run_id(&kit.call_engine(json!({ "command": command })).await);
        let next = kit.answer_step(&run, answer).await;
        assert!(reply_text(&next).starts_with(expected), "{next}");
        let end = kit.answer_step(&run, "fine").await;
        assert_eq!(end["status"], "done");
    }
}

#[tokio::test]
async fn a_condition_in_plain_words_is_asked() {
    let kit = harness(&abc_prompts());
    let command = ">>a --> ? \"Is the plan sound?\" : >>echo \"sound\" : >>echo \"unsound\"";
    let run = run_id(&kit.call_engine(json!({ "command": command })).await);
    let asked = kit.answer_step(&run, "my plan").await;
    assert_eq!(asked["status"], "question");
    assert!(reply_text(&asked).contains("Is the plan sound?"), "{asked}");
    let no = json!({ "chain_id": run, "gate_verdict": "FAIL - too thin" });
    assert!(reply_text(&kit.call_engine(no).await).starts_with("unsound"));
}

#[tokio::test]
async fn a_step_can_run_a_tool_and_both_are_kept_together() {
    let kit = harness(&[
        prompt(
            "noting",
            "never",
            "arguments: [{name: title}]\nchainSteps:\n  - {tool: note_down, stepName: Note, \
             arguments: {title: 'On {{ title }}', times: '{{ count }}'}, outputMapping: {noted: output}}\n  \
             - {tool: note_down, stepName: Again, arguments: {title: '{{ noted.title }} again'}}\n  \
             - {promptId: after, stepName: After}\n",
        ),
        prompt(
            "after",
            "Noted {{ noted.title }} {{ noted.times }} and {{ steps.Again.output.title }}.",
            "",
        ),
    ]);
    let first = kit
        .call_engine(json!({ "command": ">>noting title:'tea'", "options": { "count": 3 } }))
        .await;
    assert!(
        reply_text(&first).starts_with("Noted On tea 3 and On tea again."),
        "{first}"
    );
    assert_eq!(first["steps"], json!([3]));
    let state = kit.store.info().await.unwrap();
    assert_eq!(state.sessions, 2);
}

#[tokio::test]
async fn a_tool_that_fails_leaves_the_run_where_it_is() {
    let kit = harness(&[prompt(
        "noting",
        "never",
        "chainSteps:\n  - {promptId: echo, stepName: Ask, inputMapping: {}}\n  \
             - {tool: note_down, stepName: Note, arguments: {title: '{{ previous_step_result }}'}}\n  \
             - {promptId: echo, stepName: End}\n\
             arguments: [{name: text}]\n",
    )]);
    let run = run_id(
        &kit.call_engine(json!({ "command": ">>noting text:'go'" }))
            .await,
    );
    let wrong = kit
        .error_text(json!({ "chain_id": run, "user_response": "refuse" }))
        .await;
    assert!(
        wrong.starts_with("ToolFailed") && wrong.contains(&run),
        "{wrong}"
    );
    assert_eq!(kit.store.info().await.unwrap().sessions, 0);
    let next = kit
        .call_engine(json!({ "chain_id": run, "gate_action": "skip" }))
        .await;
    assert_eq!(next["steps"], json!([3]), "{next}");
}

#[tokio::test]
async fn a_tool_that_thinks_is_thought_for_by_the_client() {
    let kit = harness(&[
        prompt(
            "pondering",
            "never",
            "arguments: [{name: topic}]\nchainSteps:\n  - {tool: ponder, stepName: One, arguments: {about: '{{ topic }}'}}\n  \
             - {tool: ponder, stepName: Two, arguments: {about: '{{ steps.One.output.thought }}'}}\n  \
             - {promptId: after, stepName: After}\n",
        ),
        prompt(
            "after",
            "{{ step1_result }} then {{ steps.Two.output.thought }}",
            "",
        ),
    ]);
    let first = kit
        .call_engine(json!({ "command": ">>pondering topic:'tea'" }))
        .await;
    let id = first["needs_reply"]["id"].as_str().unwrap().to_owned();
    let reply = |id: &str, thought: &str| json!({ "id": id, "replies": [{ "thought": thought }] });
    let second = kit
        .call("reasoning_resume", reply(&id, "one"))
        .await
        .unwrap();
    assert_eq!(
        second["needs_reply"]["asks"][0]["messages"][0]["text"], "one",
        "{second}"
    );
    let id = second["needs_reply"]["id"].as_str().unwrap().to_owned();
    let third = kit
        .call("reasoning_resume", reply(&id, "two"))
        .await
        .unwrap();
    assert!(reply_text(&third).contains("then two"), "{third}");
}

#[tokio::test]
async fn steps_side_by_side_are_all_what_came_before() {
    let mut prompts = abc_prompts();
    prompts.push(prompt(
        "join",
        "Join: {{ content }}",
        "arguments: [{name: content, required: true}]\n",
    ));
    let kit = harness(&prompts);
    let run = run_id(
        &kit.call_engine(json!({ "command": ">>a + >>echo \"y\" --> >>join" }))
            .await,
    );
    let both = json!({ "1": "first", "2": "second" }).to_string();
    let next = reply_text(&kit.answer_step(&run, &both).await);
    assert!(next.contains("first") && next.contains("second"), "{next}");
}

#[tokio::test]
async fn a_nested_chain_counts_its_own_steps() {
    let mut prompts = flow_files();
    prompts.extend(abc_prompts());
    let kit = harness(&prompts);
    let run = run_id(
        &kit.call_engine(json!({ "command": ">>a --> >>flow topic:'mint' --> >>echo \"end\"" }))
            .await,
    );
    kit.answer_step(&run, "before").await;
    let two = reply_text(&kit.answer_step(&run, "draft").await);
    assert!(two.starts_with("Two: draft for mint."), "{two}");
    let three = reply_text(&kit.answer_step(&run, "{\"score\": 2}").await);
    assert!(three.starts_with("Three: draft scored 2."), "{three}");
}

#[tokio::test]
async fn a_chain_that_takes_what_came_before_has_it_in_every_step() {
    let mut prompts = flow_files();
    prompts.extend(abc_prompts());
    let kit = harness(&prompts);
    let run = run_id(
        &kit.call_engine(json!({ "command": ">>a --> >>flow" }))
            .await,
    );
    let one = reply_text(&kit.answer_step(&run, "mint").await);
    assert!(one.starts_with("One on mint."), "{one}");
    let two = reply_text(&kit.answer_step(&run, "draft").await);
    assert!(two.starts_with("Two: draft for mint."), "{two}");
}

#[tokio::test]
async fn what_is_declared_and_not_given_is_absent_in_tools_and_conditions() {
    let kit = harness(&[
        prompt(
            "memo",
            "never",
            "arguments: [{name: title, required: true}, {name: more}]\nchainSteps:\n  \
             - {tool: note_down, stepName: Note, arguments: {title: '{{ title }}{% if more %}!{% endif %}'}}\n  \
             - {when: 'more and title', promptId: echo, stepName: More, inputMapping: {text: more}, \
             otherwise: {promptId: after, stepName: Less}}\n",
        ),
        prompt("after", "Noted {{ steps.Note.output.title }}.", ""),
    ]);
    let first = kit
        .call_engine(json!({ "command": ">>memo title:'tea'" }))
        .await;
    assert!(reply_text(&first).starts_with("Noted tea."), "{first}");
}

#[tokio::test]
async fn what_can_never_work_is_told_before_the_work() {
    let kit = harness(&[
        prompt(
            "needs",
            "{{ must }}",
            "arguments: [{name: must, required: true}]\n",
        ),
        prompt(
            "bad_tool",
            "never",
            "chainSteps: [{promptId: echo, stepName: A, inputMapping: {text: chain_id}}, {tool: no_such_tool, stepName: B, arguments: {}}]\n",
        ),
        prompt(
            "bad_need",
            "never",
            "chainSteps: [{promptId: echo, stepName: A, inputMapping: {text: chain_id}}, {promptId: needs, stepName: B}]\n",
        ),
    ]);
    assert!(
        kit.error_text(json!({ "command": ">>bad_tool" }))
            .await
            .contains("no_such_tool")
    );
    assert!(
        kit.error_text(json!({ "command": ">>bad_need" }))
            .await
            .contains("`must`")
    );
    let wrong = kit
        .error_text(json!({ "command": ">>echo \"x\" --> ? \"nosuchvar == 1\" : >>echo \"y\"" }))
        .await;
    assert!(wrong.contains("nosuchvar"), "{wrong}");
}

#[tokio::test]
async fn a_chain_that_contains_itself_is_told() {
    let kit = harness(&[
        prompt("x", "-", "chainSteps: [{promptId: y, stepName: Y}]\n"),
        prompt("y", "-", "chainSteps: [{promptId: x, stepName: X}]\n"),
    ]);
    let library = kit.library.library().await;
    let told = library
        .problems
        .iter()
        .any(|it| it.message.contains("x → y → x") || it.message.contains("y → x → y"));
    assert!(told, "{:?}", library.problems);
}
