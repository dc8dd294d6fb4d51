//! The limits of an index, and the checks that enforce them.

use crate::{IndexError, IndexFilter, IndexedDocument, Query};

/// Bytes of a document id or a facet word.
pub(crate) const WORD_BYTES: usize = 1024;
/// Bytes of a facet name.
const NAME_BYTES: usize = 64;
/// Bytes of a title or heading that are indexed.
pub(crate) const TITLE_BYTES: usize = 4096;
const PASSAGE_BYTES: usize = 256 * 1024;
const PASSAGES: usize = 200_000;
const FACET_WORDS: usize = 10_000;
/// Bytes of a query that are used.
pub(crate) const QUERY_BYTES: usize = 64 * 1024;
const MAX_HITS: usize = 1000;
/// Candidates per side.
pub(crate) const MAX_CANDIDATES: usize = 10_000;
/// Nesting depth of a filter.
const FILTER_DEPTH: usize = 32;
/// Filters, ids and words in one filter.
const FILTER_PARTS: usize = 100_000;

pub(crate) fn check_document(document: &IndexedDocument) -> Result<(), IndexError> {
    check_word("a document's id", &document.id)?;
    if document.passages.len() > PASSAGES {
        return Err(IndexError::invalid(format!(
            "a document has {} passages; {PASSAGES} are allowed",
            document.passages.len()
        )));
    }
    for passage in &document.passages {
        if passage.text.len() > PASSAGE_BYTES {
            return Err(IndexError::invalid(format!(
                "passage {} has {} bytes; {PASSAGE_BYTES} are allowed: cut it into smaller ones",
                passage.number,
                passage.text.len()
            )));
        }
    }
    let facets = &document.facets;
    for name in facets.words.keys().chain(facets.numbers.keys()) {
        check_name(name)?;
    }
    if facets.words.values().map(Vec::len).sum::<usize>() > FACET_WORDS {
        return Err(IndexError::invalid(format!(
            "a document's facets have more than {FACET_WORDS} words"
        )));
    }
    for word in facets.words.values().flatten() {
        check_word("a facet's word", word)?;
    }
    Ok(())
}

pub(crate) fn check_query(query: &Query) -> Result<(), IndexError> {
    if !query.text.chars().any(char::is_alphanumeric) {
        return Err(IndexError::EmptyQuery);
    }
    check_k(query.k)?;
    check_filter(&query.filter)
}

pub(crate) fn check_k(k: usize) -> Result<(), IndexError> {
    if k == 0 || k > MAX_HITS {
        return Err(IndexError::invalid(format!(
            "{k} hits were asked for; 1 to {MAX_HITS} are allowed"
        )));
    }
    Ok(())
}

pub(crate) fn check_filter(filter: &IndexFilter) -> Result<(), IndexError> {
    let parts = count_parts(filter, FILTER_DEPTH)?;
    if parts > FILTER_PARTS {
        return Err(IndexError::invalid(format!(
            "the filter has {parts} parts; {FILTER_PARTS} are allowed"
        )));
    }
    Ok(())
}

fn count_parts(filter: &IndexFilter, depth: usize) -> Result<usize, IndexError> {
    let Some(below) = depth.checked_sub(1) else {
        return Err(IndexError::invalid(format!(
            "the filter is nested more than {FILTER_DEPTH} deep"
        )));
    };
    Ok(match filter {
        IndexFilter::All => 1,
        IndexFilter::Documents(ids) => ids.len(),
        IndexFilter::Word { name, any_of } => {
            check_name(name)?;
            any_of.len()
        }
        IndexFilter::Number { name, .. } => {
            check_name(name)?;
            1
        }
        IndexFilter::And(filters) | IndexFilter::Or(filters) => filters
            .iter()
            .map(|filter| count_parts(filter, below))
            .sum::<Result<usize, _>>()?,
        IndexFilter::Not(filter) => count_parts(filter, below)?,
    })
}

fn check_word(what: &str, word: &str) -> Result<(), IndexError> {
    if word.is_empty() || word.len() > WORD_BYTES {
        return Err(IndexError::invalid(format!(
            "{what} has {} bytes; 1 to {WORD_BYTES} are allowed",
            word.len()
        )));
    }
    Ok(())
}

/// A name becomes part of a column path, in which a dot has a meaning.
fn check_name(name: &str) -> Result<(), IndexError> {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
    if name.is_empty() || name.len() > NAME_BYTES || !name.bytes().all(plain) {
        return Err(IndexError::invalid(format!(
            "a facet's name is 1 to {NAME_BYTES} letters, digits, _ or -"
        )));
    }
    Ok(())
}

/// Truncates a text to `bytes` at a character boundary.
pub(crate) fn truncate_bytes(text: &str, bytes: usize) -> &str {
    let end = text.floor_char_boundary(bytes);
    text.get(..end).unwrap_or_default()
}
