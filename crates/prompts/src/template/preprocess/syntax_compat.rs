//! Translates constructs of other template languages inside a tag where that is safe, and reports
//! errors with the correct syntax where it is not. Byte offsets do not change, except in loops with
//! two names, slices with a step and multiplications. Knows nothing of values.

use std::collections::HashMap;

use deliberate_core::did_you_mean;

use super::{
    expression_depth::check_depth, factor_guard::guard_factors, slice_rewrite::KEYWORDS,
    slice_rewrite::rewrite_slices, tag_scanner::QuoteMask,
};
use crate::template::{
    error::TemplateFault,
    filter::{FACTOR_FILTER, FILTERS, SLICE_FILTER},
};

/// Operators of other languages, and their equivalents here.
const FOREIGN_OPERATORS: [(&str, &str); 4] =
    [("===", "=="), ("!==", "!="), ("&&", "and"), ("||", "or")];

/// Rejects operators of other languages and replaces `.length` by `|length`, which has the same
/// length.
pub(crate) fn normalize_expression(inside: &str, start: usize) -> Result<String, TemplateFault> {
    let mask = QuoteMask::new(inside);
    let mask = mask.as_str();
    check_depth(mask, start)?;
    for (foreign, ours) in FOREIGN_OPERATORS {
        if let Some(at) = mask.find(foreign) {
            let fault = TemplateFault::at_byte(start + at, format!("`{foreign}` is not supported"));
            return Err(fault.with_help(format!("write `{ours}`")));
        }
    }
    if let Some(at) = find_negation(mask) {
        return Err(
            TemplateFault::at_byte(start + at, "`!` is not supported").with_help("write `not`")
        );
    }
    check_filters(mask, start)?;
    let same_length = rewrite_none(&rewrite_length(inside, mask), mask);
    let sliced = rewrite_slices(same_length);
    guard_factors(&sliced, QuoteMask::new(&sliced).as_str(), start)
}

fn find_negation(mask: &str) -> Option<usize> {
    mask.match_indices('!')
        .map(|(at, _)| at)
        .find(|at| mask.get(at + 1..).is_none_or(|rest| !rest.starts_with('=')))
}

fn check_filters(mask: &str, start: usize) -> Result<(), TemplateFault> {
    for (at, _) in mask.match_indices('|') {
        let rest = mask.get(at + 1..).unwrap_or_default();
        let name = first_word(rest.trim_start());
        if !name.is_empty() && !FILTERS.contains(&name) {
            let place = start + at + 1 + (rest.len() - rest.trim_start().len());
            let fault = TemplateFault::at_byte(place, format!("there is no filter `{name}`"));
            return Err(fault.with_help(match did_you_mean(name, FILTERS) {
                Some(known) => format!("did you mean `{known}`?"),
                None => format!("available filters: {}", FILTERS.join(", ")),
            }));
        }
    }
    Ok(())
}

/// Returns the name at the start of a text.
pub(crate) fn first_word(text: &str) -> &str {
    let end = text
        .find(|letter: char| !letter.is_alphanumeric() && letter != '_')
        .unwrap_or(text.len());
    text.get(..end).unwrap_or_default()
}

/// Replaces `x.length` of other languages by `x|length`; `loop.length` exists and stays.
fn rewrite_length(inside: &str, mask: &str) -> String {
    const LENGTH_SUFFIX: &str = ".length";
    let mut written = String::with_capacity(inside.len());
    let mut copied = 0;
    for (at, _) in mask.match_indices(LENGTH_SUFFIX) {
        let before = mask.get(..at).unwrap_or_default();
        let after = mask.get(at + LENGTH_SUFFIX.len()..).unwrap_or_default();
        let goes_on = after.starts_with(|it: char| it.is_alphanumeric() || it == '_' || it == '(');
        if goes_on || before.ends_with("loop") || before.trim().is_empty() {
            continue;
        }
        written.push_str(inside.get(copied..at).unwrap_or_default());
        written.push('|');
        copied = at + 1;
    }
    written.push_str(inside.get(copied..).unwrap_or_default());
    written
}

