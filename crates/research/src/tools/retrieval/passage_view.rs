//! Passages in the output of tools.

use std::fmt::Write as _;

use deliberate_core::truncate_chars;
use deliberate_toolkit::ToolContext;
use schemars::JsonSchema;
use serde::Serialize;

use crate::{
    RetrievalResult, RetrievedPassage,
    articles::TextSpan,
    prompt_fence::{fence_passage, prompt_fence, untrusted_data_notice},
    retrieval::query::mode_name,
    tools::rendering::{ArticleView, article_line, pluralize, with_notes},
};

/// A passage in the output.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct PassageView {
    article: ArticleView,
    text: String,
    section: Vec<String>,
    /// Page 0 is the abstract
    place: TextSpan,
    /// Comparable only within this answer
    score: f32,
    #[serde(skip_serializing_if = "Option::is_none")]
    similarity: Option<f32>,
}

/// The output of a search that returns passages.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(description = "")]
pub(crate) struct PassageSearchOutput {
    said: String,
    mode: &'static str,
    results: Vec<PassageView>,
    notes: Vec<String>,
}

impl PassageSearchOutput {
    /// Passages are truncated to `chars` characters. `nothing` is said if there are none.
    pub(super) fn new(
        found: RetrievalResult,
        chars: usize,
        nothing: &str,
        call: &ToolContext,
    ) -> Self {
        let text = render_passages(&found.passages, chars, nothing, call);
        let views = found.passages.iter().map(|it| to_passage_view(it, chars));
        Self {
            said: with_notes(text, &found.notes),
            mode: mode_name(found.mode),
            results: views.collect(),
            notes: found.notes,
        }
    }
}

/// Converts a passage, truncated to `chars` characters.
fn to_passage_view(found: &RetrievedPassage, chars: usize) -> PassageView {
    PassageView {
        article: ArticleView::from_record(&found.kept),
        text: truncate_chars(&found.passage.text, chars),
        section: found.passage.section.clone(),
        place: found.place,
        score: found.rerank_score.unwrap_or(found.score),
        similarity: found.similarity,
    }
}

/// Renders the passages, or `nothing` if there are none.
fn render_passages(
    found: &[RetrievedPassage],
    chars: usize,
    nothing: &str,
    call: &ToolContext,
) -> String {
    if found.is_empty() {
        return nothing.to_owned();
    }
    let fence = &prompt_fence(call);
    let mut said = format!(
        "{}. {}\n",
        pluralize(found.len() as u64, "passage"),
        untrusted_data_notice(fence)
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
            article_line(&passage.kept),
            fence_passage(
                fence,
                &attributes,
                &truncate_chars(&passage.passage.text, chars)
            )
        );
    }
    said
}
