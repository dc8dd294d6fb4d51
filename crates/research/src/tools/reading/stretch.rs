//! Stretches of texts as they are shown: cut to a length, with the place where they go on, between
//! marks.

use deliberate_toolkit::ToolError;

use super::super::shown::told;
use crate::collect::{Kept, Place, Text, fence::fenced};

/// A stretch that is shown.
pub(super) struct Stretch {
    pub(super) text: String,
    pub(super) place: Option<Place>,
    /// Whether there was more of it.
    pub(super) cut: bool,
}

/// The text from one byte of the whole to another, `most` characters of it.
pub(super) fn stretch(text: &Text, whole: &str, from: usize, to: usize, most: usize) -> Stretch {
    let all = whole.get(from..to).unwrap_or_default();
    let end = all.char_indices().nth(most).map(|(byte, _)| byte);
    let shown = all.get(..end.unwrap_or(all.len())).unwrap_or_default();
    Stretch {
        text: shown.replace('\u{c}', "\n\n"),
        place: text.place(from, from + shown.len()),
        cut: end.is_some(),
    }
}

impl Stretch {
    /// Between marks, with what it is of.
    pub(super) fn fenced(&self, kept: &Kept, what: &str) -> String {
        let pages = self.place.map_or_else(String::new, |place| {
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
        fenced(&attributes, &self.text)
    }

    /// That there is more, and with what to have it: `pages`, be it of another tool.
    pub(super) fn more(&self, with: &str) -> String {
        match self.place.filter(|_| self.cut) {
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
pub(super) fn needed(kept: &Kept, text: Option<Text>) -> Result<Text, ToolError> {
    text.ok_or_else(|| {
        told(
            "NoText",
            format!("{} is known, but its text was not read yet", kept.cite_key),
            "download_pdf with its identifier fetches an open PDF, process_pdf reads it.",
        )
    })
}
