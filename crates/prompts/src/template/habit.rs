//! The inside of a tag: habits of other template languages become ours where that is safe, and
//! errors that say what to write where it is not. Nothing here changes where a byte stands, but
//! for loops with two names. Knows nothing of values.

use deliberate_core::nearest;

use super::{error::Fault, filter::FILTERS, scan::Mask};

/// Multiplications in one template. Each can make a text a hundred million times as long, and the
/// engine checks nothing smaller.
const MULTIPLICATIONS: usize = 8;

/// Words of other languages, and what they are here.
const FOREIGN: [(&str, &str); 4] = [("===", "=="), ("!==", "!="), ("&&", "and"), ("||", "or")];

/// An expression without foreign words, and with `| length` for `.length`, which has the same
/// length.
pub(super) fn checked(
    inside: &str,
    start: usize,
    multiplications: &mut usize,
) -> Result<String, Fault> {
    let mask = Mask::of(inside);
    let mask = mask.as_str();
    for (foreign, ours) in FOREIGN {
        if let Some(at) = mask.find(foreign) {
            let fault = Fault::at(start + at, format!("`{foreign}` is not known here"));
            return Err(fault.help(format!("write `{ours}`")));
        }
    }
    if let Some(at) = lone_bang(mask) {
        return Err(Fault::at(start + at, "`!` is not known here").help("write `not`"));
    }
    *multiplications += mask.matches('*').count();
    if *multiplications > MULTIPLICATIONS {
        let message = format!("a template may multiply at most {MULTIPLICATIONS} times");
        return Err(Fault::at(start, message).help("compute the values before they are given"));
    }
    known_filters(mask, start)?;
    Ok(nulls(&lengths(inside, mask), mask))
}

fn lone_bang(mask: &str) -> Option<usize> {
    mask.match_indices('!')
        .map(|(at, _)| at)
        .find(|at| mask.get(at + 1..).is_none_or(|rest| !rest.starts_with('=')))
}

fn known_filters(mask: &str, start: usize) -> Result<(), Fault> {
    for (at, _) in mask.match_indices('|') {
        let rest = mask.get(at + 1..).unwrap_or_default();
        let name = first_word(rest.trim_start());
        if !name.is_empty() && !FILTERS.contains(&name) {
            let place = start + at + 1 + (rest.len() - rest.trim_start().len());
            let fault = Fault::at(place, format!("there is no filter `{name}`"));
            return Err(fault.help(match nearest(name, FILTERS) {
                Some(known) => format!("did you mean `{known}`?"),
                None => format!("the filters are {}", FILTERS.join(", ")),
            }));
        }
    }
    Ok(())
}

/// The name that a text begins with.
pub(super) fn first_word(text: &str) -> &str {
    let end = text
        .find(|letter: char| !letter.is_alphanumeric() && letter != '_')
        .unwrap_or(text.len());
    text.get(..end).unwrap_or_default()
}

/// `x.length` is how other languages count; `loop.length` is ours too.
fn lengths(inside: &str, mask: &str) -> String {
    const COUNTED: &str = ".length";
    let mut written = String::with_capacity(inside.len());
    let mut copied = 0;
    for (at, _) in mask.match_indices(COUNTED) {
        let before = mask.get(..at).unwrap_or_default();
        let after = mask.get(at + COUNTED.len()..).unwrap_or_default();
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

/// A comparison with `none` is one with what is absent; the word for that is as long.
fn nulls(inside: &str, mask: &str) -> String {
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

/// A loop with two names goes through fields, as it does through a list of pairs.
pub(super) fn two_names(inside: String) -> String {
    let mask = Mask::of(&inside);
    let Some((names, rest)) = mask.as_str().split_once(" in ") else {
        return inside;
    };
    let plain = !names.contains(',') || rest.contains(" if ") || rest.contains("recursive");
    if plain || rest.contains('|') || rest.contains("items(") {
        return inside;
    }
    let (front, list) = inside
        .split_at_checked(names.len() + " in ".len())
        .unwrap_or((&inside, ""));
    format!("{front}({list})|pairs")
}
