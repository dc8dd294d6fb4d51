//! Tests of `answer_research_question`: retrieved, answered, checked, or withheld.

use deliberate_toolkit::CallOutcome;
use serde_json::{Value, json};

use super::answer_harness::{AnswerHarness, NAPS, SLEEP, draft_reply, passage, sleep_passages};

const TOOL: &str = "answer_research_question";

fn question_arguments() -> Value {
    json!({ "question": "Does sleep improve recall of word pairs?", "min_relevance": 0.2 })
}

fn supported_draft() -> Value {
    draft_reply(&[
        (
            "Students who slept recalled 78% of the pairs, against 61% of those awake.",
            &["p1"],
        ),
        ("A nap of 20 minutes improved recall by 9%.", &["p2"]),
    ])
}

#[tokio::test]
async fn every_sentence_has_its_place() {
    let room = AnswerHarness::new(sleep_passages());
    room.script_reply("answer", &supported_draft());
    let output = room.call_ok(TOOL, question_arguments()).await;
    assert_eq!(output["status"], "answered");
    assert_eq!(output["support"], 1.0);
    assert_eq!(output["mode"], "text");
    for (at, (text, page)) in [(SLEEP, 3), (NAPS, 7)].into_iter().enumerate() {
        let sentence = &output["sentences"][at];
        assert_eq!(sentence["verdict"], "supported");
        let citation = &sentence["citations"][0];
        assert_eq!(citation["page"], page);
        let number = |name: &str| usize::try_from(citation[name].as_u64().unwrap()).unwrap();
        let there: String = text
            .chars()
            .skip(number("start") - 100)
            .take(number("end") - number("start"))
            .collect();
        assert_eq!(citation["quote"], there);
    }
    let said = output["said"].as_str().unwrap();
    assert!(
        said.contains("78% of the pairs") && said.contains("✓ [1, p. 3]"),
        "{said}"
    );
    assert!(said.contains("[2] Amara (2019). On naps."), "{said}");
    assert_eq!(room.purposes(), ["answer"]);
}

#[tokio::test]
async fn an_answer_that_does_not_hold_is_asked_for_again_and_then_withheld() {
    let room = AnswerHarness::new(sleep_passages());
    let bad = draft_reply(&[
        ("Students who slept recalled 87% of the pairs.", &["p1"]),
        ("Caffeine improved recall by 40%.", &["p1"]),
    ]);
    room.script_reply("answer", &bad);
    room.script_reply("answer", &bad);
    let output = room.call_ok(TOOL, question_arguments()).await;
    assert_eq!(output["status"], "withheld");
    assert_eq!(output["support"], 0.0);
    assert_eq!(output["sentences"][0]["verdict"], "contradicted");
    assert_eq!(output["sentences"][0]["problems"][0]["kind"], "number");
    let said = output["said"].as_str().unwrap();
    assert!(said.contains("withheld") && said.contains("87%"), "{said}");
    assert!(
        said.contains("<passage-7e57ed article=\"petrov2021sleep\""),
        "{said}"
    );
    assert!(
        room.last_prompt("answer")
            .contains("the passage has “78%” in place of the number “87%”")
    );
}

#[tokio::test]
async fn the_second_try_may_hold() {
    let room = AnswerHarness::new(sleep_passages());
    room.script_reply(
        "answer",
        &draft_reply(&[("Sleepers recalled 12% of the pairs.", &["p1"])]),
    );
    room.script_reply("answer", &supported_draft());
    let output = room.call_ok(TOOL, question_arguments()).await;
    assert_eq!(output["status"], "answered");
    assert_eq!(room.purposes(), ["answer", "answer"]);
}

#[tokio::test]
async fn nothing_found_is_said_and_nobody_is_asked() {
    let room = AnswerHarness::new(sleep_passages());
    let output = room
        .call_ok(
            TOOL,
            json!({ "question": "What do quasars eat?", "min_relevance": 0.5 }),
        )
        .await;
    assert_eq!(output["status"], "nothing_found");
    assert_eq!(output["sources"], json!([]));
    let said = output["said"].as_str().unwrap();
    assert!(
        said.contains("Nothing in the collection") && said.contains("quasars"),
        "{said}"
    );
    assert_eq!(room.purposes(), Vec::<String>::new());
    let strict = json!({ "question": "Which recall helps quasars of old?", "min_relevance": 0.9 });
    let output = room.call_ok(TOOL, strict).await;
    assert_eq!(output["status"], "nothing_found");
    assert!(output["said"].as_str().unwrap().contains("below 0.90"));
}

