//! Insights from a paper: its contributions, methods, findings, limitations, and future work. They
//! are found by headings and by typical phrases; each sentence has its position, so that it can be
//! looked up.

use std::ops::Range;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    articles::{
        FullText, TextSpan,
        references_section::is_bibliography,
        sections::{SectionSpan, sections},
        title_key,
    },
    sentences::sentence_spans,
};

/// Kind of insight.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub enum InsightKind {
    Contributions,
    Methodology,
    Findings,
    Limitations,
    FutureWork,
    /// Work that the paper builds on.
    Connections,
    /// Measured values.
    Metrics,
}

/// A sentence with an insight.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ArticleInsight {
    pub text: String,
    pub section: Option<String>,
    pub place: Option<TextSpan>,
}

impl InsightKind {
    /// Readable name.
    pub const fn title(self) -> &'static str {
        match self {
            Self::Contributions => "Contributions",
            Self::Methodology => "Methodology",
            Self::Findings => "Findings",
            Self::Limitations => "Limitations",
            Self::FutureWork => "Future work",
            Self::Connections => "Connections",
            Self::Metrics => "Metrics",
        }
    }

    /// Words of headings under which such insights are found.
    const fn headings(self) -> &'static [&'static str] {
        match self {
            Self::Contributions => &["contribution", "introduction", "abstract", "summary"],
            Self::Methodology => &[
                "method",
                "approach",
                "experimental setup",
                "materials",
                "model",
                "data",
            ],
            Self::Findings => &[
                "result",
                "finding",
                "evaluation",
                "conclusion",
                "experiment",
            ],
            Self::Limitations => &["limitation", "threats to validity", "discussion"],
            Self::FutureWork => &["future", "outlook", "conclusion"],
            Self::Connections => &["related work", "background", "previous work", "literature"],
            Self::Metrics => &[
                "result",
                "evaluation",
                "experiment",
                "performance",
                "ablation",
            ],
        }
    }

    /// Whether the headings also cover much else: then a sentence without a cue counts only if no
    /// sentence has one.
    const fn needs_cue(self) -> bool {
        matches!(
            self,
            Self::Contributions | Self::Limitations | Self::FutureWork
        )
    }

    /// Phrases that indicate such an insight.
    const fn cues(self) -> &'static [&'static str] {
        match self {
            Self::Contributions => &[
                "we propose",
                "we present",
                "we introduce",
                "we show",
                "our contribution",
                "main contribution",
                "novel",
                "this paper presents",
                "in this paper",
                "for the first time",
            ],
            Self::Methodology => &[
                "we use",
                "we used",
                "we train",
                "we collect",
                "participants",
                "was measured",
                "were measured",
                "randomly",
                "dataset",
                "we applied",
                "procedure",
                "we estimate",
                "we recruited",
            ],
            Self::Findings => &[
                "we find",
                "we found",
                "results show",
                "results suggest",
                "outperform",
                "significant",
                "improve",
                "increase",
                "decrease",
                "we observed",
                "we conclude",
                "higher than",
                "lower than",
            ],
            Self::Limitations => &[
                "limitation",
                "limited to",
                "does not generalize",
                "we did not",
                "we do not",
                "caveat",
                "drawback",
                "fail",
                "fails",
                "failed",
                "cannot",
                "small sample",
                "only consider",
            ],
            Self::FutureWork => &[
                "future work",
                "future research",
                "further work",
                "further research",
                "we plan",
                "remains to be",
                "open question",
                "in the future",
                "would be interesting",
            ],
            Self::Connections => &[
                "et al",
                "build on",
                "builds on",
                "extend",
                "extends",
                "in contrast to",
                "similar to",
                "previous work",
                "prior work",
                "earlier work",
                "previous studies",
                "prior studies",
                "earlier studies",
                "following",
            ],
            Self::Metrics => &[
                "%",
                "percent",
                "on average",
                "median",
                "accuracy",
                "f1",
                "auc",
                "p <",
                "p =",
                "confidence interval",
                "mean",
                "±",
                "bleu",
                "rmse",
                "recall",
                "precision",
                "odds ratio",
                "seconds",
                "ms",
            ],
        }
    }
}

/// Shorter sentences say nothing on their own; longer ones are usually not sentences.
const MIN_SENTENCE_CHARS: usize = 30;
const MAX_SENTENCE_CHARS: usize = 800;

