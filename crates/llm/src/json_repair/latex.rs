//! Recognizes backslashes that belong to LaTeX commands.
//!
//! A model that writes `"\frac{1}{2}"` means a fraction, but JSON reads a form feed and
//! `rac{1}{2}`. These tables decide when `\b`, `\f`, `\n`, `\r` and `\t` start a command instead.

use serde_json::Value;

/// How readily an escape is taken for a LaTeX command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum EscapePolicy {
    /// Only where nothing else makes sense: `\nabla`, but not `\nu`, which may be a line break.
    Careful,
    /// Wherever it spells a command: the text contains other backslashes that are not JSON escapes,
    /// so its writer does not escape them.
    Commands,
}

/// Commands whose tail (without the first letter) does not start ordinary text, or whose control
/// character does not occur in practice.
const UNAMBIGUOUS_COMMANDS: &[&str] = &[
    "backslash",
    "bar",
    "bbox",
    "because",
    "begin",
    "beta",
    "beth",
    "between",
    "big",
    "bigcap",
    "bigcup",
    "bigg",
    "biggl",
    "biggr",
    "bigl",
    "bigoplus",
    "bigotimes",
    "bigr",
    "bigsqcup",
    "bigstar",
    "bigvee",
    "bigwedge",
    "binom",
    "blacksquare",
    "bmod",
    "bold",
    "boldsymbol",
    "bot",
    "bowtie",
    "boxed",
    "breve",
    "bullet",
    "fbox",
    "flat",
    "footnote",
    "forall",
    "frac",
    "frak",
    "frown",
    "nabla",
    "natural",
    "ncong",
    "nearrow",
    "neq",
    "newcommand",
    "newline",
    "ngeq",
    "nleq",
    "nolimits",
    "nonumber",
    "normalsize",
    "not",
    "notin",
    "nsubseteq",
    "nwarrow",
    "raisebox",
    "rangle",
    "rbrace",
    "rbrack",
    "rceil",
    "rfloor",
    "rho",
    "right",
    "rightarrow",
    "rightharpoonup",
    "rightleftharpoons",
    "root",
    "rule",
    "rvert",
    "rVert",
    "tanh",
    "tbinom",
    "text",
    "textbf",
    "textit",
    "textrm",
    "textsf",
    "textstyle",
    "texttt",
    "tfrac",
    "therefore",
    "theta",
    "thickapprox",
    "tilde",
    "times",
    "triangle",
    "triangleq",
    "triangleleft",
    "triangleright",
];

/// Commands whose tail may also be a word at the start of a line or column, or is a single letter.
const AMBIGUOUS_COMMANDS: &[&str] = &[
    "bf",
    "bm",
    "rm",
    "ne",
    "neg",
    "nexists",
    "ni",
    "nmid",
    "nparallel",
    "nu",
    "tag",
    "tan",
    "tau",
    "tiny",
    "to",
    "top",
];

/// Detects the policy for a text: a backslash before a letter that is no JSON escape shows a writer
/// who does not escape.
pub(super) fn detect_policy(text: &str) -> EscapePolicy {
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        if c != '\\' {
            continue;
        }
        match chars.next() {
            Some('u') => {
                let hex = chars
                    .clone()
                    .take(4)
                    .filter(char::is_ascii_hexdigit)
                    .count();
                if hex < 4 {
                    return EscapePolicy::Commands;
                }
            }
            Some('b' | 'f' | 'n' | 'r' | 't') => {}
            Some(c) if c.is_ascii_alphabetic() => return EscapePolicy::Commands,
            _ => {}
        }
    }
    EscapePolicy::Careful
}

/// Returns whether the text after a backslash spells a command.
pub(super) fn is_command(after_backslash: &str, escapes: EscapePolicy) -> bool {
    let length = after_backslash
        .find(|c: char| !c.is_ascii_alphabetic())
        .unwrap_or(after_backslash.len());
    let (word, rest) = after_backslash.split_at_checked(length).unwrap_or_default();
    // `\text` and related commands always take braces; a tab before a column "ext" does not.
    let complete = !word.starts_with("text") || rest.starts_with('{');
    complete
        && (UNAMBIGUOUS_COMMANDS.contains(&word)
            || (escapes == EscapePolicy::Commands && AMBIGUOUS_COMMANDS.contains(&word)))
}

/// Restores the commands that a strict parser turned into control characters.
pub(super) fn restore(value: &mut Value) {
    match value {
        Value::String(text) => {
            if let Some(restored) = restore_text(text) {
                *text = restored;
            }
        }
        Value::Array(items) => items.iter_mut().for_each(restore),
        Value::Object(members) => members.values_mut().for_each(restore),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

fn restore_text(text: &str) -> Option<String> {
    if !text.contains(|c| escape_letter(c).is_some()) {
        return None;
    }
    let mut result = String::with_capacity(text.len() + 8);
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        let command = escape_letter(c).filter(|letter| {
            let tail = chars.as_str();
            let length = tail
                .find(|c: char| !c.is_ascii_alphabetic())
                .unwrap_or(tail.len());
            // The longest command has 17 letters; a longer run is not examined.
            let Some(tail) = tail
                .get(..(length + 1).min(24))
                .or_else(|| tail.get(..length))
            else {
                return false;
            };
            is_command(&format!("{letter}{tail}"), EscapePolicy::Careful)
        });
        match command {
            Some(letter) => {
                result.push('\\');
                result.push(letter);
            }
            None => result.push(c),
        }
    }
    Some(result)
}

fn escape_letter(control: char) -> Option<char> {
    match control {
        '\u{8}' => Some('b'),
        '\u{c}' => Some('f'),
        '\n' => Some('n'),
        '\r' => Some('r'),
        '\t' => Some('t'),
        _ => None,
    }
}
