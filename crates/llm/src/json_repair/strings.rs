//! Parses strings as models write them: any quotes, raw line breaks, unescaped inner quotes, LaTeX.

use super::{
    cursor::TextCursor,
    latex::{self, EscapePolicy},
};

/// Position of a string, which decides what may follow it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum StringPosition {
    /// A name in an object: a colon follows.
    Key,
    /// A value in an object with quoted names.
    Member,
    /// A value in an object with bare names.
    BareMember,
    /// An element of an array.
    Item,
}

/// Longest name that lookahead recognizes.
const MAX_KEY_CHARS: usize = 64;
/// Longest name that is read. Without a limit, every stray quote would be read to the end of the
/// text.
const MAX_KEY_BYTES: usize = 1024;

pub(super) fn is_quote(c: char) -> bool {
    matches!(
        c,
        '"' | '\'' | '`' | '\u{201c}' | '\u{201d}' | '\u{201e}' | '\u{2018}' | '\u{2019}'
    )
}

/// Returns whether `c` can end a string that started with `open`.
fn is_closing_quote(open: char, c: char) -> bool {
    match open {
        '\u{201c}' | '\u{201d}' | '\u{201e}' => matches!(c, '\u{201c}' | '\u{201d}' | '"'),
        '\u{2018}' | '\u{2019}' => matches!(c, '\u{2018}' | '\u{2019}' | '\''),
        _ => c == open,
    }
}

pub(super) struct ParsedString {
    pub(super) text: String,
    /// Whether the text ended before the closing quote.
    pub(super) is_open: bool,
}

/// Reads a string from its opening quote. A truncated string ends with the text. An overlong name
/// stops in the middle, where no colon follows.
pub(super) fn read_string(
    at: &mut TextCursor<'_>,
    position: StringPosition,
    escapes: EscapePolicy,
) -> ParsedString {
    let mut text = String::new();
    if at.eat("\"\"\"") {
        let rest = at.rest();
        let inner = rest.split_once("\"\"\"").map_or(rest, |(inner, _)| inner);
        at.eat(inner);
        let is_open = !at.eat("\"\"\"");
        return ParsedString {
            text: inner.to_owned(),
            is_open,
        };
    }
    let Some(open) = at.bump() else {
        return ParsedString {
            text,
            is_open: true,
        };
    };
    while let Some(c) = at.bump() {
        if c == '\\' {
            read_escape(at, &mut text, escapes);
        } else if is_closing_quote(open, c) && ends_string(*at, position) {
            return ParsedString {
                text,
                is_open: false,
            };
        } else {
            text.push(c);
        }
        if position == StringPosition::Key && text.len() > MAX_KEY_BYTES {
            break;
        }
    }
    ParsedString {
        text,
        is_open: true,
    }
}

/// Reads the characters after a backslash. Unknown escapes stay as they are written.
fn read_escape(at: &mut TextCursor<'_>, text: &mut String, escapes: EscapePolicy) {
    let rest = at.rest();
    let Some(c) = at.bump() else {
        return;
    };
    let control = match c {
        'b' => '\u{8}',
        'f' => '\u{c}',
        'n' => '\n',
        'r' => '\r',
        't' => '\t',
        'u' => return read_unicode(at, text),
        '"' | '\\' | '/' | '\'' | '\u{201c}' | '\u{201d}' => return text.push(c),
        // A backslash at the end of a line continues it.
        '\n' => return text.push('\n'),
        _ => {
            text.push('\\');
            return text.push(c);
        }
    };
    if latex::is_command(rest, escapes) {
        text.push('\\');
        text.push(c);
    } else {
        text.push(control);
    }
}

/// Reads four hex digits, and the second surrogate where the first needs one. A lone surrogate
/// cannot be stored in a Rust string and becomes the replacement character.
fn read_unicode(at: &mut TextCursor<'_>, text: &mut String) {
    let Some(unit) = read_code_unit(at) else {
        return text.push_str("\\u");
    };
    if !(0xd800..0xdc00).contains(&unit) {
        return text.push(char::from_u32(unit).unwrap_or(char::REPLACEMENT_CHARACTER));
    }
    let mut ahead = *at;
    let low = if ahead.eat("\\u") {
        read_code_unit(&mut ahead).filter(|low| (0xdc00..0xe000).contains(low))
    } else {
        None
    };
    let Some(low) = low else {
        return text.push(char::REPLACEMENT_CHARACTER);
    };
    *at = ahead;
    let scalar = 0x1_0000 + ((unit - 0xd800) << 10) + (low - 0xdc00);
    text.push(char::from_u32(scalar).unwrap_or(char::REPLACEMENT_CHARACTER));
}

fn read_code_unit(at: &mut TextCursor<'_>) -> Option<u32> {
    let digits = at.rest().get(..4)?;
    if !digits.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return None;
    }
    let unit = u32::from_str_radix(digits, 16).ok()?;
    at.eat(digits);
    Some(unit)
}

/// Returns whether the quote just read ends its string. A quote that the rest of the document could
/// not follow is part of the text.
fn ends_string(mut at: TextCursor<'_>, position: StringPosition) -> bool {
    let line_ended = at.skip_space();
    let Some(next) = at.peek() else {
        return true;
    };
    if position == StringPosition::Key {
        return next == ':';
    }
    match next {
        ',' => {
            at.bump();
            at.skip_space();
            match at.peek() {
                None | Some(']' | '}') => true,
                Some(_) if at.starts_comment() => true,
                Some(c) if position == StringPosition::Item => starts_value(c, at),
                Some(_) => is_key(at, position),
            }
        }
        '}' if position != StringPosition::Item => is_document_end(at),
        ']' if position == StringPosition::Item => is_document_end(at),
        '/' | '#' if at.starts_comment() => true,
        // The comma is missing.
        _ if position == StringPosition::Item => line_ended && is_quote(next),
        _ => line_ended && is_key(at, position),
    }
}

/// Returns whether the closing bracket here is at a possible end of the document.
fn is_document_end(mut at: TextCursor<'_>) -> bool {
    at.bump();
    at.skip_space();
    match at.peek() {
        None | Some(',' | '}' | ']' | '`') => true,
        Some(_) => at.starts_comment(),
    }
}

fn starts_value(c: char, at: TextCursor<'_>) -> bool {
    const WORDS: [&str; 6] = ["true", "false", "null", "True", "False", "None"];
    is_quote(c)
        || c.is_ascii_digit()
        || matches!(c, '-' | '{' | '[')
        || WORDS.iter().any(|word| at.rest().starts_with(word))
}

/// Returns whether a name and its colon are next.
fn is_key(mut at: TextCursor<'_>, position: StringPosition) -> bool {
    let Some(open) = at.peek() else {
        return false;
    };
    if is_quote(open) {
        at.bump();
        for _ in 0..=MAX_KEY_CHARS {
            match at.bump() {
                None | Some('\n') => return false,
                Some(c) if is_closing_quote(open, c) => {
                    at.skip_space();
                    return at.peek() == Some(':');
                }
                Some(_) => {}
            }
        }
        return false;
    }
    position == StringPosition::BareMember && is_bare_key(at)
}

fn is_bare_key(mut at: TextCursor<'_>) -> bool {
    let word = at.take_while(is_word);
    at.skip_space();
    word.starts_with(|c: char| c.is_alphabetic() || c == '_' || c == '$') && at.peek() == Some(':')
}

/// Returns whether `c` can occur in a bare name.
pub(super) fn is_word(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '_' | '$' | '-')
}