/// Extracts the best `most` insights of a kind, in the order of the text.
pub fn extract_insights(text: &FullText, facet: InsightKind, most: usize) -> Vec<ArticleInsight> {
    let whole = text.join_pages();
    let sections = section_starts(text);
    let mut found: Vec<(usize, Range<usize>, Option<&String>)> = Vec::new();
    for span in sentence_spans(&whole) {
        let Some(sentence) = whole.get(span.start..span.end) else {
            continue;
        };
        if !(MIN_SENTENCE_CHARS..=MAX_SENTENCE_CHARS).contains(&sentence.len()) {
            continue;
        }
        let before = sections.partition_point(|(start, _, _)| *start <= span.start);
        let section = before.checked_sub(1).and_then(|at| sections.get(at));
        let key = section.map_or("", |(_, _, key)| key);
        if is_bibliography(key) {
            continue;
        }
        let points = score_sentence(facet, sentence, key);
        if points > 0 {
            found.push((points, span, section.map(|(_, title, _)| title)));
        }
    }
    if facet.needs_cue() && found.iter().any(|it| it.0 > HEADING_SCORE) {
        found.retain(|it| it.0 > HEADING_SCORE);
    }
    found.sort_by(|one, other| other.0.cmp(&one.0).then(one.1.start.cmp(&other.1.start)));
    found.truncate(most);
    // Return the best ones in the order of the paper.
    found.sort_by_key(|it| it.1.start);
    // Positions are computed last, because that scans the text.
    let told = found.into_iter().filter_map(|(_, span, section)| {
        let sentence = whole.get(span.start..span.end)?;
        Some(ArticleInsight {
            text: sentence.split_whitespace().collect::<Vec<_>>().join(" "),
            section: section.cloned(),
            place: text.span(span.start, span.end),
        })
    });
    told.collect()
}

/// Removes positions, because an abstract has no pages, and sentences that repeat the title.
pub(crate) fn clear_locations(found: &mut Vec<ArticleInsight>, title: &str) {
    found.retain(|it| title_key(&it.text) != title_key(title));
    for it in found {
        it.place = None;
    }
}

/// Score of a sentence without a cue under a matching heading.
const HEADING_SCORE: usize = 1;

/// Scores a sentence by its cues and its heading; both together count most. A metric needs a
/// number.
fn score_sentence(facet: InsightKind, sentence: &str, section: &str) -> usize {
    if facet == InsightKind::Metrics && !has_number(sentence) {
        return 0;
    }
    let lower = sentence.to_lowercase();
    let cues = facet
        .cues()
        .iter()
        .filter(|it| contains_words(&lower, it))
        .count();
    let under = facet.headings().iter().any(|it| section.contains(it));
    match (cues, under) {
        (0, true) => HEADING_SCORE,
        (cues, true) => cues * 2 + 3,
        (cues, false) => cues * 2,
    }
}

/// Whether the sentence has a number that is not a citation such as `[12]`.
fn has_number(sentence: &str) -> bool {
    let mut depth = 0_usize;
    sentence.chars().any(|it| {
        match it {
            '[' => depth += 1,
            ']' => depth = depth.saturating_sub(1),
            _ => {}
        }
        depth == 0 && it.is_ascii_digit()
    })
}

/// Whether the text contains the words as words: `ms` is not in `systems`. A longer word may
/// continue (`improve` in `improves`), a short one may not; a phrase that does not begin with a
/// letter matches anywhere.
fn contains_words(text: &str, words: &str) -> bool {
    let letter = |it: Option<char>| it.is_some_and(char::is_alphanumeric);
    let short = words.len() <= 6 && words.chars().all(char::is_alphanumeric);
    text.match_indices(words).any(|(at, found)| {
        let before = text.get(..at).and_then(|it| it.chars().next_back());
        let after = text
            .get(at + found.len()..)
            .and_then(|it| it.chars().next());
        let inside = letter(words.chars().next()) && letter(before);
        !(inside || short && letter(after))
    })
}

/// Byte offset, title, and normalized title of each section.
fn section_starts(text: &FullText) -> Vec<(usize, String, String)> {
    let keyed = |it: SectionSpan| {
        let key = title_key(&it.title);
        (it.start, it.title, key)
    };
    sections(text).into_iter().map(keyed).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn extract_texts(page: &str, facet: InsightKind) -> Vec<String> {
        let all = extract_insights(&FullText::from_lines(page), facet, 9);
        all.into_iter().map(|it| it.text).collect()
    }

    #[test]
    fn a_discussion_is_no_limitation_where_one_is_told() {
        let told = "A limitation of this study is that all sites were drained.";
        let page =
            format!("#Discussion\n\nRadio is cheaper than it was ever before in mires. {told}");
        assert_eq!(extract_texts(&page, InsightKind::Limitations), [told]);
        let page = "#Discussion\n\nRadio is cheaper than it was ever before in mires.";
        assert_eq!(
            extract_texts(page, InsightKind::Limitations).len(),
            1,
            "better than none"
        );
    }

    #[test]
    fn figures_of_the_results_are_metrics_and_numbers_of_citations_are_none() {
        let page = "#Results\n\nThe network found the front 41 hours earlier than others.\n\n\
                    This agrees with what was told before in [12] and [14].\n\n\
                    #References\n\n[1] A. Doe, The accuracy of 41 percent of all of the networks.";
        assert_eq!(
            extract_texts(page, InsightKind::Metrics),
            ["The network found the front 41 hours earlier than others."]
        );
    }
}
