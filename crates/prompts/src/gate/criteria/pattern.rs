//! User-supplied regular expressions and keyword counts. Patterns never backtrack, are bounded in
//! size, and are cached after compilation.

use std::{
    collections::{HashMap, VecDeque},
    sync::{LazyLock, Mutex, PoisonError},
};

use regex::{Regex, RegexBuilder};
use regex_automata::{Input, hybrid::dfa::DFA, nfa::thompson, util::syntax};

/// The most bytes of a pattern.
const MAX_PATTERN_BYTES: usize = 2_000;

/// The most bytes that a pattern may compile to.
const MAX_COMPILED_BYTES: usize = 4 << 20;

/// The most bytes of a compiled pattern that is cached.
const MAX_CACHED_BYTES: usize = 1 << 20;

/// The most patterns in the cache.
const CACHE_CAPACITY: usize = 32;

/// The longest text, in bytes, on which any pattern is quick enough. Even without backtracking, the
/// time grows with the pattern times the text.
const SHORT_TEXT_BYTES: usize = 4 << 10;

/// The cache memory, in bytes, for searching a longer text, and how often it may be refilled.
const DFA_CACHE_BYTES: usize = 2 << 20;
const MAX_CACHE_CLEARS: usize = 8;

type CompiledPattern = Result<Regex, String>;

/// The compiled patterns, oldest first in `order`.
#[derive(Default)]
struct PatternCache {
    patterns: HashMap<String, CompiledPattern>,
    order: VecDeque<String>,
}

static CACHE: LazyLock<Mutex<PatternCache>> = LazyLock::new(Mutex::default);

/// Compiles a case-insensitive pattern, or returns the reason why it is invalid.
pub(crate) fn compile_pattern(pattern: &str) -> CompiledPattern {
    if pattern.len() > MAX_PATTERN_BYTES {
        return Err(format!(
            "the pattern is longer than {MAX_PATTERN_BYTES} bytes"
        ));
    }
    {
        let cache = CACHE.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(read) = cache.patterns.get(pattern) {
            return read.clone();
        }
    }
    // The pattern is compiled outside the lock, so that a large pattern does not block other
    // callers.
    let read = match compile_uncached(pattern, MAX_CACHED_BYTES) {
        Err(_) => return compile_uncached(pattern, MAX_COMPILED_BYTES),
        read => read,
    };
    let mut cache = CACHE.lock().unwrap_or_else(PoisonError::into_inner);
    if cache
        .patterns
        .insert(pattern.to_owned(), read.clone())
        .is_none()
    {
        cache.order.push_back(pattern.to_owned());
    }
    while cache.order.len() > CACHE_CAPACITY {
        if let Some(oldest) = cache.order.pop_front() {
            cache.patterns.remove(&oldest);
        }
    }
    read
}

/// Returns whether a pattern matches anywhere, or why that cannot be told.
pub(crate) fn matches(pattern: &str, text: &str) -> Result<bool, String> {
    let read = compile_pattern(pattern)?;
    if text.len() <= SHORT_TEXT_BYTES {
        return Ok(read.is_match(text));
    }
    matches_long(pattern, text)
        // The DFA does not support everything, such as Unicode word boundaries. A small pattern
        // falls back to the regular engine.
        .or_else(|| is_small(pattern).then(|| read.is_match(text)))
        .ok_or_else(|| {
            let shown = display_pattern(pattern);
            format!("the pattern `{shown}` takes too long on a text of this length")
        })
}

/// Searches a long text with a DFA, one byte per step; returns `None` if that needs too much
/// memory.
fn matches_long(pattern: &str, text: &str) -> Option<bool> {
    let config = DFA::config()
        .cache_capacity(DFA_CACHE_BYTES)
        .skip_cache_capacity_check(true)
        .minimum_cache_clear_count(Some(MAX_CACHE_CLEARS))
        .minimum_bytes_per_state(Some(64))
        .unicode_word_boundary(true);
    let searcher = DFA::builder()
        .configure(config)
        .syntax(syntax::Config::new().case_insensitive(true).nest_limit(50))
        .thompson(thompson::Config::new().nfa_size_limit(Some(MAX_COMPILED_BYTES)))
        .build(pattern)
        .ok()?;
    let mut memory = searcher.create_cache();
    let found = searcher.try_search_fwd(&mut memory, &Input::new(text).earliest(true));
    found.ok().map(|found| found.is_some())
}

