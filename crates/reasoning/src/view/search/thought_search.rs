//! Search over thoughts and nodes by words and by meaning.

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
};

use deliberate_core::truncate_chars;
use deliberate_store::{
    SearchEntity, SearchHit, SearchKey, SearchQuery, SearchResults, Store, StoreError, WordMatch,
};
use schemars::JsonSchema;
use serde::Serialize;

use super::meaning::{MeaningRanker, TextEmbedder};

/// The constant of reciprocal rank fusion: the larger, the less the first ranks count.
const RANK_CONSTANT: f64 = 60.0;

/// The characters of an excerpt without matching words.
const OPENING_CHARS: usize = 300;

/// The words of a query in a note, and of a hit.
const MAX_LISTED_WORDS: usize = 12;

/// Finds thoughts and nodes by words and, with an embedder, by meaning. It remembers the vectors of
/// the texts that it has compared, so one search should serve many calls.
pub struct ThoughtSearch {
    meaning: Option<MeaningRanker>,
}

/// The page that a search found.
#[derive(Debug)]
pub struct ThoughtSearchPage {
    /// Those with all words by their rank, then the others by their rank in words and meaning.
    pub hits: Vec<ThoughtMatch>,
    /// Whether there are more.
    pub more: bool,
    /// Why the hits are not what was asked for; `None` if one has all words.
    pub note: Option<String>,
}

/// A thought or node that a search found.
#[derive(Debug)]
pub struct ThoughtMatch {
    /// The thought or node.
    pub entity: SearchEntity,
    /// The text around the matching words, or the beginning.
    pub excerpt: String,
    /// How it was found.
    pub kind: MatchKind,
    /// The words of the query that it has, if it has not all.
    pub words: Vec<String>,
}

/// How a thought or node was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub enum MatchKind {
    /// It has all words.
    AllWords,
    /// It has some of the words.
    SomeWords,
    /// It has none of the words but is close in meaning.
    Meaning,
}

impl ThoughtSearch {
    /// Creates a search; without an embedder it finds by words alone.
    pub fn new(embedder: Option<Arc<dyn TextEmbedder>>) -> Self {
        Self {
            meaning: embedder.map(MeaningRanker::new),
        }
    }

    /// Finds the best matches, at most the limit of the search.
    ///
    /// # Errors
    ///
    /// If the store cannot be read.
    pub async fn find(
        &self,
        search: &SearchQuery,
        store: &dyn Store,
    ) -> Result<ThoughtSearchPage, StoreError> {
        let limit = usize::try_from(search.limit).unwrap_or(usize::MAX);
        // One more than a page holds shows whether another page follows.
        let wanted = SearchQuery {
            limit: search.limit.saturating_add(1),
            ..search.clone()
        };
        let mut found = store.search(&wanted).await?;
        let hits = std::mem::take(&mut found.hits);
        let (all, some): (Vec<_>, Vec<_>) = hits
            .into_iter()
            .partition(|hit| hit.words == WordMatch::All);
        let close = self.close_in_meaning(&all, search, &found, store).await?;
        let mut hits: Vec<ThoughtMatch> = all.into_iter().map(ThoughtMatch::from).collect();
        let free = limit.saturating_add(1).saturating_sub(hits.len());
        hits.extend(fused_matches(some, close, free, store).await?);
        let more = hits.len() > limit;
        hits.truncate(limit);
        Ok(ThoughtSearchPage {
            note: note(&found, &hits, self.meaning.is_some()),
            hits,
            more,
        })
    }

    /// Lists what is close in meaning and has not all words. A query with a phrase asks for exact
    /// words, so nothing is close to it.
    async fn close_in_meaning(
        &self,
        with_all_words: &[SearchHit],
        search: &SearchQuery,
        terms: &SearchResults,
        store: &dyn Store,
    ) -> Result<Vec<SearchKey>, StoreError> {
        let is_full = with_all_words.len() > usize::try_from(search.limit).unwrap_or(usize::MAX);
        let Some(meaning) = &self.meaning else {
            return Ok(Vec::new());
        };
        if is_full || !terms.phrases.is_empty() {
            return Ok(Vec::new());
        }
        let known: HashSet<SearchKey> = with_all_words.iter().map(|hit| hit.entity.key()).collect();
        let mut close = meaning.rank(&terms.words, search, store).await?;
        close.retain(|key| !known.contains(key));
        Ok(close)
    }
}

