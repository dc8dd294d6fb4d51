//! Tests of `agentic_research_question`: paths through the graph.

use serde_json::{Value, json};

use super::answer_harness::{AnswerHarness, draft_reply, passage, sleep_passages};

pub(crate) const TOOL: &str = "agentic_research_question";

pub(crate) fn question_arguments() -> Value {
    json!({ "question": "Does sleep improve recall of word pairs?" })
}

pub(crate) fn supported_draft() -> Value {
    draft_reply(&[
        (
            "Students who slept recalled 78% of the pairs, against 61% of those awake.",
            &["p1"],
        ),
        ("A nap of 20 minutes improved recall by 9%.", &["p2"]),
    ])
}

pub(crate) fn expanded_queries() -> Value {
    json!({ "queries": ["1. sleep-dependent memory consolidation", "napping and recall"] })
}

pub(crate) fn scores(all: &[(&str, u32)]) -> Value {
    let all = all
        .iter()
        .map(|(id, score)| json!({ "passage": id, "score": score }));
    json!({ "scores": all.collect::<Vec<_>>() })
}

pub(crate) fn traced_nodes(output: &Value) -> Vec<String> {
    let trace = output["trace"].as_array().unwrap();
    trace
        .iter()
        .map(|it| it["node"].as_str().unwrap().to_owned())
        .collect()
}

#[tokio::test]
async fn a_standard_question_goes_the_whole_way() {
    let room = AnswerHarness::new(sleep_passages());
    room.script_reply("expand", &expanded_queries());
    room.script_reply("filters", &json!({}));
    room.script_reply("grade", &scores(&[("p1", 90), ("p2", 70)]));
    room.script_reply("answer", &supported_draft());
    let output = room.call_ok(TOOL, question_arguments()).await;
    assert_eq!(output["status"], "answered");
    assert_eq!(output["grounded"], true);
    assert_eq!(output["query_type"], "standard");
    assert_eq!(output["confidence"], 1.0);
    assert_eq!(output["assessment"], "correct");
    assert_eq!(output["rounds"], 1);
    assert_eq!(output["queries"][1], "sleep-dependent memory consolidation");
    assert_eq!(
        traced_nodes(&output),
        [
            "classify", "expand", "filters", "retrieve", "grade", "assess", "refine", "rerank",
            "generate", "check"
        ]
    );
    // Three queries at once, and one model request for all passages of the round.
    assert_eq!(room.retriever.queries.lock().unwrap().len(), 3);
    assert_eq!(room.purposes(), ["expand", "filters", "grade", "answer"]);
    assert_eq!(output["spent"]["model_calls"], 4);
    let told = room.progress.lock().unwrap();
    let done: Vec<f64> = told.iter().map(|it| it.done).collect();
    assert!(done.windows(2).all(|it| it[0] < it[1]), "{done:?}");
    assert!(told.iter().all(|it| it.total == Some(100.0)));
    assert!(told.iter().any(|it| it.message == "grading 2 passages"));
    assert!(told.iter().any(|it| (it.done - 55.0).abs() < 0.5));
}

#[tokio::test]
async fn a_direct_question_is_looked_up_at_once() {
    let room = AnswerHarness::new(sleep_passages());
    room.script_reply(
        "answer",
        &draft_reply(&[("Caffeine did not change recall.", &["p1"])]),
    );
    let output = room
        .call_ok(TOOL, json!({ "question": "What is caffeine?" }))
        .await;
    assert_eq!(output["query_type"], "direct");
    assert_eq!(output["status"], "answered");
    // Nothing was graded, but every claim is supported.
    assert_eq!(output["confidence"], 1.0);
    assert_eq!(output["sentences"][0]["judged_by"], "code");
    assert_eq!(
        traced_nodes(&output),
        ["classify", "retrieve", "rerank", "generate", "check"]
    );
}

