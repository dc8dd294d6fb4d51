//! Hints that ask for a mode by its name. A hint is about the problem, so that a word such as
//! "graph" or "tree" alone is no name of a mode: the problem may be about trees.

use super::text::split_words;
use crate::auto::mode_choice::ModeChoice;

/// Hints that are a name by themselves.
const MODE_NAMES: &[(&str, ModeChoice)] = &[
    ("linear", ModeChoice::Linear),
    ("step by step", ModeChoice::Linear),
    ("think step by step", ModeChoice::Linear),
    ("divergent", ModeChoice::Divergent),
    ("reflection", ModeChoice::Reflection),
    ("got", ModeChoice::Got),
    ("tree of thoughts", ModeChoice::Tree),
    ("tree of thought", ModeChoice::Tree),
    ("graph of thoughts", ModeChoice::Got),
    ("graph of thought", ModeChoice::Got),
    // Not with "reasoning" beside it: a direct proof is no direct answer.
    ("use direct", ModeChoice::Direct),
    ("mode direct", ModeChoice::Direct),
    ("direct mode", ModeChoice::Direct),
];

/// Words that are a name only with one of `PREFIX_WORDS` or `SUFFIX_WORDS` beside them.
const QUALIFIED_MODE_NAMES: &[(&str, ModeChoice)] = &[
    ("tree", ModeChoice::Tree),
    ("got init", ModeChoice::Got),
    ("backtrack", ModeChoice::Backtracking),
    ("backtracking", ModeChoice::Backtracking),
];

const PREFIX_WORDS: &[&str] = &["use", "try", "prefer", "mode", "reasoning"];
const SUFFIX_WORDS: &[&str] = &["mode", "reasoning", "thinking", "tool"];

/// The mode a hint names, with nothing else in it.
pub(super) fn mode_from_hint(hint: &str) -> Option<ModeChoice> {
    let words = split_words(hint);
    let polite = |word: &&str| *word != "please";
    let words: Vec<&str> = words.iter().map(String::as_str).filter(polite).collect();
    let whole = words.join(" ");
    if let Some(choice) = find_mode(MODE_NAMES, &whole) {
        return Some(choice);
    }
    let mut name = words.as_slice();
    while let [first, rest @ ..] = name
        && PREFIX_WORDS.contains(first)
    {
        name = rest;
    }
    while let [rest @ .., last] = name
        && SUFFIX_WORDS.contains(last)
    {
        name = rest;
    }
    if name.len() == words.len() {
        return None;
    }
    let name = name.join(" ");
    find_mode(QUALIFIED_MODE_NAMES, &name).or_else(|| find_mode(MODE_NAMES, &name))
}

fn find_mode(names: &[(&str, ModeChoice)], name: &str) -> Option<ModeChoice> {
    let mut found = names.iter().filter(|(known, _)| *known == name);
    found.next().map(|(_, choice)| *choice)
}
