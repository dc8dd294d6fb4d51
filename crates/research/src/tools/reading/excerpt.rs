//! Excerpts of texts as tools show them: fenced, truncated, and with the page to continue from.

use deliberate_core::PromptFence;
use deliberate_toolkit::{ErrorCode, ToolError};

use crate::{
    articles::{ArticleRecord, FullText, TextSpan},
    prompt_fence::fence_passage,
    tools::rendering::custom_error,
};

/// An excerpt of a text.
pub(super) struct TextExcerpt {
    pub(super) text: String,
    pub(super) span: Option<TextSpan>,
    /// Whether the text continues.
    pub(super) truncated: bool,
}

/// Cuts a byte range of the whole text to `most` characters.
pub(super) fn cut_excerpt(
    text: &FullText,
    whole: &str,
    from: usize,
    to: usize,
    most: usize,
) -> TextExcerpt {
    let all = whole.get(from..to).unwrap_or_default();
    let end = all.char_indices().nth(most).map(|(byte, _)| byte);
    let shown = all.get(..end.unwrap_or(all.len())).unwrap_or_default();
    TextExcerpt {
        text: shown.replace('\u{c}', "\n\n"),
        span: text.span(from, from + shown.len()),
        truncated: end.is_some(),
    }
}

impl TextExcerpt {
    /// Renders the excerpt in a fence that names its source.
    pub(super) fn render_fenced(
        &self,
        fence: &PromptFence,
        kept: &ArticleRecord,
        what: &str,
    ) -> String {
        let pages = self.span.map_or_else(String::new, |place| {
            if place.page == place.end_page {
                format!("p. {}", place.page)
            } else {
                format!("pp. {}-{}", place.page, place.end_page)
            }
        });
        let attributes = [
            ("article", kept.cite_key.as_str()),
            ("part", what),
            ("pages", &pages),
        ];
        fence_passage(fence, &attributes, &self.text)
    }

    /// Says that the text continues, and which argument of which tool shows more.
    pub(super) fn continuation_hint(&self, with: &str) -> String {
        match self.span.filter(|_| self.truncated) {
            Some(place) => format!(
                "\n\n[Truncated on page {}. Continue with {with} {:?} or a larger max_length.]",
                place.end_page,
                format!("{}-", place.end_page)
            ),
            None => String::new(),
        }
    }
}

/// The text of an article, or an error that says how to get it.
pub(super) fn require_text(
    record: &ArticleRecord,
    text: Option<FullText>,
) -> Result<FullText, ToolError> {
    text.ok_or_else(|| {
        custom_error(
            ErrorCode::NoText,
            format!("{} is in the collection, but has no text yet", record.cite_key),
            "Download an open PDF with download_pdf and its identifier, then read it with process_pdf.",
        )
    })
}
