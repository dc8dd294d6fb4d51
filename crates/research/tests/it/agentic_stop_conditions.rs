//! Tests of `agentic_research_question`: how it ends when a limit is reached, a step fails, or the
//! call is suspended.

use std::time::Duration;

use deliberate_research::AnswerOptions;
use serde_json::{Value, json};

use super::{
    answer_harness::{AnswerHarness, draft_reply, passage, sleep_passages},
    research_harness::ResearchHarness,
};
use crate::agentic::{
    TOOL, expanded_queries, question_arguments, scores, supported_draft, traced_nodes,
};

fn set_up(harness: &AnswerHarness) {
    harness.script_reply("expand", &expanded_queries());
    harness.script_reply("filters", &json!({}));
    harness.script_reply("grade", &scores(&[("p1", 90), ("p2", 70)]));
    harness.script_reply("answer", &supported_draft());
}

#[tokio::test]
async fn nothing_found_is_said_with_what_was_searched() {
    let room = AnswerHarness::new(Vec::new());
    room.script_reply("expand", &expanded_queries());
    room.script_reply("filters", &json!({}));
    room.script_reply("rewrite", &json!({ "query": "slumber" }));
    room.script_reply("rewrite", &json!({ "query": "repose" }));
    let output = room.call_ok(TOOL, question_arguments()).await;
    assert_eq!(output["status"], "nothing_found");
    assert_eq!(output["rounds"], 3);
    let said = output["said"].as_str().unwrap();
    for query in ["slumber", "repose", "napping and recall", "search_papers"] {
        assert!(said.contains(query), "{said}");
    }
}

#[tokio::test]
async fn what_can_not_be_looked_for_is_refused_before_anyone_thinks() {
    // Without a configured model it would ask the client first.
    let kit = ResearchHarness::new();
    for (scope, what) in [
        ("collection:nowhere", "there is no knowledge collection"),
        ("index:nowhere", "there is no custom index"),
        ("everything", "scope"),
    ] {
        let mut arguments = question_arguments();
        arguments["scope"] = json!(scope);
        let wrong = kit.call_error(TOOL, arguments).await;
        assert!(wrong.contains(what), "{scope}: {wrong}");
    }
    let wrong = kit.call_error(TOOL, json!({ "question": "?" })).await;
    assert!(wrong.contains("question: must contain"), "{wrong}");
}

#[tokio::test]
async fn what_the_model_says_of_nothing_found_is_no_query() {
    let room = AnswerHarness::new(sleep_passages());
    let nothing = "The passages do not say what caffeine is.";
    room.script_reply("answer", &draft_reply(&[(nothing, &[])]));
    let asked = json!({ "question": "What is caffeine?", "max_retries": 0 });
    let output = room.call_ok(TOOL, asked).await;
    assert_eq!(output["status"], "nothing_found", "{output}");
    let said = output["said"].as_str().unwrap();
    let (before, searched) = said.split_once("Searched").unwrap();
    assert!(before.contains(nothing), "{said}");
    assert!(!searched.contains(nothing), "{said}");
    assert!(searched.contains("- What is caffeine?"), "{said}");
}

#[tokio::test]
async fn few_calls_are_kept_for_the_answer() {
    let options = AnswerOptions {
        max_model_calls: 3,
        ..AnswerOptions::default()
    };
    let room = AnswerHarness::with_options(sleep_passages(), options, true);
    set_up(&room);
    let output = room.call_ok(TOOL, question_arguments()).await;
    // Two requests for the plan, one for the answer; grading was skipped.
    assert_eq!(room.purposes(), ["expand", "filters", "answer"]);
    assert_eq!(output["status"], "partial");
    assert!(output["left_out"].to_string().contains("grade"));
    assert!(
        output["said"]
            .as_str()
            .unwrap()
            .contains("78% of the pairs")
    );
}

#[tokio::test]
async fn spent_tokens_leave_what_was_found() {
    let options = AnswerOptions {
        max_tokens: 2_500,
        ..AnswerOptions::default()
    };
    let room = AnswerHarness::with_options(sleep_passages(), options, true);
    set_up(&room);
    let output = room.call_ok(TOOL, question_arguments()).await;
    assert_eq!(output["status"], "partial");
    assert!(
        output["left_out"].to_string().contains("tokens is reached"),
        "{output}"
    );
    assert_eq!(output["sources"].as_array().unwrap().len(), 2);
    assert_eq!(output["sentences"], json!([]));
}

