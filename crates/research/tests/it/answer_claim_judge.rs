//! Tests of the judge of what code cannot check: one request, a quote that code looks for, and marks
//! that say who judged.

use deliberate_research::AnswerOptions;
use serde_json::{Value, json};

use super::answer_harness::{AnswerHarness, draft_reply, sleep_passages};

const TOOL: &str = "answer_research_question";

fn question_arguments() -> Value {
    json!({ "question": "Does sleep improve recall of word pairs?", "min_relevance": 0 })
}

const LONG_NAPS: &str = "There was no additional advantage of a lengthy nap.";

const BENEFIT: &str = "Longer naps had no further benefit.";

/// A draft with a sentence that code supports and two in other words.
fn draft_in_other_words() -> Value {
    draft_reply(&[
        ("A nap of 20 minutes improved recall by 9%.", &["p2"]),
        (LONG_NAPS, &["p2"]),
        ("Coffee left the memory as it was.", &["p1"]),
    ])
}

#[tokio::test]
async fn what_code_can_not_check_is_judged_in_one_request_with_a_quote() {
    let room = AnswerHarness::new(sleep_passages());
    room.script_reply("answer", &draft_in_other_words());
    room.script_reply(
        "check",
        &json!({ "claims": [
            { "number": 1, "reason": "It says so.", "passage": "p2", "quote": BENEFIT, "verdict": "supported" },
            { "number": 2, "reason": "It says so.", "passage": "p1",
              "quote": "Coffee did not change the memory of the students.", "verdict": "supported" },
        ] }),
    );
    let output = room.call_ok(TOOL, question_arguments()).await;
    assert_eq!(room.purposes(), ["answer", "check"]);
    assert_eq!(output["status"], "answered");
    let judged: Vec<(&str, &str)> = output["sentences"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| {
            (
                it["verdict"].as_str().unwrap(),
                it["judged_by"].as_str().unwrap(),
            )
        })
        .collect();
    assert_eq!(
        judged,
        [
            ("supported", "code"),
            ("supported", "model"),
            // The quote is not there.
            ("not_checked", "nobody"),
        ]
    );
    let quote = &output["sentences"][1]["citations"][0]["quote"];
    assert_eq!(*quote, BENEFIT.trim_end_matches('.'));
    let said = output["said"].as_str().unwrap();
    assert!(said.contains("nap. ✓ (a model's judgment) ["), "{said}");
    assert!(said.contains("as it was. ~"), "{said}");
    assert!(said.contains("~ not checked"), "{said}");
    let check = room.last_prompt("check");
    assert!(
        check.contains("Claim 1, citing p2:") && !check.contains("20 minutes improved recall by")
    );
}

#[tokio::test]
async fn a_model_may_contradict_with_a_quote() {
    let room = AnswerHarness::new(sleep_passages());
    let draft = draft_reply(&[
        ("A nap of 20 minutes improved recall by 9%.", &["p2"]),
        ("Those who slept recalled 78% of the pairs.", &["p1"]),
        ("A lengthy nap was of additional advantage.", &["p2"]),
    ]);
    room.script_reply("answer", &draft);
    room.script_reply(
        "check",
        &json!({ "claims": [{ "number": 1, "reason": "Longer naps helped no more.", "passage": "p2",
            "quote": BENEFIT, "verdict": "contradicted" }] }),
    );
    let output = room.call_ok(TOOL, question_arguments()).await;
    let sentence = &output["sentences"][2];
    assert_eq!(sentence["verdict"], "contradicted");
    assert_eq!(sentence["judged_by"], "model");
    let said = output["said"].as_str().unwrap();
    assert!(said.contains("✗ (a model's judgment)"), "{said}");
    assert!(
        said.contains("a model says: Longer naps helped no more."),
        "{said}"
    );
}

#[tokio::test]
async fn without_a_judge_it_stays_unchecked_and_supports_nothing() {
    let options = AnswerOptions {
        model_judge: false,
        ..AnswerOptions::default()
    };
    let room = AnswerHarness::with_options(sleep_passages(), options, true);
    room.script_reply("answer", &draft_in_other_words());
    room.script_reply("answer", &draft_in_other_words());
    let output = room.call_ok(TOOL, question_arguments()).await;
    assert_eq!(room.purposes(), ["answer", "answer"]);
    assert_eq!(output["status"], "withheld");
    assert_eq!(output["sentences"][1]["verdict"], "not_checked");
    assert_eq!(output["sentences"][1]["judged_by"], "nobody");
    assert!(
        room.last_prompt("answer")
            .contains("not checked: keep to the words"),
        "the second request says what to mend"
    );
}
