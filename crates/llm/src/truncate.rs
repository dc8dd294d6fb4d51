//! Truncates texts and marks the cut.

/// Returns at most `most` characters of `text`; a cut is marked.
pub(crate) fn truncate(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        None => text.to_owned(),
        Some((end, _)) => {
            let kept = text.get(..end).unwrap_or_default();
            format!("{kept}…")
        }
    }
}
