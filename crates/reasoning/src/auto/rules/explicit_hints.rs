//! Hints that ask for a mode by its name. Hints describe the problem, so a word such as "graph" or
//! "tree" alone does not name a mode: the problem may be about trees.

use super::text::split_words;
use crate::{auto::mode_choice::ModeChoice, modes::ModeRouting};

/// Words next to which a mode's qualified names count.
const PREFIX_WORDS: &[&str] = &["use", "try", "prefer", "mode", "reasoning"];
const SUFFIX_WORDS: &[&str] = &["mode", "reasoning", "thinking", "tool"];

/// The mode that a hint names, if the hint contains nothing else.
pub(super) fn mode_from_hint(hint: &str) -> Option<ModeChoice> {
    let words = split_words(hint);
    let polite = |word: &&str| *word != "please";
    let words: Vec<&str> = words.iter().map(String::as_str).filter(polite).collect();
    let whole = words.join(" ");
    if let Some(choice) = find_mode(|routing| routing.names, &whole) {
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
    find_mode(|routing| routing.qualified_names, &name)
        .or_else(|| find_mode(|routing| routing.names, &name))
}

/// The mode that has `name` in the given list of its names.
fn find_mode(
    names: fn(&'static ModeRouting) -> &'static [&'static str],
    name: &str,
) -> Option<ModeChoice> {
    ModeChoice::all().find(|choice| names(choice.routing).contains(&name))
}
