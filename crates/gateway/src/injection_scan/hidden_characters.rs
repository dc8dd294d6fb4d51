//! Detects characters that are invisible, change how text is displayed, or imitate others.

use std::borrow::Cow;

use serde_json::Value;

use super::{ScanSign, SignWeight};

/// The number of private-use characters that an icon font may explain.
const MAX_PRIVATE: usize = 2;

/// Returns a sign for each kind of suspicious character in a text.
pub(super) fn find_signs(text: &str) -> Vec<ScanSign> {
    if text
        .bytes()
        .all(|byte| matches!(byte, b' '..=b'~' | b'\n' | b'\t'))
    {
        return Vec::new();
    }
    let all: Vec<char> = text.chars().collect();
    let mut found: Vec<ScanSign> = Vec::new();
    let mut add = |weight, kind, what: String| match found.iter_mut().find(|sign| sign.kind == kind)
    {
        Some(sign) => sign.weight = sign.weight.max(weight),
        None => found.push(ScanSign::new(weight, kind, what)),
    };
    let right_to_left = all.iter().copied().any(is_right_to_left);
    let mut private = 0;
    for (at, &c) in all.iter().enumerate() {
        let before = at.checked_sub(1).and_then(|at| all.get(at)).copied();
        let after = all.get(at + 1).copied();
        let code = format!("U+{:04X}", u32::from(c));
        match c {
            '\u{1b}' | '\u{9b}' => add(
                SignWeight::Strong,
                "escape",
                format!("a terminal escape, {code}"),
            ),
            '\r' if after != Some('\n') && after.is_some() => {
                add(
                    SignWeight::Note,
                    "control",
                    "a carriage return inside a line".to_owned(),
                );
            }
            '\n' | '\t' | '\r' => {}
            _ if c.is_control() => add(
                SignWeight::Strong,
                "control",
                format!("a control character, {code}"),
            ),
            '\u{e0000}'..='\u{e007f}' if !is_in_flag(&all, at) => {
                add(
                    SignWeight::Strong,
                    "tags",
                    format!("hidden text: {:?}", tag_text(&all)),
                );
            }
            '\u{202d}' | '\u{202e}' => {
                add(
                    SignWeight::Strong,
                    "direction",
                    format!("a direction override, {code}"),
                );
            }
            _ if is_bidi_control(c) => {
                let weight = if right_to_left {
                    SignWeight::Note
                } else {
                    SignWeight::Strong
                };
                add(weight, "direction", format!("a direction control, {code}"));
            }
            '\u{200c}' | '\u{200d}' if is_valid_joiner(before, after) => {}
            '\u{feff}' if at == 0 => add(
                SignWeight::Note,
                "invisible",
                "a byte order mark".to_owned(),
            ),
            _ if is_invisible(c) => {
                add(
                    SignWeight::Strong,
                    "invisible",
                    format!("an invisible character, {code}"),
                );
            }
            _ if is_selector(c) && !is_valid_selector(c, before) => {
                let what = format!("a misplaced variation selector, {code}");
                add(SignWeight::Strong, "selectors", what);
            }
            '\u{2028}' | '\u{2029}' | '\u{fffc}' | '\u{2800}' => {
                add(
                    SignWeight::Note,
                    "separator",
                    format!("an unusual separator, {code}"),
                );
            }
            _ if is_private(c) => {
                private += 1;
                let weight = if private > MAX_PRIVATE {
                    SignWeight::Strong
                } else {
                    SignWeight::Note
                };
                add(
                    weight,
                    "private",
                    format!("a private-use character, {code}"),
                );
            }
            _ => {}
        }
    }
    found
}

/// Returns the signs that apply to names only.
pub(super) fn find_name_signs(name: &str) -> Vec<ScanSign> {
    let latin = name.chars().any(|c| c.is_ascii_alphabetic());
    if latin && name.chars().any(is_look_alike) {
        let what = format!("{name:?} mixes look-alike letters of several scripts");
        return vec![ScanSign::new(SignWeight::Strong, "look-alike", what)];
    }
    Vec::new()
}

/// Escapes hidden characters and joins the text into one line.
pub fn escape_hidden(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if is_hidden(c) && !matches!(c, '\n' | '\t') {
            out.extend(c.escape_unicode());
        } else if c.is_whitespace() {
            out.push(' ');
        } else {
            out.push(c);
        }
    }
    out
}

/// Removes hidden characters.
pub fn strip_hidden(text: &str) -> Cow<'_, str> {
    if text.chars().any(is_hidden) {
        Cow::Owned(text.chars().filter(|c| !is_hidden(*c)).collect())
    } else {
        Cow::Borrowed(text)
    }
}

/// Removes hidden characters from the texts of a definition that are meant for reading. Names, and
/// values that a call must repeat, stay unchanged.
pub fn strip_definition(definition: &Value) -> Value {
    match definition {
        Value::Object(fields) => fields
            .iter()
            .map(|(name, value)| {
                let value = match (name.as_str(), value) {
                    ("description" | "title", Value::String(text)) => {
                        strip_hidden(text).into_owned().into()
                    }
                    ("_meta" | "icons" | "enum" | "const" | "default", value) => value.clone(),
                    (_, value) => strip_definition(value),
                };
                (name.clone(), value)
            })
            .collect(),
        Value::Array(items) => items.iter().map(strip_definition).collect(),
        value => value.clone(),
    }
}

