//! `agentic_research_question`: how it ends when something runs out, fails, or has to wait.

use std::{sync::atomic::Ordering, time::Duration};

use deliberate_research::AnswerOptions;
use serde_json::{Value, json};

use crate::{
    agentic::{TOOL, ask, expanded, good, nodes, scores},
    answer_kit::{Room, draft, passage, sleep},
    collect_kit::Kit,
};

fn set_up(room: &Room) {
    room.will_say("expand", &expanded());
    room.will_say("filters", &json!({}));
    room.will_say("grade", &scores(&[("p1", 90), ("p2", 70)]));
    room.will_say("answer", &good());
}

#[tokio::test]
async fn nothing_found_is_said_with_what_was_searched() {
    let room = Room::new(Vec::new());
    room.will_say("expand", &expanded());
    room.will_say("filters", &json!({}));
    room.will_say("rewrite", &json!({ "query": "slumber" }));
    room.will_say("rewrite", &json!({ "query": "repose" }));
    let output = room.done(TOOL, ask()).await;
    assert_eq!(output["status"], "nothing_found");
    assert_eq!(output["rounds"], 3);
    let said = output["said"].as_str().unwrap();
    for query in ["slumber", "repose", "napping and recall", "search_papers"] {
        assert!(said.contains(query), "{said}");
    }
}

#[tokio::test]
async fn what_can_not_be_looked_for_is_refused_before_anyone_thinks() {
    // Without a model of its own it would ask the client first.
    let kit = Kit::new();
    for (scope, what) in [
        ("collection:nowhere", "there is no knowledge collection"),
        ("index:nowhere", "there is no custom index"),
        ("everything", "scope"),
    ] {
        let mut arguments = ask();
        arguments["scope"] = json!(scope);
        let wrong = kit.wrong(TOOL, arguments).await;
        assert!(wrong.contains(what), "{scope}: {wrong}");
    }
    let wrong = kit.wrong(TOOL, json!({ "question": "?" })).await;
    assert!(wrong.contains("question: needs"), "{wrong}");
}

#[tokio::test]
async fn what_the_model_says_of_nothing_found_is_no_query() {
    let room = Room::new(sleep());
    let nothing = "The passages do not say what caffeine is.";
    room.will_say("answer", &draft(&[(nothing, &[])]));
    let asked = json!({ "question": "What is caffeine?", "max_retries": 0 });
    let output = room.done(TOOL, asked).await;
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
        model_calls: 3,
        ..AnswerOptions::default()
    };
    let room = Room::with(sleep(), options, true);
    set_up(&room);
    let output = room.done(TOOL, ask()).await;
    // Two for the plan, one for the answer; grading was left out.
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
        tokens: 2_500,
        ..AnswerOptions::default()
    };
    let room = Room::with(sleep(), options, true);
    set_up(&room);
    let output = room.done(TOOL, ask()).await;
    assert_eq!(output["status"], "partial");
    assert!(
        output["left_out"].to_string().contains("tokens are spent"),
        "{output}"
    );
    assert_eq!(output["sources"].as_array().unwrap().len(), 2);
    assert_eq!(output["sentences"], json!([]));
}

#[tokio::test(start_paused = true)]
async fn spent_time_leaves_what_was_found() {
    let options = AnswerOptions {
        time: Duration::from_secs(20),
        ..AnswerOptions::default()
    };
    let room = Room::with(sleep(), options, true);
    room.model.hangs.store(true, Ordering::Relaxed);
    let output = room
        .done(TOOL, json!({ "question": "What is caffeine?" }))
        .await;
    assert_eq!(output["status"], "partial");
    assert!(
        output["left_out"].to_string().contains("18 s are spent"),
        "{output}"
    );
    assert_eq!(output["sources"].as_array().unwrap().len(), 1);
}

#[tokio::test]
async fn a_model_that_fails_at_any_node_costs_no_more_than_that_node() {
    for silent in ["expand", "filters", "grade", "answer"] {
        let room = Room::new(sleep());
        for (purpose, reply) in [
            ("expand", expanded()),
            ("filters", json!({})),
            ("grade", scores(&[("p1", 90), ("p2", 70)])),
            ("answer", good()),
        ] {
            if purpose != silent {
                room.will_say(purpose, &reply);
            }
        }
        let output = room.done(TOOL, ask()).await;
        let status = if silent == "answer" {
            "partial"
        } else {
            "answered"
        };
        assert_eq!(output["status"], status, "{silent}: {output}");
        assert!(
            output["notes"].to_string().contains("could not be asked"),
            "{silent}"
        );
        assert_eq!(output["sources"].as_array().unwrap().len(), 2);
    }
}

