//! Makes `*` multiply numbers only. The engine would also repeat texts and lists, up to a hundred
//! million times, and it does so while it compiles constants, where no limit of ours is asked. So
//! both operands of every `*` pass a filter that takes numbers. Knows nothing of values.

use super::syntax_compat::first_word;
use crate::template::{error::TemplateFault, filter::FACTOR_FILTER};

/// Inserts the filter behind both operands of every `*`. The mask is the expression, which starts at
/// byte `start` of the template, without its quoted texts.
pub(super) fn guard_factors(
    inside: &str,
    mask: &str,
    start: usize,
) -> Result<String, TemplateFault> {
    if !mask.contains('*') {
        return Ok(inside.to_owned());
    }
    let mut places = Vec::new();
    for at in multiplications(inside, mask) {
        places.push(inside.get(..at).unwrap_or_default().trim_end().len());
        let end = operand_end(inside, mask, at + 1);
        // Filters behind a test apply to its result, so that the filter would not be the last one.
        if first_word(mask.get(end..).unwrap_or_default().trim_start()) == "is" {
            let message = "a test behind `*` needs brackets";
            return Err(TemplateFault::at_byte(start + at, message)
                .with_help("write `a * (b is odd)` or `(a * b) is odd`"));
        }
        places.push(end);
    }
    places.sort_unstable();
    let mut written = String::with_capacity(inside.len() + places.len() * 8);
    let mut copied = 0;
    for place in places {
        written.push_str(inside.get(copied..place).unwrap_or_default());
        written.push('|');
        written.push_str(FACTOR_FILTER);
        copied = place;
    }
    written.push_str(inside.get(copied..).unwrap_or_default());
    Ok(written)
}

/// Returns the offsets of all `*` that multiply: not those of `**`, nor those before the arguments
/// of a call.
fn multiplications(inside: &str, mask: &str) -> impl Iterator<Item = usize> {
    mask.match_indices('*').map(|(at, _)| at).filter(|at| {
        let before = inside.get(..*at).unwrap_or_default();
        let after = inside.get(at + 1..).unwrap_or_default();
        let is_power = before.ends_with('*') || after.starts_with('*');
        !is_power
            && !matches!(
                before.trim_end().chars().next_back(),
                None | Some('(' | ',')
            )
    })
}

/// Returns where the operand that starts at an offset ends: signs, a name, number, text or
/// brackets, then attributes, subscripts, calls and filters.
fn operand_end(inside: &str, mask: &str, start: usize) -> usize {
    let mut at = skip(mask, start, |it| {
        it.is_whitespace() || matches!(it, '-' | '+')
    });
    // A quoted text is blank in the mask: it ends where the quotes around it do.
    let first = start + blanks(inside, start);
    if let Some(quote @ ('"' | '\'')) = char_at(inside, first) {
        at = quoted_end(inside, first, quote);
    } else if matches!(char_at(mask, at), Some('(' | '[' | '{')) {
        at = bracket_end(mask, at);
    } else {
        at = word_end(mask, at);
    }
    loop {
        let next = at + blanks(inside, at);
        let end = match char_at(mask, next) {
            Some('(' | '[') => bracket_end(mask, next),
            Some('.' | '|') => {
                let name = next + 1 + blanks(inside, next + 1);
                name + first_word(mask.get(name..).unwrap_or_default()).len()
            }
            _ => return at,
        };
        if end <= at {
            return at;
        }
        at = end;
    }
}

/// Returns the offset behind a name or a number, which may have an exponent.
fn word_end(mask: &str, at: usize) -> usize {
    let is_part = |it: char| it.is_alphanumeric() || matches!(it, '_' | '.');
    let end = skip(mask, at, is_part);
    let is_number = char_at(mask, at).is_some_and(|it| it.is_ascii_digit());
    let has_exponent = mask.get(at..end).is_some_and(|it| it.ends_with(['e', 'E']));
    if is_number && has_exponent && matches!(char_at(mask, end), Some('+' | '-')) {
        return skip(mask, end + 1, is_part);
    }
    end
}

fn char_at(text: &str, at: usize) -> Option<char> {
    text.get(at..)?.chars().next()
}

/// Returns the number of bytes of white space at an offset.
fn blanks(text: &str, at: usize) -> usize {
    let rest = text.get(at..).unwrap_or_default();
    rest.len() - rest.trim_start().len()
}

/// Returns the offset behind all characters that fit.
fn skip(text: &str, at: usize, fits: impl Fn(char) -> bool) -> usize {
    let rest = text.get(at..).unwrap_or_default();
    at + rest.find(|it| !fits(it)).unwrap_or(rest.len())
}

/// Returns the offset behind the quoted text that starts at an offset.
pub(super) fn quoted_end(inside: &str, at: usize, quote: char) -> usize {
    let mut is_escaped = false;
    for (offset, letter) in inside.get(at + 1..).unwrap_or_default().char_indices() {
        if !is_escaped && letter == quote {
            return at + 1 + offset + 1;
        }
        is_escaped = letter == '\\' && !is_escaped;
    }
    inside.len()
}

/// Returns the offset behind the bracket that closes the one at an offset.
fn bracket_end(mask: &str, at: usize) -> usize {
    let mut depth = 0_usize;
    for (offset, letter) in mask.get(at..).unwrap_or_default().char_indices() {
        match letter {
            '(' | '[' | '{' => depth += 1,
            ')' | ']' | '}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth == 0 {
            return at + offset + 1;
        }
    }
    mask.len()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::template::preprocess::tag_scanner::QuoteMask;

    #[test]
    fn both_operands_of_a_multiplication_pass_the_filter() {
        for (expression, guarded) in [
            ("a * b", "a|_factor * b|_factor"),
            ("2*items|length + 1", "2|_factor*items|length|_factor + 1"),
            (
                "-a.b[1] * -(c + 'x)')",
                "-a.b[1]|_factor * -(c + 'x)')|_factor",
            ),
            (
                "a * 'x|*' * 3",
                "a|_factor * 'x|*'|_factor|_factor * 3|_factor",
            ),
            ("f(*list) ** 2", "f(*list) ** 2"),
            (
                "a * f(b * 2)|first",
                "a|_factor * f(b|_factor * 2|_factor)|first|_factor",
            ),
            ("3 * \"a\\\"b\" ~ c", "3|_factor * \"a\\\"b\"|_factor ~ c"),
            ("'a * b'", "'a * b'"),
            ("'(' * 3", "'('|_factor * 3|_factor"),
            ("1.5 * x . y", "1.5|_factor * x . y|_factor"),
            ("x * 1.5e-3 + 1", "x|_factor * 1.5e-3|_factor + 1"),
        ] {
            let mask = QuoteMask::new(expression);
            assert_eq!(
                guard_factors(expression, mask.as_str(), 0).unwrap(),
                guarded
            );
        }
    }

    #[test]
    fn a_test_behind_a_multiplication_needs_brackets() {
        for expression in [
            "9 * 1 is odd|string",
            "9 * x.y is not even|default([1], true)",
        ] {
            let mask = QuoteMask::new(expression);
            assert!(guard_factors(expression, mask.as_str(), 0).is_err());
        }
    }
}