/// Replaces `none` in comparisons by the name for absent values, which has the same length.
fn rewrite_none(inside: &str, mask: &str) -> String {
    let mut written = String::with_capacity(inside.len());
    let mut copied = 0;
    for (at, word) in mask.match_indices("none") {
        let before = mask.get(..at).unwrap_or_default().trim_end();
        let after = mask.get(at..).unwrap_or_default();
        if first_word(after) == word && (before.ends_with("==") || before.ends_with("!=")) {
            written.push_str(inside.get(copied..at).unwrap_or_default());
            written.push_str("null");
            copied = at + word.len();
        }
    }
    written.push_str(inside.get(copied..).unwrap_or_default());
    written
}

/// Makes a loop with two names iterate over the fields of an object, as over a list of pairs.
pub(crate) fn rewrite_pair_loop(inside: String) -> String {
    let mask = QuoteMask::new(&inside);
    let Some((names, rest)) = mask.as_str().split_once(" in ") else {
        return inside;
    };
    let plain = !names.contains(',') || rest.contains(" if ") || rest.contains("recursive");
    let has_filter = [FACTOR_FILTER, SLICE_FILTER]
        .iter()
        .fold(rest.to_owned(), |rest, guard| {
            rest.replace(&format!("|{guard}"), "")
        })
        .contains('|');
    if plain || has_filter || rest.contains("items(") {
        return inside;
    }
    let (front, list) = inside
        .split_at_checked(names.len() + " in ".len())
        .unwrap_or((&inside, ""));
    format!("{front}({list})|pairs")
}

/// Counts what may copy a text or list in an expression: `~`, `+` and slices, and the names in a list
/// that `~` or `in` turns into text.
pub(crate) fn count_copies(inside: &str) -> usize {
    let mask = QuoteMask::new(inside);
    let mut open = Vec::new();
    let mut count = if makes_text_of_values(mask.as_str()) {
        most_uses_of_a_name(mask.as_str()).saturating_sub(1)
    } else {
        0
    };
    for letter in mask.as_str().chars() {
        match letter {
            '(' | '[' | '{' => open.push(letter),
            ')' | ']' | '}' => drop(open.pop()),
            '~' | '+' => count += 1,
            ':' if open.last() == Some(&'[') => count += 1,
            _ => {}
        }
    }
    count
}

/// Tells whether an expression has an operator that turns a list into text. The `in` of a loop is
/// none.
fn makes_text_of_values(mask: &str) -> bool {
    let is_loop = usize::from(first_word(mask.trim_start()) == "for");
    let words = mask.split(|it: char| !it.is_alphanumeric() && it != '_');
    mask.contains('~') || words.filter(|word| *word == "in").count() > is_loop
}

/// Returns how often the expression uses the name that it uses most.
fn most_uses_of_a_name(mask: &str) -> usize {
    let mut uses: HashMap<&str, usize> = HashMap::new();
    for word in mask.split(|it: char| !it.is_alphanumeric() && it != '_') {
        let is_name = word.starts_with(|it: char| it.is_alphabetic() || it == '_');
        if is_name && !KEYWORDS.contains(&word) {
            *uses.entry(word).or_default() += 1;
        }
    }
    uses.into_values().max().unwrap_or_default()
}

/// Returns the names of the values that an expression takes slices of. The engine forgets them when
/// it lists the names that a template uses.
pub(crate) fn sliced_names(inside: &str) -> impl Iterator<Item = String> {
    let mask = QuoteMask::new(inside);
    let mask = mask.as_str().to_owned();
    let places: Vec<usize> = mask.match_indices('[').map(|(at, _)| at).collect();
    places.into_iter().filter_map(move |at| {
        let before = mask.get(..at)?.trim_end();
        let is_part = |it: char| it.is_alphanumeric() || it == '_' || it == '.';
        let path = before.rsplit(|it| !is_part(it)).next()?;
        let root = first_word(path);
        let is_name = root.starts_with(|it: char| it.is_alphabetic() || it == '_');
        is_name.then(|| root.to_owned())
    })
}
