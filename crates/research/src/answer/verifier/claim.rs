//! Preparation of a claim: its quotes, the text without them, and whether it claims anything.

use std::{ops::Range, sync::LazyLock};

use regex::Regex;

use super::{
    Claim,
    quotes::fuzzy_match::{Quote, extract_quotes},
    text::markdown_lines::is_table_header,
};

/// A claim, prepared for the check.
pub(crate) struct PreparedClaim {
    /// Text without citation marks.
    pub(super) text: String,
    /// Quotes of at least `MIN_QUOTE_WORDS` words, and the claim's own `quote`.
    pub(super) quotes: Vec<Quote>,
    /// Whether the claim exceeds `MAX_CLAIM_CHARS`.
    pub(super) too_long: bool,
    /// Text without the quotes.
    pub(super) unquoted: String,
}

/// A longer text, in characters, is not a single claim and is not checked.
pub(super) const MAX_CLAIM_CHARS: usize = 1_500;

/// Fewer words in quotation marks are a figure of speech, not a quote.
const MIN_QUOTE_WORDS: usize = 3;

/// Citation marks, which are not part of the claim: `[3]`, `[Source 2]`, `[p1, p4]`, and `[1, p.
/// 7]` as our answers write it. Parentheses may contain a name: `(p53)`.
#[expect(
    clippy::expect_used,
    reason = "the pattern is a constant and is tested"
)]
static CITATION_MARKS: LazyLock<Regex> = LazyLock::new(|| {
    let id = r"(?:(?:sources?|passages?)\s+p?|p)";
    Regex::new(&format!(
        r"(?ix)\s*(?:
            \[{id}?\d{{1,3}}(?:\s*[,;–-]\s*{id}?\d{{1,3}})*(?:,\s*(?:p\.\s*\d+|abstract))?\]
          | [✓✗]\+?
        )"
    ))
    .expect("the pattern is valid")
});

/// Removes text that looks like the marks of an answer: only the check may set them.
pub(super) fn strip_citation_marks(text: &str) -> String {
    let text = CITATION_MARKS.replace_all(text, "");
    text.trim().trim_end_matches([' ', '≠', '~']).to_owned()
}

/// Phrases that say that the passages do not answer.
#[expect(
    clippy::expect_used,
    reason = "the pattern is a constant and is tested"
)]
static ABSENCE_PHRASES: LazyLock<Regex> = LazyLock::new(|| {
    let things = r"(?:passages?|sources?|papers?|texts?|excerpts?|documents?|collection|articles?|material|context)";
    let verbs = r"(?:say|state|mention|report|specify|contain|provide|address|discuss|cover|give|include|tell|answer|offer)";
    Regex::new(&format!(
        r"(?ix)^\W*(?:unfortunately,?\s+|however,?\s+|in\s+short,?\s+)?(?:
            (?:(?:the|these|those|none\s+of\s+the|no|my)\s+)?(?:\w+\s+){{0,2}}{things}\s+(?:\w+\s+){{0,2}}?(?:(?:do|does|did)(?:\s+not|n['’]t)\s+(?:\w+\s+)?{verbs}|{verbs}s?\s+(?:no|nothing))\b
          | (?:none\s+of\s+the|no)\s+(?:\w+\s+)?{things}\s+(?:\w+\s+)?{verbs}s?\b
          | (?:it\s+is|this\s+is|that\s+is)\s+not\s+(?:stated|mentioned|reported|said|addressed|covered)\b.*\b{things}\b
          | (?:there\s+is\s+)?(?:no|insufficient|not\s+enough)\s+(?:information|evidence|material)\s+(?:\w+\s+){{0,4}}(?:in|from|among)\s+(?:the\s+)?(?:\w+\s+)?{things}\b
          | (?:the\s+question|this)\s+(?:can\s*not|cannot|can['’]t)\s+be\s+answered\b
        )"
    ))
    .expect("the pattern is valid")
});

/// Questions that imply a statement.
#[expect(
    clippy::expect_used,
    reason = "the pattern is a constant and is tested"
)]
static LEADING_QUESTION: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?i)^\W*(?:did\s+you\s+know|who\s+(?:would|could)|why\b|how\s+come|\w+n['’]t\b|(?:is|are|does|do|did|was|were)\s+it\s+not\b|surely\b)|,\s*(?:is|are|was|were|does|do|did|has|have)n['’]t\s+\w+\?$")
        .expect("the pattern is valid")
});

/// Verbs that make a short heading or label a statement.
#[expect(
    clippy::expect_used,
    reason = "the pattern is a constant and is tested"
)]
static STATEMENT_VERBS: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?i)\b(?:cures?|cured|causes|caused|prevents?|prevented|reduces?|reduced|increases|increased|improves?|improved|kills?|killed|lowers|lowered|raises|raised|works|worked|fails|failed|proves|proved|doubles|doubled|halves|halved|outperforms?|outperformed|saves|saved|protects?|protected|harms|destroys|destroyed)\b")
        .expect("the pattern is valid")
});

