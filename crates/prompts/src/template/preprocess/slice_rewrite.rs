//! Gives slices with a step to a filter of ours. The engine's own slices panic when they go backwards
//! over an empty sequence. Knows nothing of values.

use super::{factor_guard::quoted_end, syntax_compat::first_word};

/// Words of the template language that no operand starts with.
pub(super) const KEYWORDS: [&str; 12] = [
    "and", "call", "elif", "else", "filter", "if", "in", "is", "not", "or", "set", "with",
];

/// An open bracket, and what was read inside it so far.
#[derive(Default)]
struct OpenBracket {
    /// The offset of a square bracket behind an operand, and the operand's offset.
    subscript: Option<(usize, usize)>,
    colons: Vec<usize>,
    /// The offset of the operand that is being read.
    operand: Option<usize>,
    ends_with_dot: bool,
}

/// A character of the expression that is replaced, or text that is inserted.
struct Edit {
    at: usize,
    removed: usize,
    inserted: &'static str,
}

/// Rewrites `x[a:b:c]` as `(x|_slice(a,b,c))`.
pub(super) fn rewrite_slices(inside: String) -> String {
    let mut edits = find_edits(&inside);
    if edits.is_empty() {
        return inside;
    }
    // Insertions come before the replacement of the character at the same offset.
    edits.sort_by_key(|it| (it.at, it.removed));
    let mut written = String::with_capacity(inside.len() + edits.len() * 8);
    let mut copied = 0;
    for edit in edits {
        written.push_str(inside.get(copied..edit.at).unwrap_or_default());
        written.push_str(edit.inserted);
        copied = edit.at + edit.removed;
    }
    written.push_str(inside.get(copied..).unwrap_or_default());
    written
}

fn find_edits(inside: &str) -> Vec<Edit> {
    let mut edits = Vec::new();
    let mut open = vec![OpenBracket::default()];
    let mut previous = ' ';
    let mut quoted_until = 0;
    for (at, letter) in inside.char_indices() {
        if at < quoted_until {
            continue;
        }
        let Some(current) = open.last_mut() else {
            return edits;
        };
        if matches!(letter, '"' | '\'') {
            current.operand = Some(at);
            quoted_until = quoted_end(inside, at, letter);
        } else if letter.is_alphanumeric() || letter == '_' {
            // A word behind a blank is another operand, unless a dot joins them.
            let follows_blank = previous.is_whitespace() && !current.ends_with_dot;
            if current.operand.is_none() || follows_blank {
                current.operand = Some(at);
            }
            current.ends_with_dot = false;
        } else if matches!(letter, '(' | '[' | '{') {
            let operand = current
                .operand
                .filter(|start| !is_keyword(inside, *start, at));
            current.operand = operand.or(Some(at));
            open.push(OpenBracket {
                subscript: operand
                    .filter(|_| letter == '[')
                    .map(|operand| (at, operand)),
                ..OpenBracket::default()
            });
        } else if matches!(letter, ')' | ']' | '}') {
            if let Some(closed) = open.pop() {
                edits.extend(slice_edits(inside, &closed, at).into_iter().flatten());
            }
        } else if letter == '.' {
            current.ends_with_dot = true;
        } else if !letter.is_whitespace() {
            current.operand = None;
            current.ends_with_dot = false;
            if letter == ':' {
                current.colons.push(at);
            }
        }
        previous = letter;
    }
    edits
}

/// Returns the edits of a subscript that ends at an offset, if it is a slice with a step.
fn slice_edits(inside: &str, closed: &OpenBracket, end: usize) -> Option<[Edit; 5]> {
    let (bracket, operand) = closed.subscript?;
    let &[first, second] = closed.colons.as_slice() else {
        return None;
    };
    let is_blank =
        |from: usize, to: usize| inside.get(from..to).is_some_and(|it| it.trim().is_empty());
    if is_blank(second + 1, end) {
        return None;
    }
    let separator = |from: usize, at: usize| Edit {
        at,
        removed: 1,
        inserted: if is_blank(from, at) { "none," } else { "," },
    };
    let replace = |at: usize, removed: usize, inserted: &'static str| Edit {
        at,
        removed,
        inserted,
    };
    Some([
        replace(operand, 0, "("),
        replace(bracket, 1, OPEN_FILTER),
        separator(bracket + 1, first),
        separator(first + 1, second),
        replace(end, 1, "))"),
    ])
}

/// The filter with the bracket of its arguments.
const OPEN_FILTER: &str = "|_slice(";

fn is_keyword(inside: &str, start: usize, end: usize) -> bool {
    let word = inside.get(start..end).unwrap_or_default().trim_end();
    first_word(word) == word && KEYWORDS.contains(&word)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::template::filter::SLICE_FILTER;

    #[test]
    fn slices_with_a_step_are_filters() {
        assert_eq!(OPEN_FILTER, format!("|{SLICE_FILTER}("));
        for (expression, rewritten) in [
            ("a[::-1]", "(a|_slice(none,none,-1))"),
            ("-a.b(c)[1:2: n ].d", "-(a.b(c)|_slice(1,2, n )).d"),
            (
                "a[b[::2]:3:c[0]]",
                "(a|_slice((b|_slice(none,none,2)),3,c[0]))",
            ),
            (
                "a[::1][::2]",
                "((a|_slice(none,none,1))|_slice(none,none,2))",
            ),
            (
                "x in y[::2] and not 'a:[b'[::-1]",
                "x in (y|_slice(none,none,2)) and not ('a:[b'|_slice(none,none,-1))",
            ),
            ("[[][::-1]]", "[([]|_slice(none,none,-1))]"),
            ("x in (y)[::2]", "x in ((y)|_slice(none,none,2))"),
            ("x in [1][::2]", "x in ([1]|_slice(none,none,2))"),
            ("[1, 'b'[:'x':3]]", "[1, ('b'|_slice(none,'x',3))]"),
            (
                "for k, v in o . p [::2]",
                "for k, v in (o . p |_slice(none,none,2))",
            ),
            ("2*é[::2]", "2*(é|_slice(none,none,2))"),
        ] {
            assert_eq!(rewrite_slices(expression.to_owned()), rewritten);
        }
    }

    #[test]
    fn other_brackets_stay() {
        for expression in [
            "a[1:2] ~ a[::] ~ a['::1'] ~ a[:1]",
            "[{'a': 1, 'b': 2, 'c': 3}, 1]",
            "f({'a': b[1:2]})",
            "a[::2",
            "'a[::2]' ~ \"b[::'2]\"",
            "]::2]",
            "[::2]",
        ] {
            assert_eq!(rewrite_slices(expression.to_owned()), expression);
        }
    }
}
