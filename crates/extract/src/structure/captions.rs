//! Recognizes captions by their start: `Figure 3:`, `Fig. 2.`, `TABLE IV`.

use std::sync::LazyLock;

use regex::Regex;

use crate::CaptionKind;

static CAPTION_PATTERN: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(
        r"^(?i:(extended data fig\.?(?:ure)?|supplementary fig\.?(?:ure)?|fig\.?(?:ure)?|scheme|plate|chart|supplementary table|table|tab\.))\s*([A-Z]{0,2}[.\-]?\d{1,3}(?:[.\-]\d{1,3})*[a-z]?|[IVXLC]{1,6})\s*([.:|\u{2013}\u{2014}\u{2022}\-]|$|\s)",
    )
    .ok()
});

/// The kind and label of a caption that starts with this line. `set_apart` means that the line is
/// printed unlike the text around it; otherwise a label needs its point or colon, so that
/// `Figure 3 shows` is not a caption.
pub(crate) fn parse_caption_start(line: &str, set_apart: bool) -> Option<(CaptionKind, String)> {
    let line = line.trim();
    let found = CAPTION_PATTERN.as_ref()?.captures(line)?;
    let (word, number, mark) = (found.get(1)?, found.get(2)?, found.get(3)?);
    let rest = line.get(mark.end()..).unwrap_or_default().trim_start();
    let closed = !mark.as_str().trim().is_empty();
    let starts_sentence = rest
        .chars()
        .next()
        .is_some_and(|c| c.is_uppercase() || c == '(');
    let first = line.chars().next()?;
    if !first.is_uppercase() || !(closed || rest.is_empty() || (set_apart && starts_sentence)) {
        return None;
    }
    // `Figure 3. shows` and `Table 2, which` are broken lines of text.
    if closed && rest.chars().next().is_some_and(char::is_lowercase) && !set_apart {
        return None;
    }
    let table = word.as_str().to_lowercase().contains("tab");
    let kind = if table {
        CaptionKind::Table
    } else {
        CaptionKind::Figure
    };
    let name = match (kind, word.as_str().to_lowercase().as_str()) {
        (CaptionKind::Table, _) => "Table",
        (_, "scheme") => "Scheme",
        (_, "plate") => "Plate",
        (_, "chart") => "Chart",
        _ => "Figure",
    };
    Some((kind, format!("{name} {}", number.as_str())))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn caption_label(line: &str) -> Option<String> {
        parse_caption_start(line, false).map(|(_, label)| label)
    }

    #[test]
    fn captions_are_told_from_sentences() {
        assert_eq!(
            caption_label("Figure 3: The parts").as_deref(),
            Some("Figure 3")
        );
        assert_eq!(caption_label("Fig. 2. A view").as_deref(), Some("Figure 2"));
        assert_eq!(caption_label("TABLE IV").as_deref(), Some("Table IV"));
        assert_eq!(
            caption_label("Table S1. Extra").as_deref(),
            Some("Table S1")
        );
        assert_eq!(caption_label("Figure 3 shows the parts"), None);
        assert_eq!(caption_label("figure 3: of the text"), None);
        assert_eq!(caption_label("Tables are nice"), None);
        assert_eq!(
            parse_caption_start("Table 1 Words and counts", true).map(|(kind, _)| kind),
            Some(CaptionKind::Table)
        );
    }
}