#[tokio::test]
async fn a_question_of_several_parts_is_taken_apart() {
    let room = AnswerHarness::new(sleep_passages());
    room.script_reply(
        "decompose",
        &json!({ "queries": ["sleep and recall", "naps and recall"] }),
    );
    room.script_reply("grade", &scores(&[("p1", 90), ("p2", 90)]));
    room.script_reply("answer", &supported_draft());
    let question = json!({ "question": "Compare night sleep versus naps for recall" });
    let output = room.call_ok(TOOL, question).await;
    assert_eq!(output["query_type"], "multi_hop");
    assert_eq!(output["queries"].as_array().unwrap().len(), 3);
    assert_eq!(output["status"], "answered");
}

#[tokio::test]
async fn filters_of_the_question_are_applied_and_others_are_not() {
    let room = AnswerHarness::new(sleep_passages());
    room.script_reply("expand", &json!({ "queries": [] }));
    room.script_reply(
        "filters",
        &json!({ "year_from": 2020, "author": "Nobody", "document_type": "poem" }),
    );
    room.script_reply("grade", &scores(&[("p1", 90)]));
    room.script_reply(
        "answer",
        &draft_reply(&[("Caffeine did not change recall.", &["p1"])]),
    );
    let question =
        json!({ "question": "What did papers since 2020 say about caffeine and recall?" });
    let output = room.call_ok(TOOL, question).await;
    let looked = room.retriever.queries.lock().unwrap();
    assert_eq!(looked[0].filter.date_from.unwrap().year, 2020);
    assert_eq!(looked[0].filter.author, None);
    assert_eq!(output["sources"].as_array().unwrap().len(), 1);
    let notes = output["notes"].to_string();
    assert!(
        notes.contains("by Nobody") && notes.contains("of kind poem"),
        "{notes}"
    );
}

#[tokio::test]
async fn filters_that_leave_nothing_are_dropped_with_a_note() {
    let room = AnswerHarness::new(sleep_passages());
    room.script_reply("expand", &json!({ "queries": [] }));
    room.script_reply("filters", &json!({ "year_from": 2025 }));
    room.script_reply("grade", &scores(&[("p1", 90), ("p2", 90)]));
    room.script_reply("answer", &supported_draft());
    let question = json!({ "question": "Since 2025, does sleep improve recall of pairs?" });
    let output = room.call_ok(TOOL, question).await;
    assert_eq!(output["status"], "answered");
    assert!(
        output["notes"]
            .to_string()
            .contains("all papers were searched")
    );
}

#[tokio::test]
async fn what_does_not_help_is_asked_for_in_another_way() {
    let mut passages = sleep_passages();
    passages.push(passage(
        "dreams",
        "Ito",
        2018,
        2,
        "Dreaming had no link with hippocampal replay.",
    ));
    let room = AnswerHarness::new(passages);
    room.script_reply("expand", &json!({ "queries": [] }));
    room.script_reply("filters", &json!({}));
    room.script_reply("grade", &scores(&[("p1", 10), ("p2", 5)]));
    room.script_reply(
        "rewrite",
        &json!({ "query": "hippocampal replay dreaming" }),
    );
    room.script_reply("grade", &scores(&[("p3", 95)]));
    room.script_reply(
        "answer",
        &draft_reply(&[("Dreaming had no link with hippocampal replay.", &["p3"])]),
    );
    let output = room.call_ok(TOOL, question_arguments()).await;
    assert_eq!(output["status"], "answered");
    assert_eq!(output["rounds"], 2);
    assert_eq!(
        output["sentences"][0]["citations"][0]["cite_key"],
        "ito2018dreams"
    );
    assert_eq!(
        traced_nodes(&output)[6..9],
        ["rewrite", "retrieve", "grade"]
    );
}

