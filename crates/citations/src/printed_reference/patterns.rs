//! Patterns of the parts of a printed reference. All run in linear time.

use std::sync::LazyLock;

use regex::{Captures, Regex};

/// A compiled pattern. A test compiles each one, so none is ever absent.
pub(super) type LazyPattern = LazyLock<Option<Regex>>;

macro_rules! patterns {
    ($($name:ident = $pattern:literal;)*) => {
        $(pub(super) static $name: LazyPattern = LazyLock::new(|| Regex::new($pattern).ok());)*

        #[cfg(test)]
        mod tests {
            #[test]
            fn every_pattern_is_one() {
                $(assert!(super::$name.is_some(), stringify!($name));)*
            }
        }
    };
}

patterns! {
    // `[12] `, `[Vas+17] `, `12. `, `(12) `.
    LABEL = r"^\s*(?:\[[^\]\s]{1,15}\]|\(\d{1,3}\)|\d{1,3}\.)\s+(.+)$";
    DOI = r#"(?i)(?:https?://(?:dx\.)?doi\.org/|doi:?\s*)?(10\.\d{4,9}/[^\s"<>]+)"#;
    ARXIV = r"(?i)(?:https?://)?(?:arxiv\.org/(?:abs|pdf)/|arxiv(?:\s+preprint)?(?:\s+arxiv)?[:\s]\s*(?:abs/)?)((?:[a-z.-]{2,12}/\d{7}|\d{4}\.\d{4,5})(?:v\d+)?)(?:\s*\[[a-z.-]+\])?(?:\.pdf)?";
    PMID = r"(?i)\bPMID:?\s*(\d{4,9})\b";
    URL = r#"(?i)(?:\[online\]\.?\s*)?(?:available(?:\s+at)?:?\s*|retrieved from\s*|url:?\s*)?(https?://[^\s"<>]+)"#;
    QUOTED = r#"[“"]([^“”"]{4,500})[”"]"#;
    PAREN_YEAR = r"^(.{2,900}?)\s*\(((?:1[5-9]|20)\d{2})[a-z]?(?:,[^)]{0,30})?\)[.,:]?\s+";
    AUTHOR_YEAR = r"^(.{2,900}?)[.,]\s+((?:1[5-9]|20)\d{2})[a-z]?\.\s+";
    COLON_TITLE = r"^(.{2,900}?\p{Lu}\.|[^.]{2,900}? \p{Lu}{1,3}): ";
    EDITION = r"(?i)\s*\([^)]{0,40}\bed(?:\.|ition)[^)]{0,40}\)$";
    YEAR = r"\b(?:1[5-9]|20)\d{2}\b";
    INITIAL = r"^\p{Lu}\.(?:[ -]|$)";
    INITIALS = r"^(?:\p{Lu}\p{Ll}?\.?[ -]?){1,4}$";
    ALL_INITIALS = r"^(?:\p{Lu}\.?[ -]?){1,4}$";
    VANCOUVER = r"^(.{2,60}) (\p{Lu}{1,3})$";
    VOLUME = r"(?i)\bvol(?:ume|\.)?\s*([a-z]?\d+[a-z]?|[ivxlc]+)\b";
    ISSUE = r"(?i)\b(?:no|iss|issue|number)\b\.?\s*(\d+(?:[-–]\d+)?)\b";
    PAGES = r"(?i)\b(?:pp|pages?|p)\b\.?\s*([a-z]?\d+(?:\s*[-–—]+\s*[a-z]?\d+)?)";
    VOLUME_ISSUE = r"\b(\d{1,4})\s*\((\d{1,4}(?:[-–]\d+)?)\)(?:\s*[,:]\s*(?:pp?\.\s*)?([A-Za-z]?\d+(?:\s*[-–—]+\s*[A-Za-z]?\d+)?))?";
    VOLUME_PAGES = r"\b(\d{1,4})\s*[,:]\s*([A-Za-z]?\d+\s*[-–—]+\s*[A-Za-z]?\d+|[eE]\d+)";
}

pub(super) fn captures<'a>(pattern: &LazyPattern, text: &'a str) -> Option<Captures<'a>> {
    pattern.as_ref()?.captures(text)
}

pub(super) fn matches(pattern: &LazyPattern, text: &str) -> bool {
    pattern.as_ref().is_some_and(|it| it.is_match(text))
}

/// Whether a text starts with an initial: `K. Smith`.
pub(super) fn starts_with_initial(text: &str) -> bool {
    matches(&INITIAL, text)
}