#[tokio::test(start_paused = true)]
async fn spent_time_leaves_what_was_found() {
    let options = AnswerOptions {
        timeout: Duration::from_secs(20),
        ..AnswerOptions::default()
    };
    let room = AnswerHarness::with_options(sleep_passages(), options, true);
    room.model.hang();
    let output = room
        .call_ok(TOOL, json!({ "question": "What is caffeine?" }))
        .await;
    assert_eq!(output["status"], "partial");
    assert!(
        output["left_out"].to_string().contains("18 s is reached"),
        "{output}"
    );
    assert_eq!(output["sources"].as_array().unwrap().len(), 1);
}

#[tokio::test]
async fn a_model_that_fails_at_any_node_costs_no_more_than_that_node() {
    for silent in ["expand", "filters", "grade", "answer"] {
        let room = AnswerHarness::new(sleep_passages());
        for (purpose, reply) in [
            ("expand", expanded_queries()),
            ("filters", json!({})),
            ("grade", scores(&[("p1", 90), ("p2", 70)])),
            ("answer", supported_draft()),
        ] {
            if purpose != silent {
                room.script_reply(purpose, &reply);
            }
        }
        let output = room.call_ok(TOOL, question_arguments()).await;
        let status = if silent == "answer" {
            "partial"
        } else {
            "answered"
        };
        assert_eq!(output["status"], status, "{silent}: {output}");
        assert!(
            output["notes"].to_string().contains("request failed"),
            "{silent}"
        );
        assert_eq!(output["sources"].as_array().unwrap().len(), 2);
    }
}

#[tokio::test]
async fn an_unsupported_answer_is_withheld_when_no_try_is_left() {
    let room = AnswerHarness::new(sleep_passages());
    room.script_reply("expand", &expanded_queries());
    room.script_reply("filters", &json!({}));
    room.script_reply("grade", &scores(&[("p1", 90), ("p2", 70)]));
    let bad = draft_reply(&[("Sleepers recalled 12% of the word pairs.", &["p1"])]);
    for _ in 0..3 {
        room.script_reply("answer", &bad);
        room.script_reply("rewrite", &json!({ "query": "recall of pairs" }));
    }
    let output = room.call_ok(TOOL, question_arguments()).await;
    assert_eq!(output["status"], "withheld");
    assert_eq!(output["grounded"], false);
    assert_eq!(output["rounds"], 3);
    assert!(output["said"].as_str().unwrap().contains("12%"));
}

#[tokio::test]
async fn without_a_model_the_client_is_asked_node_by_node() {
    let room = AnswerHarness::without_model(sleep_passages());
    let reply = |key: &str| -> Value {
        match key.split('/').next().unwrap() {
            "expand" => expanded_queries(),
            "filters" => json!({}),
            "grade" => scores(&[("p1", 90), ("p2", 70)]),
            "answer" => supported_draft(),
            other => panic!("{other}"),
        }
    };
    let (output, asked) = room
        .call_with_client_replies(TOOL, question_arguments(), reply)
        .await;
    assert_eq!(
        asked,
        [vec!["expand", "filters"], vec!["grade/1"], vec!["answer/1"]]
    );
    assert_eq!(output["status"], "answered");
    // It retrieved once, however often it was replayed.
    assert_eq!(room.retriever.queries.lock().unwrap().len(), 3);
    assert_eq!(traced_nodes(&output).last().unwrap(), "check");
}

#[tokio::test]
async fn a_call_that_is_taken_back_ends() {
    let room = AnswerHarness::new(sleep_passages());
    room.model.hang();
    let caller = deliberate_toolkit::CallerContext::default();
    let cancelled = caller.cancellation.clone();
    let call = room.registry.call(TOOL, question_arguments(), caller);
    let (outcome, ()) = tokio::join!(call, async {
        tokio::task::yield_now().await;
        cancelled.cancel();
    });
    assert_eq!(outcome.unwrap_err().code(), "Cancelled");
}

