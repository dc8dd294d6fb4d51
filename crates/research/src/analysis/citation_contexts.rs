//! Citation contexts: the sentences in which one paper cites another, with their surroundings and
//! positions.

use std::ops::Range;

use deliberate_citations::{is_same_work, read_reference};
use deliberate_core::{Article, ArxivId, Doi, truncate_chars};
use deliberate_extract::DocumentReference;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::citation_markers::CitationMarker;
use crate::{
    articles::{FullText, TextSpan, author_key, references_section::bibliographies, title_key},
    sentences::sentence_spans,
};

/// A sentence in which one paper cites another.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CitationContext {
    /// Sentence with the citation
    pub sentence: String,
    /// With the surrounding sentences
    pub around: String,
    /// Position; absent if a source reported the sentence
    pub place: Option<TextSpan>,
    /// `text`, or the name of a source
    pub from: String,
}

/// Further contexts are omitted.
const MAX_CONTEXTS: usize = 50;

/// Characters of a sentence and of its surroundings; a text without periods is one sentence.
const MAX_SENTENCE_CHARS: usize = 1_500;
const MAX_CONTEXT_CHARS: usize = 6_000;

/// Finds a work in bibliographies. Most entries are ruled out without parsing them.
pub(crate) struct CitedWorkMatcher<'a> {
    article: &'a Article,
    title: String,
    family: String,
}

/// A shorter title, in letters, may be part of another one.
const MIN_TITLE_LETTERS: usize = 16;

impl<'a> CitedWorkMatcher<'a> {
    pub(crate) fn new(article: &'a Article) -> Self {
        let family = article.authors.first().map(|it| author_key(&it.family));
        Self {
            article,
            title: title_key(&article.title),
            family: family.unwrap_or_default(),
        }
    }

    /// Whether an entry is this work: by its id, by its title within the entry, or by its parsed
    /// fields, which are not always correct.
    pub(crate) fn matches(&self, entry: &DocumentReference) -> bool {
        let lower = entry.text.to_lowercase();
        let ids = [
            self.article.doi.as_ref().map(Doi::as_str),
            self.article.arxiv_id.as_ref().map(ArxivId::as_str),
        ];
        if ids.into_iter().flatten().any(|id| contains_id(&lower, id)) {
            return true;
        }
        let text = format!(" {} ", title_key(&entry.text));
        if self.title.len() >= MIN_TITLE_LETTERS && text.contains(&format!(" {} ", self.title)) {
            return self.family.is_empty() || text.contains(&self.family);
        }
        let near = text.contains(&self.family) && self.shares_title_word(&text);
        near && is_same_work(&read_reference(&entry.text), self.article)
    }

    fn shares_title_word(&self, text: &str) -> bool {
        let longest = self.title.split(' ').max_by_key(|it| it.len());
        longest.is_some_and(|it| text.contains(it))
    }
}

/// Whether a text contains an id as a whole: `10.1/ab` is not in `10.1/abc`.
fn contains_id(text: &str, id: &str) -> bool {
    let goes_on = |it: Option<char>| it.is_some_and(char::is_alphanumeric);
    text.match_indices(id).any(|(at, found)| {
        let before = text.get(..at).and_then(|it| it.chars().next_back());
        let after = text.get(at + found.len()..).unwrap_or("");
        // In `10.1/ab.c` the id continues; a period at the end of a sentence does not continue it.
        let mut after = after.chars();
        let next = after.next();
        let over = next.is_some_and(|it| matches!(it, '.' | '-' | '/' | '_'));
        let versioned = next == Some('v') && goes_on(after.clone().next());
        let ends = versioned || !(goes_on(next) || over && goes_on(after.next()));
        ends && !goes_on(before)
    })
}

/// Finds the entry of a bibliography that is this work.
pub(crate) fn find_reference<'a>(
    references: &'a [DocumentReference],
    cited: &Article,
) -> Option<&'a DocumentReference> {
    let wanted = CitedWorkMatcher::new(cited);
    references.iter().find(|it| wanted.matches(it))
}

/// The contexts in which a text cites a work.
#[derive(Debug, Clone, Default)]
pub struct CitationContexts {
    /// The bibliography entry of the work.
    pub entry: Option<DocumentReference>,
    pub contexts: Vec<CitationContext>,
    /// Citation forms that were searched for, as readable text.
    pub marker_forms: String,
}

/// Finds the sentences of a text that cite a work.
pub fn find_citation_contexts(text: &FullText, cited: &Article, window: usize) -> CitationContexts {
    let references = &text.outline.references;
    let Some(entry) = find_reference(references, cited) else {
        return CitationContexts::default();
    };
    let whole = text.join_pages();
    let spans = sentence_spans(&whole);
    let lists = bibliographies(text);
    let cites = |it: &Range<usize>| !lists.iter().any(|list| list.contains(&it.start));
    let body = spans.iter().filter(|it| cites(it));
    let body = body.filter_map(|it| whole.get(it.start..it.end));
    let marker = CitationMarker::new(entry, cited, references, body);
    let mut found = Vec::new();
    for (at, span) in spans.iter().enumerate() {
        let Some(sentence) = whole.get(span.start..span.end) else {
            continue;
        };
        if !cites(span) || found.len() >= MAX_CONTEXTS || !marker.matches(sentence) {
            continue;
        }
        let first = spans.get(at.saturating_sub(window)).unwrap_or(span);
        let last = spans
            .get((at + window).min(spans.len().saturating_sub(1)))
            .unwrap_or(span);
        let around = whole.get(first.start..last.end).unwrap_or(sentence);
        found.push(CitationContext {
            sentence: truncate_chars(sentence, MAX_SENTENCE_CHARS),
            around: truncate_chars(around, MAX_CONTEXT_CHARS).replace('\u{c}', "\n"),
            place: text.span(span.start, span.end),
            from: "text".to_owned(),
        });
    }
    CitationContexts {
        entry: Some(entry.clone()),
        contexts: found,
        marker_forms: marker.forms(),
    }
}
