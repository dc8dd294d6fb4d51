//! Tests of `reasoning_search`: words, phrases, meaning, and what the answer says about them.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use deliberate_core::Mode;
use deliberate_reasoning::TextEmbedder;
use futures::future::BoxFuture;
use serde_json::{Value, json};

use crate::test_registry::ReasoningTestRegistry;

/// Knows three subjects, each by a few words.
#[derive(Default)]
struct SubjectEmbedder {
    embedded: AtomicUsize,
}

const SUBJECTS: [&[&str]; 3] = [
    &["car", "automobile", "engine"],
    &["illness", "fever"],
    &["decide", "decision", "decided", "choice"],
];

impl TextEmbedder for SubjectEmbedder {
    fn embed(&self, texts: Vec<String>) -> BoxFuture<'_, Vec<Vec<f32>>> {
        self.embedded.fetch_add(texts.len(), Ordering::Relaxed);
        let vectors = texts.iter().map(|text| {
            let text = text.to_lowercase();
            let count = |words: &[&str]| {
                let known = text.split(' ').filter(|word| words.contains(word)).count();
                f32::from(u8::try_from(known).unwrap())
            };
            let counts = SUBJECTS.map(count);
            let length = counts.iter().map(|it| it * it).sum::<f32>().sqrt().max(1.0);
            counts.iter().map(|it| it / length).collect()
        });
        let vectors = vectors.collect();
        Box::pin(async move { vectors })
    }

    fn min_similarity(&self) -> f32 {
        0.5
    }
}

const THOUGHTS: [&str; 6] = [
    "The automobile engine overheats.",
    "The fever fell after the second dose.",
    "The decision: cache prices for sixty seconds.",
    "We decided against a second disk.",
    "A slow disk makes the cache cold.",
    "Tomatoes need sun.",
];

async fn registry_with_thoughts(embedder: Option<Arc<SubjectEmbedder>>) -> ReasoningTestRegistry {
    let embedder = embedder.map(|it| it as Arc<dyn TextEmbedder>);
    let desk = ReasoningTestRegistry::with_embedder(embedder);
    desk.add_session(Mode::Linear, THOUGHTS.map(|text| ("", text)))
        .await;
    desk
}

async fn search(desk: &ReasoningTestRegistry, query: &str) -> Value {
    desk.call_ok("reasoning_search", json!({ "query": query }))
        .await
}

/// Describes each result: how it matched, and the first words of the thought.
fn described(answer: &Value) -> Vec<String> {
    let results = answer["results"].as_array().unwrap().iter();
    let described = results.map(|hit| {
        let excerpt = hit["excerpt"].as_str().unwrap().replace(['[', ']'], "");
        let beginning: Vec<&str> = excerpt.split_whitespace().take(3).collect();
        let words = hit["words"].as_array().map_or(String::new(), |words| {
            let words: Vec<_> = words.iter().map(|word| word.as_str().unwrap()).collect();
            format!("({})", words.join(" "))
        });
        let matched = hit["matched"].as_str().unwrap();
        format!("{matched}{words}: {}", beginning.join(" "))
    });
    described.collect()
}

#[tokio::test]
async fn any_word_is_enough_and_the_answer_says_which() {
    let desk = registry_with_thoughts(None).await;
    let answer = search(&desk, "cache disk").await;
    let found = described(&answer);
    assert_eq!(found[0], "all_words: A slow disk");
    assert_eq!(found.len(), 3, "{found:?}");
    assert!(found.contains(&"some_words(cache): The decision: cache".to_owned()));
    assert!(found.contains(&"some_words(disk): We decided against".to_owned()));
    assert_eq!(answer["note"], Value::Null);

    let answer = search(&desk, "which disk for the pelican?").await;
    assert_eq!(answer["results"].as_array().unwrap().len(), 2);
    assert_eq!(
        answer["note"],
        "No thought has all of: disk, pelican; these have some of them."
    );
}

#[tokio::test]
async fn endings_do_not_matter() {
    let desk = registry_with_thoughts(None).await;
    for (query, count) in [
        ("decide", 1),
        ("deciding", 1),
        ("decisions", 1),
        ("disks", 2),
    ] {
        let answer = search(&desk, query).await;
        assert_eq!(
            answer["results"].as_array().unwrap().len(),
            count,
            "{query}: {answer}"
        );
    }
}