/// Returns whether a pattern is quick on any text.
fn is_small(pattern: &str) -> bool {
    let counted = pattern.contains('{');
    pattern.len() <= 100 && !counted
}

fn compile_uncached(pattern: &str, largest: usize) -> CompiledPattern {
    RegexBuilder::new(pattern)
        .case_insensitive(true)
        .size_limit(largest)
        .dfa_size_limit(MAX_CACHED_BYTES)
        .nest_limit(50)
        .build()
        .map_err(|error| {
            let text = error.to_string();
            let last = text.lines().last().unwrap_or_default();
            let reason = last.trim_start_matches("error:").trim();
            format!(
                "the pattern `{}` can't be used: {reason}",
                display_pattern(pattern)
            )
        })
}

/// Formats a pattern for a message.
pub(crate) fn display_pattern(pattern: &str) -> String {
    let mut shown: String = pattern.chars().take(80).collect();
    if shown.len() < pattern.len() {
        shown.push('…');
    }
    shown
}

/// Counts the occurrences of a word or phrase as a whole, ignoring case.
pub(crate) fn count_phrase(text: &str, word: &str) -> Result<usize, String> {
    let word = word.trim();
    if word.is_empty() {
        return Err("an empty keyword can't be searched for".to_owned());
    }
    let found = compile_pattern(&regex::escape(word))?;
    let is_word = |it: char| it.is_alphanumeric() || it == '_';
    // `C++` does not end in a letter, so a regex word boundary would miss it.
    let starts = word.chars().next().is_some_and(is_word);
    let ends = word.chars().next_back().is_some_and(is_word);
    let whole = |at: &regex::Match<'_>| {
        let before = text.get(..at.start()).and_then(|it| it.chars().next_back());
        let after = text.get(at.end()..).and_then(|it| it.chars().next());
        !(starts && before.is_some_and(is_word) || ends && after.is_some_and(is_word))
    };
    Ok(found.find_iter(text).filter(whole).count())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_count_only_as_a_whole() {
        assert_eq!(
            count_phrase("Test, tests, test_case, a TEST", "test"),
            Ok(2)
        );
        assert_eq!(count_phrase("C++ and c++; not C", "c++"), Ok(2));
        assert_eq!(count_phrase("root cause; ROOT CAUSE", "root cause"), Ok(2));
        assert!(count_phrase("x", " ").is_err());
    }

    #[test]
    fn the_cache_stays_bounded_and_keeps_saying_the_same() {
        for at in 0..(CACHE_CAPACITY * 3) {
            assert!(compile_pattern(&format!("word{at}")).is_ok());
        }
        let cache = CACHE.lock().unwrap();
        assert!(
            cache.patterns.len() <= CACHE_CAPACITY && cache.order.len() == cache.patterns.len()
        );
        drop(cache);
        assert!(compile_pattern("(").unwrap_err().contains("can't be used"));
        assert!(compile_pattern("(").is_err());
        assert!(compile_pattern(&"a".repeat(MAX_PATTERN_BYTES + 1)).is_err());
        assert!(compile_pattern(r"(\w{1,500}){1,500}").is_err());
        assert!(compile_pattern("a(?=b)").is_err());
    }

    #[test]
    fn long_texts_are_looked_through_without_taking_long() {
        let long = "ab1 b a1 ".repeat(20_000);
        assert_eq!(matches(r"\bB\s+a1\s*$", &long), Ok(true));
        assert_eq!(matches("zz", &long), Ok(false));
        assert_eq!(matches(r"\b\w{1,30}\b", &long), Ok(true));
        let foreign = format!("{long} Größe {long}");
        assert_eq!(matches(r"\bgröße\b", &foreign), Ok(true));
        assert_eq!(matches(r"\bröße\b", &foreign), Ok(false));
        let mixed: String = (0..40_000_u32)
            .map(|at| {
                if at.wrapping_mul(2_654_435_761) >> 31 == 0 {
                    'a'
                } else {
                    'b'
                }
            })
            .collect();
        let hostile = matches("([ab]{1,99}b){60}z", &mixed);
        assert!(hostile.unwrap_err().contains("takes too long"));
    }
}