/// Words after which a sentence goes on to claim something.
#[expect(
    clippy::expect_used,
    reason = "the pattern is a constant and is tested"
)]
static CONTINUATION: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?i);|\b(?:but|although|though|yet|while|whereas|nevertheless|nonetheless|except|because|since|and\s+(?:that|so|thus|it|they|this))\b|,\s*(?:however|instead|so|which|and)\b")
        .expect("the pattern is valid")
});

impl PreparedClaim {
    pub(super) fn new(claim: &Claim) -> Self {
        let text = deliberate_core::truncate_chars(&claim.text, MAX_CLAIM_CHARS);
        let text = strip_citation_marks(&text);
        let (long, spans): (Vec<Quote>, Vec<Range<usize>>) = extract_quotes(&text)
            .into_iter()
            .filter(|(quote, _)| quote.word_count() >= MIN_QUOTE_WORDS)
            .unzip();
        let unquoted = remove_spans(&text, &spans);
        let said = claim
            .quote
            .as_deref()
            .map(|it| deliberate_core::truncate_chars(it, MAX_CLAIM_CHARS));
        let said = said.as_deref().and_then(Quote::parse);
        Self {
            quotes: long.into_iter().chain(said).collect(),
            unquoted,
            too_long: claim.text.chars().nth(MAX_CLAIM_CHARS).is_some()
                || claim
                    .quote
                    .as_ref()
                    .is_some_and(|it| it.chars().nth(MAX_CLAIM_CHARS).is_some()),
            text,
        }
    }

    /// Whether the text claims nothing: a heading, a label, a question, or a statement that the
    /// passages do not answer.
    pub(super) fn makes_no_claim(&self) -> bool {
        let text = self.text.trim();
        let letters = text.chars().filter(|it| it.is_alphanumeric()).count();
        let short = text.split_whitespace().count() <= 8
            && !text.contains(|it: char| it == '\n' || it.is_ascii_digit());
        let states = STATEMENT_VERBS.is_match(text);
        let heading = text.starts_with('#') && short && !states;
        let label = text.ends_with(':') && short && !states;
        let question = text.ends_with('?')
            && !text.contains(|it: char| matches!(it, '.' | ';' | '!') || it.is_ascii_digit())
            && !LEADING_QUESTION.is_match(text);
        let not_said = ABSENCE_PHRASES.is_match(text) && !CONTINUATION.is_match(text);
        let names = heading || label || is_table_header(text);
        letters == 0 || (self.quotes.is_empty() && (names || question || not_said))
    }
}

fn remove_spans(text: &str, spans: &[Range<usize>]) -> String {
    let mut left = String::with_capacity(text.len());
    let mut from = 0;
    for span in spans {
        left.push_str(text.get(from..span.start).unwrap_or_default());
        left.push(' ');
        from = span.end;
    }
    left.push_str(text.get(from..).unwrap_or_default());
    left
}

#[cfg(test)]
mod tests {
    use super::*;

    fn prepare(text: &str) -> PreparedClaim {
        PreparedClaim::new(&Claim {
            text: text.to_owned(),
            ..Claim::default()
        })
    }

    #[test]
    fn what_claims_nothing() {
        for text in [
            "",
            "## Findings",
            "There were two:",
            "## What is known of it",
            "Key points:",
            "Does it work in rats?",
            "The passages do not say how long it lasted.",
            "None of the retrieved sources mention cost.",
            "There is not enough information on this in the passages.",
            "The paper does not explicitly state the dose.",
        ] {
            assert!(prepare(text).makes_no_claim(), "{text}");
        }
        for text in [
            "It works.",
            "The passages do not say why, but the dose was 5 mg.",
            "The paper does not say so; it cures cancer.",
            "Who knows? It cures cancer. Does it?",
            "The drug does not contain lactose.",
            "The longer context did not improve accuracy on any of the nine benchmarks.",
            "The papers do not find any harm of taking 50 grams daily.",
            "Did you know that vitamin D cures cancer?",
            "Does it cure 90 percent of patients?",
            "It cures cancer, doesn't it?",
            "## Vitamin D cures every cancer",
        ] {
            assert!(!prepare(text).makes_no_claim(), "{text}");
        }
    }

    #[test]
    fn marks_of_citation_are_not_claimed() {
        assert_eq!(
            prepare("It fell by 5% [1, 3] in mice [p2].").text,
            "It fell by 5% in mice."
        );
        for marked in [
            "It fell ✓ [1, p. 3]",
            "It fell [p3, p4] ✗",
            "It fell [Source 2; p4] ≠",
            "It fell [2, abstract]",
        ] {
            assert_eq!(prepare(marked).text, "It fell", "{marked}");
        }
        for kept in ["It fell (p < 0.05).", "It fell with it (p53)."] {
            assert_eq!(prepare(kept).text, kept);
        }
        assert_eq!(
            prepare("An interval of [0.5, 0.9].").text,
            "An interval of [0.5, 0.9]."
        );
    }
}