#[tokio::test]
async fn a_quoted_phrase_must_occur() {
    let desk = registry_with_thoughts(Some(Arc::default())).await;
    let answer = search(&desk, "\"slow disk\" decision").await;
    assert_eq!(described(&answer), ["some_words(slow disk): A slow disk"]);
    let answer = search(&desk, "\"disk slow\" car").await;
    assert_eq!(answer["results"], json!([]));
    assert_eq!(
        answer["note"],
        "No thought has \"disk slow\", car. Without the quotes, any of the words is enough."
    );
}

#[tokio::test]
async fn thoughts_are_found_by_meaning_after_those_with_all_words() {
    let desk = registry_with_thoughts(Some(Arc::default())).await;
    let answer = search(&desk, "car").await;
    assert_eq!(described(&answer), ["meaning: The automobile engine"]);
    assert_eq!(
        answer["note"],
        "No thought has any of: car; these are close in meaning."
    );
    let answer = search(&desk, "decided").await;
    assert_eq!(
        described(&answer),
        [
            "all_words: We decided against",
            "meaning: The decision: cache"
        ]
    );
    assert_eq!(answer["note"], Value::Null);
    // High in both rankings comes before high in one.
    let answer = search(&desk, "choice disk").await;
    let found = described(&answer);
    assert_eq!(found[0], "some_words(disk): We decided against");
    assert_eq!(found.len(), 3, "{found:?}");
    assert_eq!(
        answer["note"],
        "No thought has all of: choice, disk; these have some of the words or are close in meaning."
    );
}

#[tokio::test]
async fn the_filters_and_the_limit_hold_for_meaning_too() {
    let desk = registry_with_thoughts(Some(Arc::default())).await;
    let search = async |arguments: Value| desk.call_ok("reasoning_search", arguments).await;
    for arguments in [
        json!({ "query": "car", "mode": "tree" }),
        json!({ "query": "car", "until": "2020-01-01" }),
        json!({ "query": "car", "since": "2030-01-01" }),
    ] {
        assert_eq!(
            search(arguments.clone()).await["results"],
            json!([]),
            "{arguments}"
        );
    }
    let answer = search(json!({ "query": "choice", "limit": 1 })).await;
    assert_eq!(answer["results"].as_array().unwrap().len(), 1);
    assert_eq!(answer["more"], true);
    let answer = search(json!({ "query": "choice", "limit": 2, "session_id": "s" })).await;
    assert_eq!(answer["results"].as_array().unwrap().len(), 2);
    assert_eq!(answer["more"], Value::Null);
}

#[tokio::test]
async fn nothing_is_found_for_nonsense_and_the_answer_says_so() {
    for embedder in [None, Some(Arc::default())] {
        let by_meaning = embedder.is_some();
        let desk = registry_with_thoughts(embedder).await;
        for query in [
            "xyzzy",
            "\" OR NEAR( * -",
            "xyzzy* -plugh",
            "NEAR(\"xyzzy\" \"plugh\", 2)",
        ] {
            let answer = search(&desk, query).await;
            assert_eq!(answer["results"], json!([]), "{query}");
            assert!(
                answer["note"]
                    .as_str()
                    .unwrap()
                    .starts_with("No thought has ")
            );
        }
        let note = search(&desk, "xyzzy").await["note"].clone();
        assert_eq!(
            note,
            if by_meaning {
                "No thought has any of: xyzzy; none is close in meaning. Try other words."
            } else {
                "No thought has any of: xyzzy. Try other words."
            }
        );
        let answer = search(&desk, "?!").await;
        assert_eq!(answer["note"], "The query has no word to search for.");
    }
}

#[tokio::test]
async fn a_text_is_embedded_once() {
    let embedder = Arc::<SubjectEmbedder>::default();
    let desk = registry_with_thoughts(Some(embedder.clone())).await;
    let count = || embedder.embedded.load(Ordering::Relaxed);
    search(&desk, "car").await;
    assert_eq!(count(), THOUGHTS.len() + 1);
    search(&desk, "car").await;
    assert_eq!(count(), THOUGHTS.len() + 2, "the query only");
    desk.think_ok(json!({ "content": "An illness." })).await;
    search(&desk, "car").await;
    assert_eq!(count(), THOUGHTS.len() + 4, "the new thought and the query");
}

#[tokio::test]
async fn the_notes_and_lists_of_a_long_query_are_bounded() {
    let desk = registry_with_thoughts(None).await;
    let many: Vec<String> = (0..150).map(|number| format!("w{number}")).collect();
    let answer = search(&desk, &format!("disk {}", many.join(" "))).await;
    assert_eq!(answer["results"].as_array().unwrap().len(), 2);
    let note = answer["note"].as_str().unwrap();
    assert!(note.len() < 150 && note.contains("w10, …"), "{note}");
}
