//! The embedded embedder against vectors that the reference implementation of its format made of
//! the same table.

use deliberate_index::{Embedder as _, EmbeddingPurpose, StaticEmbedder};
use proptest::prelude::*;
use serde::Deserialize;

#[derive(Deserialize)]
struct ReferenceVector {
    text: String,
    /// In parts of 32,767.
    vector: Vec<i16>,
}

fn references() -> Vec<ReferenceVector> {
    include_str!("../fixtures/static-vectors.jsonl")
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

fn dot(a: &[f32], b: &[f32]) -> f32 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

#[tokio::test]
async fn vectors_are_those_of_the_reference() {
    let references = references();
    assert!(references.len() >= 50);
    let texts: Vec<_> = references.iter().map(|one| one.text.clone()).collect();
    let embedder = StaticEmbedder::new();
    let vectors = embedder
        .embed(&texts, EmbeddingPurpose::Passage)
        .await
        .unwrap();
    assert_eq!(vectors.len(), texts.len());
    for (reference, vector) in references.iter().zip(&vectors) {
        assert_eq!(vector.len(), 256);
        let expected: Vec<_> = reference
            .vector
            .iter()
            .map(|n| f32::from(*n) / 32_767.0)
            .collect();
        if reference.vector.iter().all(|number| *number == 0) {
            assert!(
                vector.iter().all(|number| *number == 0.0),
                "{:?}",
                reference.text
            );
        } else {
            let cosine = dot(vector, &expected);
            assert!(cosine > 0.999, "{cosine} for {:?}", reference.text);
        }
    }
}

#[tokio::test]
async fn questions_find_what_is_about_the_same_thing() {
    let embedder = StaticEmbedder::new();
    let question = embedder.vector("How fast do glaciers melt?");
    let near = embedder.vector("Ice sheets are losing mass at a growing rate.");
    let far = embedder.vector("The court dismissed the appeal on formal grounds.");
    assert!(dot(&question, &near) > dot(&question, &far) + 0.1);
    assert_eq!(embedder.dimensions().await.unwrap(), question.len());
    assert!(embedder.id().contains("256"));
}

#[test]
fn a_text_counts_up_to_its_limit() {
    let embedder = StaticEmbedder::new();
    let long = "é ".repeat(40_000);
    assert_eq!(
        embedder.vector(&long),
        embedder.vector(&format!("{long} something else"))
    );
}

proptest! {
    /// Whatever comes in, the vector has length one or none, and case and spaces do not matter.
    #[test]
    fn any_text_has_a_direction_or_none(text in "\\PC{0,200}") {
        let embedder = StaticEmbedder::new();
        let vector = embedder.vector(&text);
        let length = dot(&vector, &vector);
        prop_assert!(length == 0.0 || (length - 1.0).abs() < 1e-4, "{}", length);
        prop_assert_eq!(&vector, &embedder.vector(&format!("  {text}\n")));
    }
}
