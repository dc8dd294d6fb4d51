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

/// Returns the last `most` characters of `text`; a cut is marked.
pub(crate) fn truncate_start(text: &str, most: usize) -> String {
    let cut = text.chars().count().saturating_sub(most);
    match text.char_indices().nth(cut) {
        Some((start, _)) if cut > 0 => format!("…{}", text.get(start..).unwrap_or_default()),
        _ => text.to_owned(),
    }
}
