//! Passages in the output of tools.

use std::fmt::Write as _;

use deliberate_core::truncate_chars;
use deliberate_toolkit::ToolContext;
use schemars::JsonSchema;
use serde::Serialize;

use crate::{
    RetrievedPassage,
    articles::TextSpan,
    prompt_fence::{fence_passage, prompt_fence, untrusted_data_notice},
    tools::rendering::{ArticleView, article_line, pluralize},
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

/// Converts a passage, truncated to `chars` characters.
pub(super) fn to_passage_view(found: &RetrievedPassage, chars: usize) -> PassageView {
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
pub(super) fn render_passages(
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