#[tokio::test]
async fn bad_input_is_refused() {
    let room = AnswerHarness::new(sleep_passages());
    for (arguments, field) in [
        (json!({ "question": "" }), "question"),
        (json!({ "question": "x", "max_sources": 21 }), "max_sources"),
        (json!({ "question": "x", "max_retries": 6 }), "max_retries"),
        (json!({ "question": "x", "scope": "collection:" }), "scope"),
    ] {
        let error = room.call(TOOL, arguments).await.unwrap_err();
        assert_eq!(error.code(), "Validation");
        assert!(error.to_string().contains(field), "{error}");
    }
    assert_eq!(room.purposes(), Vec::<String>::new());
}

#[tokio::test(start_paused = true)]
async fn a_model_that_hangs_leaves_time_for_the_search() {
    let room = AnswerHarness::new(sleep_passages());
    room.model.hang();
    let output = room.call_ok(TOOL, question_arguments()).await;
    assert_eq!(output["status"], "partial");
    assert_eq!(output["sources"].as_array().unwrap().len(), 2);
    let nodes = traced_nodes(&output);
    assert!(nodes.contains(&"retrieve".to_owned()), "{nodes:?}");
    assert!(
        output["notes"].to_string().contains("took longer"),
        "{output}"
    );
}

#[tokio::test]
async fn few_tokens_are_kept_for_the_answer() {
    let options = AnswerOptions {
        max_tokens: 5_000,
        ..AnswerOptions::default()
    };
    let long = format!(
        "Those who slept recalled 78% of the pairs. {}",
        "They slept well. ".repeat(100)
    );
    let passages = (0..6).map(|at| passage("sleep", "Petrov", 2021, at + 1, &long));
    let room = AnswerHarness::with_options(passages.collect(), options, true);
    let good = draft_reply(&[("Those who slept recalled 78% of the pairs.", &["p1"])]);
    room.script_reply("answer", &good);
    let output = room.call_ok(TOOL, question_arguments()).await;
    assert_eq!(room.purposes(), ["answer"]);
    assert_eq!(output["status"], "partial", "{output}");
    assert_eq!(output["sentences"][0]["verdict"], "supported");
    let shown = room
        .last_prompt("answer")
        .matches("<passage-7e57ed ")
        .count();
    assert!((1..6).contains(&shown), "{shown} passages fit");
}

#[tokio::test]
async fn what_had_to_be_asked_again_is_counted() {
    let room = AnswerHarness::new(sleep_passages());
    room.script_reply("expand", &json!("no JSON object"));
    room.script_reply("expand", &json!("nor this"));
    room.script_reply("filters", &json!("nor this"));
    room.script_reply("filters", &json!({}));
    room.script_reply("grade", &scores(&[("p1", 90), ("p2", 70)]));
    room.script_reply("answer", &supported_draft());
    let output = room.call_ok(TOOL, question_arguments()).await;
    assert_eq!(output["status"], "answered");
    assert_eq!(room.purposes().len(), 6);
    assert_eq!(output["spent"]["model_calls"], 6);
}

#[tokio::test]
async fn a_model_can_not_vouch_with_words_about_something_else() {
    for (claim, quote) in [
        (
            "Melatonin tablets cure insomnia.",
            "Longer naps had no further benefit.",
        ),
        (
            "Naps of Kenyan pilots are useless.",
            "A nap of 20 minutes improved recall of word pairs",
        ),
        (
            "Dozing spoils what one knows.",
            "Longer naps had no further benefit.",
        ),
        (
            "The adults quarrelled and broke several windows of the house.",
            "A nap of 20 minutes improved recall of word pairs",
        ),
    ] {
        let room = AnswerHarness::new(sleep_passages());
        room.script_reply("expand", &json!({ "queries": [] }));
        room.script_reply("filters", &json!({}));
        room.script_reply("grade", &scores(&[("p1", 90), ("p2", 90)]));
        room.script_reply("answer", &draft_reply(&[(claim, &["p2"])]));
        let opinion =
            json!({ "number": 1, "verdict": "supported", "passage": "p2", "quote": quote });
        room.script_reply("check", &json!({ "claims": [opinion] }));
        let mut arguments = question_arguments();
        arguments["max_retries"] = json!(0);
        let output = room.call_ok(TOOL, arguments).await;
        assert_eq!(output["status"], "withheld", "{claim}: {output}");
    }
}