/// Shortens a text to one line without hidden characters.
pub fn to_one_line(text: &str, chars: usize) -> String {
    let stripped = strip_hidden(text);
    let words: Vec<&str> = stripped.split_whitespace().collect();
    deliberate_core::truncate_chars(&words.join(" "), chars)
}

/// Returns true for a hidden character. Joiners of emoji and scripts count as hidden too, because
/// their context is not considered here.
pub(super) fn is_hidden(c: char) -> bool {
    (c.is_control() && !matches!(c, '\n' | '\t' | '\r'))
        || is_bidi_control(c)
        || is_invisible(c)
        || matches!(c, '\u{e0000}'..='\u{e007f}' | '\u{e0100}'..='\u{e01ef}')
}

fn is_bidi_control(c: char) -> bool {
    matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{200e}' | '\u{200f}' | '\u{61c}')
}

fn is_invisible(c: char) -> bool {
    matches!(
        c,
        '\u{200b}'..='\u{200d}'
            | '\u{2060}'..='\u{2065}'
            | '\u{206a}'..='\u{206f}'
            | '\u{feff}'
            | '\u{180e}'
            | '\u{ad}'
            | '\u{34f}'
            | '\u{115f}'
            | '\u{1160}'
            | '\u{3164}'
            | '\u{ffa0}'
            | '\u{17b4}'
            | '\u{17b5}'
            | '\u{fff9}'..='\u{fffb}'
            | '\u{1d173}'..='\u{1d17a}'
    )
}

fn is_private(c: char) -> bool {
    matches!(c, '\u{e000}'..='\u{f8ff}' | '\u{f0000}'..='\u{10ffff}')
}

fn is_selector(c: char) -> bool {
    matches!(c, '\u{fe00}'..='\u{fe0f}' | '\u{e0100}'..='\u{e01ef}' | '\u{180b}'..='\u{180d}')
}

/// Returns true if a variation selector follows a character that has variations, and not another
/// selector.
fn is_valid_selector(selector: char, before: Option<char>) -> bool {
    let Some(before) = before else { return false };
    match selector {
        '\u{e0100}'..='\u{e01ef}' => is_han(before),
        '\u{180b}'..='\u{180d}' => matches!(before, '\u{1820}'..='\u{18aa}'),
        // Digits become keycaps.
        _ => {
            matches!(before, '0'..='9' | '#' | '*' | '©' | '®')
                || (!before.is_ascii()
                    && !before.is_whitespace()
                    && !is_selector(before)
                    && !is_hidden(before))
        }
    }
}

/// Returns true if a joiner is where its script or an emoji needs it.
fn is_valid_joiner(before: Option<char>, after: Option<char>) -> bool {
    let (Some(before), Some(after)) = (before, after) else {
        return false;
    };
    let emoji = |c: char| is_pictograph(c) || c == '\u{fe0f}';
    (needs_joiners(before)
        && (needs_joiners(after) || !after.is_alphanumeric() && !is_hidden(after)))
        || (emoji(before) && is_pictograph(after))
}

fn needs_joiners(c: char) -> bool {
    matches!(c, '\u{600}'..='\u{61b}' | '\u{61d}'..='\u{7ff}' | '\u{8a0}'..='\u{dff}' | '\u{1000}'..='\u{109f}' | '\u{1780}'..='\u{17b3}')
}

fn is_pictograph(c: char) -> bool {
    matches!(c, '\u{2190}'..='\u{2bff}' | '\u{1f000}'..='\u{1faff}' | '\u{203c}' | '\u{2049}')
}

fn is_han(c: char) -> bool {
    matches!(c, '\u{3400}'..='\u{9fff}' | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{323af}')
}

fn is_right_to_left(c: char) -> bool {
    matches!(c, '\u{590}'..='\u{61b}' | '\u{61d}'..='\u{8ff}' | '\u{fb1d}'..='\u{fdff}' | '\u{fe70}'..='\u{fefc}')
}

/// Returns true for a letter of another script that looks like a Latin one.
fn is_look_alike(c: char) -> bool {
    super::normalization::latin_lookalike(c).is_some()
}

/// Returns true if the tag at this place is part of a region's flag: a black flag, a few tags, an
/// end tag.
fn is_in_flag(all: &[char], at: usize) -> bool {
    let is_tag = |c: &char| matches!(c, '\u{e0000}'..='\u{e007f}');
    let head = all.get(..at).unwrap_or_default();
    let before = head.iter().rev().take_while(|c| is_tag(c)).count();
    let flag = before <= 6 && head.iter().rev().nth(before) == Some(&'\u{1f3f4}');
    let tail = all.get(at..).unwrap_or_default();
    let length = tail.iter().take_while(|c| is_tag(c)).count();
    flag && before + length <= 7 && tail.get(length.saturating_sub(1)) == Some(&'\u{e007f}')
}

/// Decodes the text that tag characters spell.
fn tag_text(all: &[char]) -> String {
    all.iter()
        .filter_map(|c| u32::from(*c).checked_sub(0xe_0000))
        .filter(|code| (0x20..0x7f).contains(code))
        .filter_map(char::from_u32)
        .take(80)
        .collect()
}