/// Joins the rankings by words and by meaning: the best `most`, and those first that are high in
/// both.
async fn fused_matches(
    some_words: Vec<SearchHit>,
    close: Vec<SearchKey>,
    most: usize,
    store: &dyn Store,
) -> Result<Vec<ThoughtMatch>, StoreError> {
    let mut scores: HashMap<SearchKey, f64> = HashMap::new();
    let by_words = some_words.iter().map(|hit| hit.entity.key());
    for ranking in [by_words.collect(), close] {
        let ranking: Vec<SearchKey> = ranking;
        for (place, key) in ranking.into_iter().enumerate() {
            *scores.entry(key).or_default() += 1.0 / (RANK_CONSTANT + place as f64 + 1.0);
        }
    }
    let mut by_key: HashMap<SearchKey, SearchHit> = some_words
        .into_iter()
        .map(|hit| (hit.entity.key(), hit))
        .collect();
    let mut ranking: Vec<(SearchKey, f64)> = scores.into_iter().collect();
    ranking.sort_by(|(one_key, one), (other_key, other)| {
        // Of equal scores, words come before meaning.
        let by_score = other.total_cmp(one);
        let words = |key| by_key.contains_key(key);
        by_score
            .then_with(|| words(other_key).cmp(&words(one_key)))
            .then_with(|| one_key.cmp(other_key))
    });
    let mut matches = Vec::new();
    for (key, _) in ranking {
        if matches.len() >= most {
            break;
        }
        match by_key.remove(&key) {
            Some(hit) => matches.push(hit.into()),
            None => matches.extend(load_by_meaning(&key, store).await?),
        }
    }
    Ok(matches)
}

/// Loads what has none of the words; `None` if it was deleted in the meantime.
async fn load_by_meaning(
    key: &SearchKey,
    store: &dyn Store,
) -> Result<Option<ThoughtMatch>, StoreError> {
    let entity = match key {
        SearchKey::Thought(id) => store.thought(id).await?.map(SearchEntity::Thought),
        SearchKey::Node(id) => store.node(id).await?.map(SearchEntity::Node),
    };
    Ok(entity.map(|entity| {
        let text = match &entity {
            SearchEntity::Thought(thought) => &thought.content,
            SearchEntity::Node(node) => &node.content,
        };
        ThoughtMatch {
            excerpt: truncate_chars(text, OPENING_CHARS),
            kind: MatchKind::Meaning,
            words: Vec::new(),
            entity,
        }
    }))
}

impl From<SearchHit> for ThoughtMatch {
    fn from(hit: SearchHit) -> Self {
        let (kind, mut words) = match hit.words {
            WordMatch::All => (MatchKind::AllWords, Vec::new()),
            WordMatch::Some(words) => (MatchKind::SomeWords, words),
        };
        words.truncate(MAX_LISTED_WORDS);
        Self {
            entity: hit.entity,
            excerpt: hit.excerpt,
            kind,
            words,
        }
    }
}

/// Says what was done if nothing has all words.
fn note(terms: &SearchResults, hits: &[ThoughtMatch], by_meaning: bool) -> Option<String> {
    if hits.iter().any(|hit| hit.kind == MatchKind::AllWords) {
        return None;
    }
    let listed = list_terms(terms);
    let has = |kind| hits.iter().any(|hit| hit.kind == kind);
    let note = match (has(MatchKind::SomeWords), has(MatchKind::Meaning)) {
        (true, true) => {
            format!(
                "No thought has all of: {listed}; these have some of the words or are close in meaning."
            )
        }
        (true, false) => format!("No thought has all of: {listed}; these have some of them."),
        (false, true) => format!("No thought has any of: {listed}; these are close in meaning."),
        (false, false) if listed.is_empty() => "The query has no word to search for.".to_owned(),
        (false, false) if !terms.phrases.is_empty() => {
            format!("No thought has {listed}. Without the quotes, any of the words is enough.")
        }
        (false, false) if by_meaning => {
            format!("No thought has any of: {listed}; none is close in meaning. Try other words.")
        }
        (false, false) => format!("No thought has any of: {listed}. Try other words."),
    };
    Some(note)
}

fn list_terms(terms: &SearchResults) -> String {
    let phrases = terms.phrases.iter().map(|phrase| format!("\"{phrase}\""));
    let all: Vec<String> = phrases.chain(terms.words.iter().cloned()).collect();
    let more = if all.len() > MAX_LISTED_WORDS {
        ", …"
    } else {
        ""
    };
    let first: Vec<String> = all.into_iter().take(MAX_LISTED_WORDS).collect();
    format!("{}{more}", first.join(", "))
}
