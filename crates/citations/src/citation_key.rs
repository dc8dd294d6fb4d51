//! Citation keys: `doe2020attention`. ASCII only, the same for the same record, unique in a list.

use std::collections::HashSet;

use deliberate_core::Article;

use super::text_normalization;
use crate::BibliographyEntry;

/// Limit for generated keys, not counting the letters that make them unique.
const MAX_GENERATED_CHARS: usize = 60;

/// Keys that a record already has are kept, because texts cite by them; no key in use is longer.
const MAX_GIVEN_CHARS: usize = 200;

/// Words that do not describe the topic of a title.
const STOP_WORDS: &[&str] = &[
    "a", "an", "the", "on", "in", "of", "for", "to", "and", "or", "with", "at", "by", "from", "is",
    "are", "do", "does", "can", "how", "what", "why", "towards", "toward", "der", "die", "das",
    "ein", "eine", "le", "la", "les", "un", "une", "el", "los", "las", "l", "d",
];

/// Generates the key of a work: the first author's family name, the year, and the first
/// descriptive word of the title.
pub fn citation_key(article: &Article) -> String {
    let author = article.authors.first().map(|it| ascii_word(&it.family));
    let year = article.year().map(|it| it.to_string());
    let words = text_normalization::folded_words(&article.title);
    let says_something = |it: &&String| !STOP_WORDS.contains(&it.as_str()) && it.is_ascii();
    let word = words
        .iter()
        .find(says_something)
        .or_else(|| words.iter().find(|it| it.is_ascii()));
    let key: String = [author, year, word.cloned()]
        .into_iter()
        .flatten()
        .collect();
    let starts_with_letter = key.starts_with(|it: char| it.is_ascii_alphabetic());
    let before = if starts_with_letter { "" } else { "ref" };
    before
        .chars()
        .chain(key.chars())
        .take(MAX_GENERATED_CHARS)
        .collect()
}

/// Returns a unique key for each entry: its own if it is usable, else a generated one. A repeated
/// key gets the suffix `a`, `b`, `c`.
pub fn citation_keys(entries: &[BibliographyEntry<'_>]) -> Vec<String> {
    let wanted: Vec<String> = entries.iter().map(preferred_key).collect();
    let mut often = std::collections::HashMap::<&str, usize>::new();
    for key in &wanted {
        *often.entry(key).or_default() += 1;
    }
    // Keys that only one entry has are reserved first, so that no generated suffix collides with one.
    let mut taken: HashSet<String> = wanted
        .iter()
        .filter(|key| often.get(key.as_str()) == Some(&1))
        .cloned()
        .collect();
    let mut next = std::collections::HashMap::<&str, usize>::new();
    let mut keys = Vec::with_capacity(wanted.len());
    for key in &wanted {
        if often.get(key.as_str()) == Some(&1) {
            keys.push(key.clone());
            continue;
        }
        let count = next.entry(key).or_default();
        let free = loop {
            let tried = format!("{key}{}", letter_suffix(*count));
            *count += 1;
            if taken.insert(tried.clone()) {
                break tried;
            }
        };
        keys.push(free);
    }
    keys
}

fn preferred_key(entry: &BibliographyEntry<'_>) -> String {
    let own: String = entry
        .key
        .unwrap_or_default()
        .chars()
        .filter(|it| is_key_char(*it))
        .take(MAX_GIVEN_CHARS)
        .collect();
    if own.is_empty() {
        citation_key(entry.article)
    } else {
        own
    }
}

/// Characters that BibTeX, LaTeX and shells accept without quoting.
fn is_key_char(it: char) -> bool {
    it.is_ascii_alphanumeric() || matches!(it, '-' | '_' | ':' | '.' | '/' | '+')
}

fn ascii_word(text: &str) -> String {
    text_normalization::fold_text(text)
        .chars()
        .filter(char::is_ascii_alphanumeric)
        .collect()
}

/// `a` to `z`, then `aa`, `ab`, like the columns of a spreadsheet.
fn letter_suffix(mut count: usize) -> String {
    let mut out = Vec::new();
    loop {
        let letter = u8::try_from(count % 26).unwrap_or_default();
        out.push(char::from(b'a' + letter));
        if count < 26 {
            break;
        }
        count = count / 26 - 1;
    }
    out.iter().rev().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_count_on_past_z() {
        assert_eq!(letter_suffix(0), "a");
        assert_eq!(letter_suffix(25), "z");
        assert_eq!(letter_suffix(26), "aa");
        assert_eq!(letter_suffix(27), "ab");
        assert_eq!(letter_suffix(26 + 26 * 26), "aaa");
    }
}