#[tokio::test]
async fn an_answer_that_does_not_hold_is_tried_again_with_all_evidence() {
    let mut passages = sleep_passages();
    passages.push(passage(
        "dreams",
        "Ito",
        2018,
        2,
        "Dreaming had no link with hippocampal replay.",
    ));
    let room = AnswerHarness::new(passages);
    room.script_reply("expand", &json!({ "queries": [] }));
    room.script_reply("filters", &json!({}));
    room.script_reply("grade", &scores(&[("p1", 90), ("p2", 90)]));
    room.script_reply(
        "answer",
        &draft_reply(&[("Sleepers recalled 12% of the word pairs.", &["p1"])]),
    );
    room.script_reply(
        "rewrite",
        &json!({ "query": "hippocampal replay dreaming" }),
    );
    room.script_reply("grade", &scores(&[("p3", 95)]));
    room.script_reply("answer", &supported_draft());
    let output = room.call_ok(TOOL, question_arguments()).await;
    assert_eq!(output["status"], "answered");
    let last = room.last_prompt("answer");
    // The passages of the first round are still there, and the problems are passed on.
    assert!(
        last.contains("id=\"p1\"") && last.contains("id=\"p3\""),
        "{last}"
    );
    assert!(last.contains("12%"), "{last}");
}

#[tokio::test]
async fn a_model_may_settle_what_is_only_put_in_other_words() {
    for (quote, status) in [
        ("Longer naps had no further benefit.", "answered"),
        ("Longer naps were of further benefit.", "withheld"),
    ] {
        let room = AnswerHarness::new(sleep_passages());
        room.script_reply("expand", &json!({ "queries": [] }));
        room.script_reply("filters", &json!({}));
        room.script_reply("grade", &scores(&[("p1", 90), ("p2", 90)]));
        let claim = "There was no additional advantage of a lengthy nap.";
        room.script_reply("answer", &draft_reply(&[(claim, &["p2"])]));
        room.script_reply(
            "check",
            &json!({ "claims": [
                { "number": 1, "reason": "It says so.", "passage": "p2", "quote": quote, "verdict": "supported" },
            ] }),
        );
        let mut arguments = question_arguments();
        arguments["max_retries"] = json!(0);
        let output = room.call_ok(TOOL, arguments).await;
        assert_eq!(output["status"], status, "{output}");
        // The model quotes before it judges, and no grammar ends the quote in the middle.
        let requests = room.requests();
        let check = requests.iter().find(|it| it.purpose.as_str() == "check");
        let schema = check.unwrap().schema.to_string();
        assert!(
            schema.find("\"reason\"") < schema.find("\"quote\"")
                && schema.find("\"quote\"") < schema.find("\"verdict\""),
            "{schema}"
        );
        assert!(!schema.contains("\"maxLength\":400"), "{schema}");
        // Support by a model must be distinguishable from support by code.
        let by_model = status == "answered";
        let judge = if by_model { "model" } else { "nobody" };
        assert_eq!(output["sentences"][0]["judged_by"], judge);
        let said = output["said"].as_str().unwrap();
        assert_eq!(
            said.contains("✓ (a model's judgment) ["),
            by_model,
            "{said}"
        );
    }
}

#[tokio::test]
async fn long_passages_are_refined_word_for_word() {
    let filler = "The weather was fine that day and nobody complained about it. ".repeat(60);
    let long = format!("{filler}Those who slept recalled 78% of the word pairs.");
    let room = AnswerHarness::new(vec![
        passage("a", "Ito", 2020, 1, &long),
        passage(
            "b",
            "Ito",
            2021,
            1,
            &format!("Naps helped recall. {filler}"),
        ),
    ]);
    room.script_reply("expand", &json!({ "queries": [] }));
    room.script_reply("filters", &json!({}));
    room.script_reply("grade", &scores(&[("p1", 90), ("p2", 90)]));
    room.script_reply(
        "refine",
        &json!({ "passages": [{ "passage": "p1", "sentences": [1] }, { "passage": "p2", "sentences": [1] }] }),
    );
    room.script_reply("answer", &draft_reply(&[("Naps helped recall.", &["p2"])]));
    let output = room.call_ok(TOOL, question_arguments()).await;
    assert_eq!(output["status"], "answered");
    let asked = room.last_prompt("answer");
    assert!(
        asked.contains("Naps helped recall.\n</passage-7e57ed>"),
        "{asked}"
    );
}
