//! The usual names and numbers of headings.

use std::sync::LazyLock;

use regex::Regex;

static NUMBER_PATTERN: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(r"^(?:(?:chapter|section|appendix)\s+)?(\d{1,2}(?:\.\d{1,2}){0,4}\.?|[IVX]{1,5}\.|[A-Z]\.(?:\d{1,2}\.?)*|[A-Z])\s+(\p{Lu}.*|\p{L}.{3,})$").ok()
});

const SECTION_NAMES: [&str; 41] = [
    "abstract",
    "summary",
    "introduction",
    "background",
    "preliminaries",
    "related work",
    "related works",
    "literature review",
    "theory",
    "method",
    "methods",
    "methodology",
    "materials and methods",
    "methods and materials",
    "experimental",
    "experiments",
    "experimental setup",
    "evaluation",
    "results",
    "results and discussion",
    "analysis",
    "discussion",
    "limitations",
    "future work",
    "conclusion",
    "conclusions",
    "conclusions and future work",
    "conclusion and future work",
    "concluding remarks",
    "acknowledgments",
    "acknowledgements",
    "acknowledgment",
    "acknowledgement",
    "references",
    "bibliography",
    "literature cited",
    "works cited",
    "appendix",
    "appendices",
    "supplementary material",
    "data availability",
];

/// Whether a line is the usual name of a section.
pub(crate) fn is_known_section(line: &str) -> bool {
    let (_, title) = split_number(line.trim());
    let bare: String = title
        .chars()
        .map(|c| {
            if c.is_alphabetic() {
                c.to_ascii_lowercase()
            } else {
                ' '
            }
        })
        .collect();
    let bare = bare.split_whitespace().collect::<Vec<_>>().join(" ");
    // Letterspaced headings come as single letters.
    let tight = bare.replace(' ', "");
    if bare.starts_with("appendix ") && bare.len() < 60 {
        return true;
    }
    SECTION_NAMES.iter().any(|name| {
        *name == bare || (bare.len() > tight.len() * 3 / 2 && name.replace(' ', "") == tight)
    })
}

/// Whether a heading starts the bibliography.
pub(crate) fn is_references(title: &str) -> bool {
    let (_, title) = split_number(title.trim());
    let bare: String = title
        .chars()
        .filter(|c| c.is_alphabetic())
        .collect::<String>()
        .to_lowercase();
    matches!(
        bare.as_str(),
        "references"
            | "bibliography"
            | "literaturecited"
            | "workscited"
            | "referencescited"
            | "literature"
            | "referencesandnotes"
            | "citedliterature"
            | "literatur"
            | "bibliographie"
            | "referencias"
            | "références"
            | "bibliografia"
            | "literaturverzeichnis"
    )
}

/// Splits the number's depth and the title of a heading.
pub(super) fn split_number(line: &str) -> (Option<u8>, &str) {
    let Some(found) = NUMBER_PATTERN
        .as_ref()
        .and_then(|number| number.captures(line))
    else {
        return (None, line);
    };
    let (Some(number), Some(words)) = (found.get(1), found.get(2)) else {
        return (None, line);
    };
    let number = number.as_str();
    let parts = number.split('.').filter(|part| !part.is_empty()).count();
    (
        Some(u8::try_from(parts.clamp(1, 6)).unwrap_or(1)),
        words.as_str(),
    )
}