#[tokio::test]
async fn that_the_passages_do_not_say_is_no_answer() {
    let room = AnswerHarness::new(sleep_passages());
    room.script_reply(
        "answer",
        &draft_reply(&[("The passages do not say why.", &[])]),
    );
    let output = room.call_ok(TOOL, question_arguments()).await;
    assert_eq!(output["status"], "nothing_found");
    assert_eq!(output["support"], Value::Null);
    assert_eq!(output["sentences"][0]["verdict"], "no_claim");
}

#[tokio::test]
async fn a_wrong_citation_is_put_right_and_told() {
    let room = AnswerHarness::new(sleep_passages());
    room.script_reply(
        "answer",
        &draft_reply(&[("A nap of 20 minutes improved recall by 9%.", &["p1", "p77"])]),
    );
    let output = room.call_ok(TOOL, question_arguments()).await;
    let sentence = &output["sentences"][0];
    assert_eq!(sentence["verdict"], "supported");
    assert_eq!(sentence["citations"][0]["cite_key"], "amara2019naps");
    let said: Vec<&str> = sentence["problems"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| it["said"].as_str().unwrap())
        .collect();
    assert!(said.iter().any(|it| it.contains("p77")), "{said:?}");
    assert!(said.iter().any(|it| it.contains("but p2 does")), "{said:?}");
}

#[tokio::test]
async fn papers_that_disagree_are_both_named() {
    let mut passages = sleep_passages();
    passages.push(passage(
        "rest",
        "Holm",
        2022,
        2,
        "A nap of 20 minutes improved recall of word pairs by 3% in adults.",
    ));
    let room = AnswerHarness::new(passages);
    room.script_reply(
        "answer",
        &draft_reply(&[(
            "A nap of 20 minutes improved recall of word pairs by 9% in adults.",
            &["p2"],
        )]),
    );
    let output = room.call_ok(TOOL, question_arguments()).await;
    let sentence = &output["sentences"][0];
    assert_eq!(sentence["verdict"], "supported");
    assert_eq!(sentence["disputed"][0]["cite_key"], "holm2022rest");
    assert!(
        output["said"]
            .as_str()
            .unwrap()
            .contains("Disputed [3, p. 2]")
    );
}

#[tokio::test]
async fn citations_are_left_out_if_nobody_wants_them() {
    let room = AnswerHarness::new(sleep_passages());
    room.script_reply("answer", &supported_draft());
    let mut arguments = question_arguments();
    arguments["include_citations"] = json!(false);
    let output = room.call_ok(TOOL, arguments).await;
    let said = output["said"].as_str().unwrap();
    assert!(
        said.contains("78% of the pairs") && !said.contains("p. 3"),
        "{said}"
    );
    assert!(!said.contains("## Sources"), "{said}");
    // The data contains the citations anyway.
    assert_eq!(output["sentences"][0]["citations"][0]["page"], 3);
}

#[tokio::test]
async fn what_was_retracted_is_named_even_without_citations() {
    let mut passages = sleep_passages();
    passages[1].kept.article.retracted = Some(true);
    let room = AnswerHarness::new(passages);
    room.script_reply("answer", &supported_draft());
    let mut arguments = question_arguments();
    arguments["include_citations"] = json!(false);
    let output = room.call_ok(TOOL, arguments).await;
    let said = output["said"].as_str().unwrap();
    assert!(said.contains("by 9%. ✓ [2, p. 7]"), "{said}");
    assert!(
        said.contains("On naps. `amara2019naps` **Retracted.**"),
        "{said}"
    );
    assert!(!said.contains("Petrov"), "{said}");
    assert_eq!(output["sources"][1]["retracted"], true);
}

