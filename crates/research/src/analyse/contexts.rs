//! Where one paper cites another: the sentences, with those around them and their places.

use deliberate_citations::{read_reference, same_work};
use deliberate_core::{Article, ArxivId, Doi, cut_to_chars};
use deliberate_extract::Reference;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    markers::Marker,
    sentences::{Span, sentences},
};
use crate::collect::{Place, Text, author_key, bibliography::bibliographies, title_key};

/// A place where one paper cites another.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Context {
    /// The sentence that points at it.
    pub sentence: String,
    /// The sentences around it, it among them.
    pub around: String,
    /// Where the sentence stands; absent if a source told it.
    pub place: Option<Place>,
    /// Who told it: `text`, or a source's name.
    pub from: String,
}

/// Places beyond this are not told.
const MOST: usize = 50;

/// Characters of a sentence, and of all around it; a text without full stops is one sentence.
const LONGEST_SENTENCE: usize = 1_500;
const LONGEST_AROUND: usize = 6_000;

/// A work that is looked for in bibliographies. Most entries are told from it without being taken
/// apart.
pub(crate) struct Wanted<'a> {
    article: &'a Article,
    title: String,
    family: String,
}

/// A title shorter than this, in letters, may stand within another.
const TELLING: usize = 16;

impl<'a> Wanted<'a> {
    pub(crate) fn of(article: &'a Article) -> Self {
        let family = article.authors.first().map(|it| author_key(&it.family));
        Self {
            article,
            title: title_key(&article.title),
            family: family.unwrap_or_default(),
        }
    }

    /// Whether an entry is this work: by its id, by its title within the entry, or by what the entry
    /// is made of, which is not always read rightly.
    pub(crate) fn is(&self, entry: &Reference) -> bool {
        let lower = entry.text.to_lowercase();
        let ids = [
            self.article.doi.as_ref().map(Doi::as_str),
            self.article.arxiv_id.as_ref().map(ArxivId::as_str),
        ];
        if ids.into_iter().flatten().any(|id| stands_in(&lower, id)) {
            return true;
        }
        let text = format!(" {} ", title_key(&entry.text));
        if self.title.len() >= TELLING && text.contains(&format!(" {} ", self.title)) {
            return self.family.is_empty() || text.contains(&self.family);
        }
        let near = text.contains(&self.family) && self.has_word_of_title(&text);
        near && same_work(&read_reference(&entry.text), self.article)
    }

    fn has_word_of_title(&self, text: &str) -> bool {
        let longest = self.title.split(' ').max_by_key(|it| it.len());
        longest.is_some_and(|it| text.contains(it))
    }
}

/// Whether an id stands in a text as a whole: `10.1/ab` is not in `10.1/abc`.
fn stands_in(text: &str, id: &str) -> bool {
    let goes_on = |it: Option<char>| it.is_some_and(char::is_alphanumeric);
    text.match_indices(id).any(|(at, found)| {
        let before = text.get(..at).and_then(|it| it.chars().next_back());
        let after = text.get(at + found.len()..).unwrap_or("");
        // `10.1/ab.c` goes on, the dot that ends a sentence does not.
        let mut after = after.chars();
        let next = after.next();
        let over = next.is_some_and(|it| matches!(it, '.' | '-' | '/' | '_'));
        let versioned = next == Some('v') && goes_on(after.clone().next());
        let ends = versioned || !(goes_on(next) || over && goes_on(after.next()));
        ends && !goes_on(before)
    })
}

/// The entry of a bibliography that is this work.
pub(crate) fn entry_of<'a>(references: &'a [Reference], cited: &Article) -> Option<&'a Reference> {
    let wanted = Wanted::of(cited);
    references.iter().find(|it| wanted.is(it))
}

/// Where one text cites a work.
#[derive(Debug, Clone, Default)]
pub struct Cited {
    /// The entry it does so by.
    pub entry: Option<Reference>,
    /// The places.
    pub places: Vec<Context>,
    /// What was looked for to find them, for people.
    pub looked_for: String,
}

/// The places where this text cites that work.
pub fn contexts(text: &Text, cited: &Article, window: usize) -> Cited {
    let references = &text.outline.references;
    let Some(entry) = entry_of(references, cited) else {
        return Cited::default();
    };
    let whole = text.whole();
    let spans = sentences(&whole);
    let lists = bibliographies(text);
    let cites = |it: &Span| !lists.iter().any(|list| list.contains(&it.start));
    let body = spans.iter().filter(|it| cites(it));
    let body = body.filter_map(|it| whole.get(it.start..it.end));
    let marker = Marker::of(entry, cited, references, body);
    let mut found = Vec::new();
    for (at, span) in spans.iter().enumerate() {
        let Some(sentence) = whole.get(span.start..span.end) else {
            continue;
        };
        if !cites(span) || found.len() >= MOST || !marker.is_in(sentence) {
            continue;
        }
        let first = spans.get(at.saturating_sub(window)).unwrap_or(span);
        let last = spans
            .get((at + window).min(spans.len().saturating_sub(1)))
            .unwrap_or(span);
        let around = whole.get(first.start..last.end).unwrap_or(sentence);
        found.push(Context {
            sentence: cut_to_chars(sentence, LONGEST_SENTENCE),
            around: cut_to_chars(around, LONGEST_AROUND).replace('\u{c}', "\n"),
            place: text.place(span.start, span.end),
            from: "text".to_owned(),
        });
    }
    Cited {
        entry: Some(entry.clone()),
        places: found,
        looked_for: marker.forms(),
    }
}
