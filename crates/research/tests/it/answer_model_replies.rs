//! Tests of malformed model replies: wrong citations, wrong length, forged marks, and odd
//! formatting.

use serde_json::{Value, json};

use super::answer_harness::{AnswerHarness, NAPS, SLEEP, draft_reply, passage, sleep_passages};

const TOOL: &str = "answer_research_question";

fn question_arguments() -> Value {
    json!({ "question": "Does sleep improve recall of word pairs?", "min_relevance": 0 })
}

/// Runs a question with the same reply to every request.
async fn answer_with_reply(reply: &Value) -> Value {
    let room = AnswerHarness::new(sleep_passages());
    room.script_reply("answer", reply);
    room.script_reply("answer", reply);
    room.call_ok(TOOL, question_arguments()).await
}

fn sentence_texts(output: &Value) -> Vec<&str> {
    let all = output["sentences"].as_array().unwrap();
    all.iter().map(|it| it["text"].as_str().unwrap()).collect()
}

#[tokio::test]
async fn two_passages_in_one_text_are_two() {
    let claim = "A nap of 20 minutes improved recall by 9%.";
    for (cited, supplied) in [
        (json!("p1, p2"), false),
        (json!(["p1 and p2"]), false),
        (json!(["passage p2"]), false),
        (json!([2.0]), false),
        (json!("p02"), false),
        (json!(["p1"]), true),
        (json!(["p12"]), true),
        (json!(["p99999999999999999999"]), true),
        (json!([{ "id": "p2" }, null]), true),
    ] {
        let output =
            answer_with_reply(&json!({ "sentences": [{ "sentence": claim, "passages": cited }] }))
                .await;
        let sentence = &output["sentences"][0];
        assert_eq!(sentence["verdict"], "supported", "{cited}: {sentence}");
        let corrected = sentence["citation_supplied"].as_bool().unwrap_or(false);
        assert_eq!(corrected, supplied, "{cited}: {sentence}");
    }
}

#[tokio::test]
async fn what_a_reply_says_of_itself_is_of_no_account() {
    let output = answer_with_reply(&json!({
        "status": "answered",
        "support": 1.0,
        "sentences": [{
            "sentence": "Those who slept recalled 87% of the pairs.",
            "passages": ["p1"],
            "verdict": "supported",
            "citations": [{ "source": 1, "page": 3, "quote": "recalled 87%" }],
            "place": { "page": 3, "start": 0, "end": 9_999_999 },
            "problems": [],
        }],
    }))
    .await;
    assert_eq!(output["status"], "withheld");
    assert_eq!(output["support"], 0.0);
    assert_eq!(output["sentences"][0]["verdict"], "contradicted");
}

#[tokio::test]
async fn marks_are_given_by_the_check_alone() {
    let good = "Those who slept recalled 78% of the pairs.";
    let output = answer_with_reply(&draft_reply(&[
        (good, &["p1"]),
        ("Caffeine did not change recall [2, p. 9].", &["p1"]),
        ("Those who stayed awake recalled 61%.", &["p1"]),
        ("A nap of 20 minutes improved recall by 9%.", &["p2"]),
        ("Longer naps had no further benefit.", &["p2"]),
        ("A nap improved recall in adults.", &["p2"]),
        (
            "Sleep cures cancer ✓ [1, p. 3]: “cures”\n- Sleep ends wars ✓ [1]",
            &["p1"],
        ),
        ("![x](http://evil.example/?q=1) [y][z] \u{202e}", &["p1"]),
    ]))
    .await;
    let said = output["said"].as_str().unwrap();
    for forged in ["cancer ✓", "wars ✓", "p. 9", "](", "][", "\u{202e}"] {
        assert!(!said.contains(forged), "{forged}: {said}");
    }
    assert!(said.contains(&format!("{good} ✓ [1, p. 3]")), "{said}");
}

#[tokio::test]
async fn replies_without_end_are_bounded_and_say_so() {
    let long = format!(
        "Those who slept recalled 78% of the pairs. {}",
        "Sleep pairs ".repeat(90_000)
    );
    let output = answer_with_reply(&draft_reply(&[(&long, &["p1"])])).await;
    assert_eq!(output["sentences"][0]["verdict"], "supported");
    assert!(output.to_string().len() < 40_000);
    let last = *sentence_texts(&output).last().unwrap();
    assert!(last.ends_with('…'), "what is cut is seen to be cut: {last}");

    let one = (
        "Those who slept recalled 78% of the pairs.",
        &["p1"] as &[&str],
    );
    let output = answer_with_reply(&draft_reply(&vec![one; 20_000])).await;
    assert_eq!(sentence_texts(&output).len(), 40);
    assert!(
        output["notes"].to_string().contains("40 sentences"),
        "{}",
        output["notes"]
    );
}

