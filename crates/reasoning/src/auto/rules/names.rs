//! Hints that ask for a mode by its name. A hint is about the problem, so that a word such as
//! "graph" or "tree" alone is no name of a mode: the problem may be about trees.

use super::{super::choice::Choice, text::words};

/// Hints that are a name by themselves.
const WHOLE: &[(&str, Choice)] = &[
    ("linear", Choice::Linear),
    ("step by step", Choice::Linear),
    ("think step by step", Choice::Linear),
    ("divergent", Choice::Divergent),
    ("reflection", Choice::Reflection),
    ("got", Choice::Got),
    ("tree of thoughts", Choice::Tree),
    ("tree of thought", Choice::Tree),
    ("graph of thoughts", Choice::Got),
    ("graph of thought", Choice::Got),
    // Not with "reasoning" beside it: a direct proof is no direct answer.
    ("use direct", Choice::Direct),
    ("mode direct", Choice::Direct),
    ("direct mode", Choice::Direct),
];

/// Words that are a name only with one of `BEFORE` or `AFTER` beside them.
const BESIDE: &[(&str, Choice)] = &[
    ("tree", Choice::Tree),
    ("got init", Choice::Got),
    ("backtrack", Choice::Backtracking),
    ("backtracking", Choice::Backtracking),
];

const BEFORE: &[&str] = &["use", "try", "prefer", "mode", "reasoning"];
const AFTER: &[&str] = &["mode", "reasoning", "thinking", "tool"];

/// The mode a hint names, with nothing else in it.
pub(super) fn named_by(hint: &str) -> Option<Choice> {
    let words = words(hint);
    let polite = |word: &&str| *word != "please";
    let words: Vec<&str> = words.iter().map(String::as_str).filter(polite).collect();
    let whole = words.join(" ");
    if let Some(choice) = look_up(WHOLE, &whole) {
        return Some(choice);
    }
    let mut name = words.as_slice();
    while let [first, rest @ ..] = name
        && BEFORE.contains(first)
    {
        name = rest;
    }
    while let [rest @ .., last] = name
        && AFTER.contains(last)
    {
        name = rest;
    }
    if name.len() == words.len() {
        return None;
    }
    let name = name.join(" ");
    look_up(BESIDE, &name).or_else(|| look_up(WHOLE, &name))
}

fn look_up(names: &[(&str, Choice)], name: &str) -> Option<Choice> {
    let mut found = names.iter().filter(|(known, _)| *known == name);
    found.next().map(|(_, choice)| *choice)
}
