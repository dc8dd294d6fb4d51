//! Passages as answers show them.

use std::fmt::Write as _;

use deliberate_core::cut_to_chars;
use schemars::JsonSchema;
use serde::Serialize;

use super::super::shown::{ShownArticle, count, line};
use crate::{
    FoundPassage,
    collect::{
        Place,
        fence::{DATA_NOT_ORDERS, fenced},
    },
};

/// A passage in an answer.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct ShownPassage {
    article: ShownArticle,
    text: String,
    section: Vec<String>,
    /// Page 0 is the abstract
    place: Place,
    /// Comparable within this answer alone
    score: f32,
    #[serde(skip_serializing_if = "Option::is_none")]
    similarity: Option<f32>,
}

/// The passage, so many characters of it.
pub(super) fn shown(found: &FoundPassage, chars: usize) -> ShownPassage {
    ShownPassage {
        article: ShownArticle::of(&found.kept),
        text: cut_to_chars(&found.passage.text, chars),
        section: found.passage.section.clone(),
        place: found.place,
        score: found.rerank_score.unwrap_or(found.score),
        similarity: found.similarity,
    }
}

/// All of them for people and models.
pub(super) fn said(found: &[FoundPassage], chars: usize, nothing: &str) -> String {
    if found.is_empty() {
        return nothing.to_owned();
    }
    let mut said = format!(
        "{}. {DATA_NOT_ORDERS}\n",
        count(found.len() as u64, "passage")
    );
    for (at, passage) in found.iter().enumerate() {
        let page = passage.page_label();
        let attributes = [
            ("article", passage.kept.cite_key.as_str()),
            ("place", &page),
        ];
        let _ = write!(
            said,
            "\n{}. {}\n{}\n",
            at + 1,
            line(&passage.kept),
            fenced(&attributes, &cut_to_chars(&passage.passage.text, chars))
        );
    }
    said
}