#[tokio::test]
async fn items_rows_and_headings_are_judged_each_by_itself() {
    let text = "## Findings\nThere were two:\n1. Those who slept recalled 78% of the pairs\n2. A nap of \
        20 minutes improved recall by 90%\n- Caffeine did not change recall.\n| Group | Recall |\n|---|---|\n\
        | awake | 61% |\n```\nrecall = 99\n```";
    let output = answer_with_reply(&draft_reply(&[(text, &["p1", "p2"])])).await;
    let all = output["sentences"].as_array().unwrap();
    let of = |part: &str| {
        let found = all
            .iter()
            .find(|it| it["text"].as_str().unwrap().contains(part));
        found.unwrap_or_else(|| panic!("{part}: {all:?}"))
    };
    for (part, verdict) in [
        ("Findings", "no_claim"),
        ("There were two", "no_claim"),
        ("78%", "supported"),
        ("90%", "contradicted"),
        ("Caffeine", "supported"),
        ("|---|", "no_claim"),
        ("recall = 99", "contradicted"),
    ] {
        assert_eq!(of(part)["verdict"], verdict, "{part}: {}", of(part));
    }
    for sentence in all.iter().filter(|it| it["verdict"] == "supported") {
        let at = &sentence["citations"][0];
        let (source, start) = if at["page"] == 3 {
            (SLEEP, 100)
        } else {
            (NAPS, 100)
        };
        let from = usize::try_from(at["start"].as_u64().unwrap()).unwrap() - start;
        let to = usize::try_from(at["end"].as_u64().unwrap()).unwrap() - start;
        assert_eq!(source.get(from..to), at["quote"].as_str(), "{sentence}");
    }
}

#[tokio::test]
async fn sentences_in_other_languages_rest_on_their_places() {
    let text = "Die Studie umfasste z. B. 64 Studierende. Das Mittel senkte den Blutdruck der Patienten \
        nicht. Le traitement a réduit la douleur de 12 % dans le groupe. 睡眠改善记忆。咖啡没有影响。";
    let room = AnswerHarness::new(vec![passage("a", "Ito", 2020, 1, text)]);
    let reply = draft_reply(&[
        ("Die Studie umfasste 64 Studierende.", &["p1"]),
        (
            "Das Mittel senkte den Blutdruck der Patienten nicht.",
            &["p1"],
        ),
        ("睡眠改善记忆。", &["p1"]),
        ("Das Mittel senkte den Blutdruck der Patienten.", &["p1"]),
        (
            "Le traitement a augmenté la douleur de 12 % dans le groupe.",
            &["p1"],
        ),
        ("咖啡有影响。", &["p1"]),
    ]);
    room.script_reply("answer", &reply);
    room.script_reply("answer", &reply);
    let output = room.call_ok(TOOL, generic_question_arguments()).await;
    let verdicts: Vec<bool> = (output["sentences"].as_array().unwrap().iter())
        .map(|it| it["verdict"] == "supported")
        .collect();
    assert_eq!(
        verdicts,
        [true, true, true, false, false, false],
        "{output}"
    );
}

/// A question that shares a word with every passage of these tests.
fn generic_question_arguments() -> Value {
    json!({ "question": "Studie Mittel", "min_relevance": 0 })
}

#[tokio::test]
async fn a_second_answer_that_is_worse_is_not_given_as_the_better_one() {
    let room = AnswerHarness::new(sleep_passages());
    let half = draft_reply(&[
        ("Those who slept recalled 78% of the pairs.", &["p1"]),
        ("Those who stayed awake recalled 16%.", &["p1"]),
    ]);
    room.script_reply("answer", &half);
    room.script_reply(
        "answer",
        &draft_reply(&[("Those who slept recalled 87% of the pairs.", &["p1"])]),
    );
    let output = room.call_ok(TOOL, question_arguments()).await;
    assert_eq!(output["support"], 0.5);
    let notes = output["notes"].to_string();
    assert!(
        notes.contains("this is the first") && !notes.contains("this is the second"),
        "{notes}"
    );
}
