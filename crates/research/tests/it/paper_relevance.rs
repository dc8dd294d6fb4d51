//! Tests of `evaluate_article`: scored by a model or by words, and never zero because of a failure.

use deliberate_core::{Change, StoredDocument, Timestamp};
use serde_json::json;

use super::answer_harness::{AnswerHarness, passage};
use deliberate_research::articles::VersionedArticle;

const TOOL: &str = "evaluate_article";

async fn store_article_and_question(harness: &AnswerHarness) {
    let now = Timestamp::parse("2026-01-01T00:00:00Z").unwrap();
    let mut kept = passage("sleep", "Petrov", 2021, 1, "x").kept;
    "Sleep and memory consolidation".clone_into(&mut kept.article.title);
    kept.article.summary = Some("Slow-wave sleep improves recall of word pairs.".to_owned());
    let question = Change::PutDocument {
        item: StoredDocument {
            kind: "question".to_owned(),
            id: "q1".to_owned(),
            version: 0,
            seq: 0,
            body: json!({
                "name": "Sleep study", "keywords": ["sleep", "memory", "graphene"],
                "topics": ["neuroscience"], "other": 1
            }),
            keys: Vec::new(),
            created_at: now,
            updated_at: now,
        },
        parts: None,
    };
    let changes = vec![VersionedArticle::new(kept).put_change(now), question];
    harness.store.commit(changes).await.unwrap();
}

#[tokio::test]
async fn a_model_scores_and_only_known_keywords_count() {
    let room = AnswerHarness::new(Vec::new());
    store_article_and_question(&room).await;
    room.script_reply(
        "relevance",
        &json!({ "papers": [{ "paper": 1, "score": 82, "keywords": ["Sleep", "free beer"], "reason": "It is on sleep." }] }),
    );
    let arguments = json!({ "article_identifier": "petrov2021sleep", "query_name": "sleep STUDY" });
    let output = room.call_ok(TOOL, arguments).await;
    assert_eq!(output["score"], 0.82);
    assert_eq!(output["by"], "model");
    assert_eq!(output["saved"], true);
    assert_eq!(output["decision"], "strong");
    assert_eq!(output["matched_keywords"], json!(["Sleep"]));
    let schema = room.requests()[0].schema.to_string();
    assert!(
        schema.find("\"reason\"") < schema.find("\"score\""),
        "{schema}"
    );
    assert!(!schema.contains("\"maxLength\":300"), "{schema}");
}

#[tokio::test]
async fn a_failed_ask_falls_back_to_words_and_says_so() {
    for model in [true, false] {
        let room = AnswerHarness::with_options(
            Vec::new(),
            deliberate_research::AnswerOptions::default(),
            model,
        );
        store_article_and_question(&room).await;
        let near = json!({ "article_identifier": "id-sleep", "query_name": "Sleep study" });
        let far = json!({ "article_identifier": "id-sleep", "query_name": "dark matter halos" });
        let near = room.call_ok(TOOL, near).await;
        let far = room.call_ok(TOOL, far).await;
        assert_eq!(near["by"], "words");
        assert!(near["score"].as_f64().unwrap() > 0.5, "{near}");
        assert!(far["score"].as_f64().unwrap() < 0.3, "{far}");
        assert_eq!(near["matched_keywords"], json!(["sleep", "memory"]));
        // Free text has no keywords to count.
        assert!(
            !far["reasoning"].as_str().unwrap().contains("0 of 0"),
            "{far}"
        );
        assert_eq!(
            near["reasoning"]
                .as_str()
                .unwrap()
                .contains("request failed"),
            model
        );
    }
}

#[tokio::test]
async fn an_unknown_article_is_told() {
    let room = AnswerHarness::new(Vec::new());
    store_article_and_question(&room).await;
    let error = room
        .call(
            TOOL,
            json!({ "article_identifier": "nobody", "query_name": "x" }),
        )
        .await
        .unwrap_err();
    assert!(error.to_string().contains("nobody"), "{error}");
}

#[tokio::test]
async fn a_paper_is_judged_by_its_text_too() {
    let words = "Smouldering needs oxygen at the surface of the fuel, and heat to go on.";
    let room = AnswerHarness::without_model(vec![passage("sleep", "Petrov", 2021, 4, words)]);
    store_article_and_question(&room).await;
    let arguments = json!({
        "article_identifier": "id-sleep",
        "query_name": "smouldering oxygen fuel surface heat",
    });
    let output = room.call_ok(TOOL, arguments).await;
    assert_eq!(output["score"], 0.75, "{output}");
    let said = output["said"].as_str().unwrap();
    assert!(said.contains("7.5 of 10 (score 0.75), strong"), "{said}");
    assert!(said.contains("1 passage of its text"), "{said}");
    let looked = room.retriever.queries.lock().unwrap();
    assert_eq!(looked[0].filter.ids, Some(vec!["id-sleep".to_owned()]));
}

#[tokio::test]
async fn a_question_without_a_word_is_blamed_by_its_name() {
    let room = AnswerHarness::new(Vec::new());
    store_article_and_question(&room).await;
    let arguments = json!({ "article_identifier": "id-sleep", "query_name": "?" });
    let error = room.call(TOOL, arguments).await.unwrap_err();
    assert!(error.to_string().starts_with("query_name"), "{error}");
}