#[tokio::test]
async fn an_unsupported_answer_is_withheld_when_no_try_is_left() {
    let room = Room::new(sleep());
    room.will_say("expand", &expanded());
    room.will_say("filters", &json!({}));
    room.will_say("grade", &scores(&[("p1", 90), ("p2", 70)]));
    let bad = draft(&[("Sleepers recalled 12% of the word pairs.", &["p1"])]);
    for _ in 0..3 {
        room.will_say("answer", &bad);
        room.will_say("rewrite", &json!({ "query": "recall of pairs" }));
    }
    let output = room.done(TOOL, ask()).await;
    assert_eq!(output["status"], "withheld");
    assert_eq!(output["grounded"], false);
    assert_eq!(output["rounds"], 3);
    assert!(output["said"].as_str().unwrap().contains("12%"));
}

#[tokio::test]
async fn without_a_model_the_client_is_asked_node_by_node() {
    let room = Room::without_model(sleep());
    let reply = |key: &str| -> Value {
        match key.split('/').next().unwrap() {
            "expand" => expanded(),
            "filters" => json!({}),
            "grade" => scores(&[("p1", 90), ("p2", 70)]),
            "answer" => good(),
            other => panic!("{other}"),
        }
    };
    let (output, asked) = room.driven(TOOL, ask(), reply).await;
    assert_eq!(
        asked,
        [vec!["expand", "filters"], vec!["grade/1"], vec!["answer/1"]]
    );
    assert_eq!(output["status"], "answered");
    // However often it ran, it looked once.
    assert_eq!(room.shelf.looked.lock().unwrap().len(), 3);
    assert_eq!(nodes(&output).last().unwrap(), "check");
}

#[tokio::test]
async fn a_call_that_is_taken_back_ends() {
    let room = Room::new(sleep());
    room.model.hangs.store(true, Ordering::Relaxed);
    let caller = deliberate_toolkit::Caller::default();
    let cancelled = caller.cancelled.clone();
    let call = room.registry.call(TOOL, ask(), caller);
    let (outcome, ()) = tokio::join!(call, async {
        tokio::task::yield_now().await;
        cancelled.cancel();
    });
    assert_eq!(outcome.unwrap_err().code(), "Cancelled");
}

#[tokio::test]
async fn bad_input_is_refused() {
    let room = Room::new(sleep());
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
    let room = Room::new(sleep());
    room.model.hangs.store(true, Ordering::Relaxed);
    let output = room.done(TOOL, ask()).await;
    assert_eq!(output["status"], "partial");
    assert_eq!(output["sources"].as_array().unwrap().len(), 2);
    let nodes = nodes(&output);
    assert!(nodes.contains(&"retrieve".to_owned()), "{nodes:?}");
    assert!(
        output["notes"].to_string().contains("took longer"),
        "{output}"
    );
}

#[tokio::test]
async fn few_tokens_are_kept_for_the_answer() {
    let options = AnswerOptions {
        tokens: 5_000,
        ..AnswerOptions::default()
    };
    let long = format!(
        "Those who slept recalled 78% of the pairs. {}",
        "They slept well. ".repeat(100)
    );
    let passages = (0..6).map(|at| passage("sleep", "Petrov", 2021, at + 1, &long));
    let room = Room::with(passages.collect(), options, true);
    let good = draft(&[("Those who slept recalled 78% of the pairs.", &["p1"])]);
    room.will_say("answer", &good);
    let output = room.done(TOOL, ask()).await;
    assert_eq!(room.purposes(), ["answer"]);
    assert_eq!(output["status"], "partial", "{output}");
    assert_eq!(output["sentences"][0]["verdict"], "supported");
    let shown = room.asked("answer").matches("<passage ").count();
    assert!((1..6).contains(&shown), "{shown} passages fit");
}

#[tokio::test]
async fn what_had_to_be_asked_again_is_counted() {
    let room = Room::new(sleep());
    room.will_say("expand", &json!("no JSON object"));
    room.will_say("expand", &json!("nor this"));
    room.will_say("filters", &json!("nor this"));
    room.will_say("filters", &json!({}));
    room.will_say("grade", &scores(&[("p1", 90), ("p2", 70)]));
    room.will_say("answer", &good());
    let output = room.done(TOOL, ask()).await;
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
        let room = Room::new(sleep());
        room.will_say("expand", &json!({ "queries": [] }));
        room.will_say("filters", &json!({}));
        room.will_say("grade", &scores(&[("p1", 90), ("p2", 90)]));
        room.will_say("answer", &draft(&[(claim, &["p2"])]));
        let opinion = json!({ "number": 1, "supported": true, "passage": "p2", "quote": quote });
        room.will_say("check", &json!({ "claims": [opinion] }));
        let mut arguments = ask();
        arguments["max_retries"] = json!(0);
        let output = room.done(TOOL, arguments).await;
        assert_eq!(output["status"], "withheld", "{claim}: {output}");
    }
}
