//! Stretches of texts as they are shown: cut to a length, with the place where they go on, between
//! marks.

use deliberate_toolkit::ToolError;

use crate::{
    articles::{ArticleRecord, FullText, TextSpan},
    prompt_fence::fence_passage,
    tools::rendering::custom_error,
};

/// A stretch that is shown.
pub(super) struct TextExcerpt {
    pub(super) text: String,
    pub(super) span: Option<TextSpan>,
    /// Whether there was more of it.
    pub(super) truncated: bool,
}

/// The text from one byte of the whole to another, `most` characters of it.
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
    /// Between marks, with what it is of.
    pub(super) fn render_fenced(&self, kept: &ArticleRecord, what: &str) -> String {
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
        fence_passage(&attributes, &self.text)
    }

    /// That there is more, and with what to have it: `pages`, be it of another tool.
    pub(super) fn continuation_hint(&self, with: &str) -> String {
        match self.span.filter(|_| self.truncated) {
            Some(place) => format!(
                "\n\n[Cut off on page {}. Read on with {with} {:?} or a greater max_length.]",
                place.end_page,
                format!("{}-", place.end_page)
            ),
            None => String::new(),
        }
    }
}

/// The text of an article; an article without one says how to get it.
pub(super) fn require_text(
    kept: &ArticleRecord,
    text: Option<FullText>,
) -> Result<FullText, ToolError> {
    text.ok_or_else(|| {
        custom_error(
            "NoText",
            format!("{} is known, but its text was not read yet", kept.cite_key),
            "download_pdf with its identifier fetches an open PDF, process_pdf reads it.",
        )
    })
}