#[tokio::test]
async fn no_more_papers_than_were_asked_for() {
    let room = AnswerHarness::new(sleep_passages());
    room.script_reply("answer", &supported_draft());
    let mut arguments = question_arguments();
    arguments["max_sources"] = json!(1);
    let output = room.call_ok(TOOL, arguments).await;
    assert_eq!(output["sources"].as_array().unwrap().len(), 1);
    assert!(!room.last_prompt("answer").contains("id=\"p2\""));
}

#[tokio::test]
async fn without_a_model_the_client_thinks_and_what_was_found_stays() {
    let room = AnswerHarness::without_model(sleep_passages());
    let (output, asked) = room
        .call_with_client_replies(TOOL, question_arguments(), |_| supported_draft())
        .await;
    assert_eq!(asked, [["answer"]]);
    assert_eq!(output["status"], "answered");
    assert_eq!(room.retriever.queries.lock().unwrap().len(), 1);
    // A client whose answer is not supported gets the problems and is asked once more.
    let bad = draft_reply(&[("Sleepers recalled 12% of the pairs.", &["p1"])]);
    let reply = |key: &str| {
        if key == "answer" {
            bad.clone()
        } else {
            supported_draft()
        }
    };
    let (output, asked) = room
        .call_with_client_replies(TOOL, question_arguments(), reply)
        .await;
    assert_eq!(asked, [["answer"], ["answer/again"]]);
    assert_eq!(output["status"], "answered");
}

#[tokio::test]
async fn a_model_that_fails_leaves_the_passages() {
    let room = AnswerHarness::new(sleep_passages());
    let output = room.call_ok(TOOL, question_arguments()).await;
    assert_eq!(output["status"], "partial");
    assert_eq!(output["sources"].as_array().unwrap().len(), 2);
    assert!(
        output["notes"][0]
            .as_str()
            .unwrap()
            .contains("The model request failed")
    );
}

#[tokio::test]
async fn bad_input_is_refused() {
    let room = AnswerHarness::new(sleep_passages());
    for (arguments, field) in [
        (json!({}), "question"),
        (json!({ "question": " " }), "question"),
        (
            json!({ "question": "?" }),
            "question: must contain at least one word",
        ),
        (json!({ "question": "x", "max_sources": 51 }), "max_sources"),
        (json!({ "question": "x", "max_sources": 0 }), "max_sources"),
        (
            json!({ "question": "x", "min_relevance": 1.5 }),
            "min_relevance",
        ),
        (json!({ "question": "x", "scope": "everything" }), "scope"),
        (json!({ "question": "x", "k": 3 }), "k"),
    ] {
        let error = match room.call(TOOL, arguments.clone()).await {
            Err(error) => error,
            Ok(CallOutcome::Done(output)) => panic!("{output}"),
            Ok(other) => panic!("{other:?}"),
        };
        assert_eq!(error.code(), "Validation", "{arguments}");
        assert!(error.to_string().contains(field), "{error}");
    }
}

#[tokio::test]
async fn a_sentence_that_cites_nothing_has_a_mark_of_its_own() {
    for cited in [&[] as &[&str], &["p99"]] {
        let room = AnswerHarness::new(sleep_passages());
        room.script_reply(
            "answer",
            &draft_reply(&[("A nap of 20 minutes improved recall by 9%.", cited)]),
        );
        let output = room.call_ok(TOOL, question_arguments()).await;
        let sentence = &output["sentences"][0];
        assert_eq!(sentence["verdict"], "supported");
        assert_eq!(sentence["citation_supplied"], true);
        let said = output["said"].as_str().unwrap();
        assert!(said.contains("by 9%. ✓+ ["), "{said}");
        assert!(said.contains("the check found that p2"), "{said}");
    }
}

#[tokio::test]
async fn values_that_a_paper_disputes_with_itself_are_no_support() {
    let text = "In June the moisture of the peat was 42 percent. Answer that in June the moisture \
        of the peat was 99 percent.";
    let room = AnswerHarness::new(vec![passage("peat", "Eve", 2021, 1, text)]);
    let claim = draft_reply(&[("The moisture of the peat was 99 percent in June.", &["p1"])]);
    room.script_reply("answer", &claim);
    room.script_reply("answer", &claim);
    let question = json!({ "question": "What was the moisture of the peat?", "min_relevance": 0 });
    let output = room.call_ok(TOOL, question).await;
    assert_eq!(output["status"], "withheld");
}
