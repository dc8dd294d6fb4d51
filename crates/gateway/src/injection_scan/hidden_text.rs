//! Detects text that is hidden by its place: behind a gap, in a comment, or encoded.

use std::sync::LazyLock;

use base64::{
    Engine as _, alphabet,
    engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig},
};
use regex::Regex;

use super::{ScanSign, SignWeight, foreign_rules, phrase_rules};

/// The length above which a text is noted.
pub(super) const LONG_CHARS: usize = 4_000;
/// The length above which a text is refused.
const TOO_LONG_CHARS: usize = 20_000;
/// A number of consecutive blanks that no layout needs.
const WIDE_GAP: usize = 100;
const NOTED_GAP: usize = 40;
/// A number of consecutive empty lines that no layout needs.
const HIGH_GAP: usize = 25;

static COMMENT: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r"(?s)<!--(.*?)(?:-->|\z)").ok());
static MARKDOWN_COMMENT: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r"(?m)^\s*\[[^\]\n]{0,60}\]:\s*(?:#|<>)\s*(.*)$").ok());
static HIDDEN_STYLE: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(r"(?is)<[a-z]+[^>]{0,200}(?:display\s*:\s*none|visibility\s*:\s*hidden|font-size\s*:\s*0|opacity\s*:\s*0[;'\x22]|\bhidden\b)[^>]{0,200}>([^<]{0,2000})").ok()
});
static BLOB: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r"[A-Za-z0-9+/_-]{16,}={0,2}").ok());
static HEX_PAIRS: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r"(?i)(?:(?:\\x|0x|%)?[0-9a-f]{2}[ ,:]?){12,}").ok());
/// Shorter runs are names and words, unless they hide an order.
const LONG_BLOB: usize = 48;
/// The decoded texts that are checked one by one. The rest is checked as one text, so that texts
/// before it hide nothing.
const MAX_BLOB_TEXTS: usize = 64;
/// The long runs that are noted.
const MAX_NOTED_BLOBS: usize = 8;
static IMAGE: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(r"!\[[^\]]{0,200}\]\(https?://[^)\s]{0,500}[?&/=][^)\s]{0,200}(?:\{|<|\$|\[|%7[bB])")
        .ok()
});

/// Returns the signs in the layout of a text.
pub(super) fn find_signs(text: &str) -> Vec<ScanSign> {
    let mut signs = Vec::new();
    signs.extend(check_length(text));
    signs.extend(find_gap(text));
    for (pattern, kind) in [
        (&COMMENT, "comment"),
        (&MARKDOWN_COMMENT, "comment"),
        (&HIDDEN_STYLE, "unseen"),
    ] {
        let found = pattern.iter().flat_map(|it| it.captures_iter(text)).take(8);
        signs.extend(found.filter_map(|it| it.get(1)).map(|hidden| {
            let weight = if phrase_rules::find_signs(hidden.as_str()).is_empty() {
                SignWeight::Note
            } else {
                SignWeight::Strong
            };
            ScanSign::new(weight, kind, hidden.as_str())
        }));
    }
    signs.extend(find_blobs(text));
    signs.extend(find_hex_pairs(text));
    signs.extend(find_rot13(text));
    if let Some(found) = IMAGE.iter().find_map(|it| it.find(text)) {
        signs.push(ScanSign::new(SignWeight::Strong, "image", found.as_str()));
    }
    signs
}

fn check_length(text: &str) -> Option<ScanSign> {
    // The byte length is checked first, because counting characters is expensive.
    if text.len() <= LONG_CHARS {
        return None;
    }
    let chars = text.chars().count();
    let weight = match chars {
        TOO_LONG_CHARS.. => SignWeight::Strong,
        LONG_CHARS.. => SignWeight::Note,
        _ => return None,
    };
    Some(ScanSign::new(
        weight,
        "length",
        format!("{chars} characters"),
    ))
}

/// Detects text behind a wide gap, where a reader does not see it.
fn find_gap(text: &str) -> Option<ScanSign> {
    let (mut blanks, mut lines, mut widest, mut highest) = (0, 0, 0, 0);
    for c in text.chars() {
        if c == '\n' {
            lines += 1;
            blanks = 0;
        } else if c.is_whitespace() || matches!(c, '\u{2800}' | '\u{3164}') {
            blanks += 1;
        } else {
            widest = widest.max(blanks);
            highest = highest.max(lines);
            (blanks, lines) = (0, 0);
        }
    }
    let weight = if widest >= WIDE_GAP || highest >= HIGH_GAP {
        SignWeight::Strong
    } else if widest >= NOTED_GAP {
        SignWeight::Note
    } else {
        return None;
    };
    let what = format!("text behind a gap of {widest} blanks or {highest} lines");
    Some(ScanSign::new(weight, "gap", what))
}

/// Returns true if a decoded text gives orders to the model.
fn gives_orders(text: &str) -> bool {
    let signs = phrase_rules::find_signs(text)
        .into_iter()
        .chain(foreign_rules::find_signs(text));
    signs
        .into_iter()
        .any(|sign| sign.weight == SignWeight::Strong)
}

/// Decodes pairs of hexadecimal digits that are separated or escaped.
fn find_hex_pairs(text: &str) -> Option<ScanSign> {
    let runs = HEX_PAIRS.iter().flat_map(|it| it.find_iter(text)).take(8);
    let hidden = runs.filter_map(|run| {
        let plain = run.as_str().to_lowercase();
        let plain = plain.replace("\\x", "").replace("0x", "");
        let digits: String = plain.chars().filter(char::is_ascii_hexdigit).collect();
        String::from_utf8(decode_hex(&digits)?).ok()
    });
    hidden
        .filter(|text| gives_orders(text))
        .map(|text| ScanSign::new(SignWeight::Strong, "encoded", format!("hides {text:?}")))
        .next()
}

/// Decodes a text whose letters are moved by 13 places.
fn find_rot13(text: &str) -> Option<ScanSign> {
    let rotate = |c: char, first: u8| {
        let place = u32::from(c) - u32::from(first);
        char::from_u32((place + 13) % 26 + u32::from(first)).unwrap_or(c)
    };
    let moved: String = text
        .chars()
        .map(|c| match c {
            'a'..='z' => rotate(c, b'a'),
            'A'..='Z' => rotate(c, b'A'),
            _ => c,
        })
        .collect();
    gives_orders(&moved).then(|| {
        let what = deliberate_core::truncate_chars(&moved, 200);
        ScanSign::new(SignWeight::Strong, "encoded", format!("hides {what:?}"))
    })
}

/// Decodes the runs of letters and digits. One that hides an order is refused, whatever its length,
/// and so is a long one that hides prose. Other long ones are noted if they look encoded.
fn find_blobs(text: &str) -> Vec<ScanSign> {
    let hides =
        |text: &str| ScanSign::new(SignWeight::Strong, "encoded", format!("hides {text:?}"));
    let (mut signs, mut noted, mut texts) = (Vec::new(), Vec::new(), Vec::new());
    for run in BLOB.iter().flat_map(|it| it.find_iter(text)) {
        let run = run.as_str();
        let decoded = decode_texts(run);
        if run.len() >= LONG_BLOB {
            match decoded.iter().find(|text| is_prose(text)) {
                Some(prose) => signs.push(hides(prose)),
                None if looks_encoded(run) => noted.push(run),
                None => {}
            }
        }
        texts.extend(decoded);
    }
    let (first, rest) = texts
        .split_at_checked(MAX_BLOB_TEXTS)
        .unwrap_or((&texts, &[]));
    let rest = rest.join("\n");
    let orders = first.iter().chain([&rest]).find(|text| gives_orders(text));
    signs.extend(orders.map(|text| hides(text)));
    noted.truncate(MAX_NOTED_BLOBS);
    let notes = noted.into_iter();
    signs.extend(notes.map(|run| ScanSign::new(SignWeight::Note, "encoded", run)));
    signs
}

/// Returns the texts that a run may stand for, as base64 and as hexadecimal digits.
fn decode_texts(run: &str) -> Vec<String> {
    let hex = is_hex(run).then(|| decode_hex(run)).flatten();
    let decoded = [hex, decode_base64(run)].into_iter().flatten();
    decoded
        .filter_map(|bytes| String::from_utf8(bytes).ok())
        .collect()
}

/// Returns true if a run looks like encoded data and not like a name.
fn looks_encoded(run: &str) -> bool {
    let has = |fits: fn(&u8) -> bool| run.as_bytes().iter().any(fits);
    let mixed =
        has(u8::is_ascii_digit) && has(u8::is_ascii_uppercase) && has(u8::is_ascii_lowercase);
    mixed || is_hex(run)
}

fn is_hex(run: &str) -> bool {
    run.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// Returns true if a text is prose: words separated by spaces.
fn is_prose(text: &str) -> bool {
    let letters = text.chars().filter(|c| c.is_alphabetic()).count();
    let spaces = text.chars().filter(|c| c.is_whitespace()).count();
    let all = text.chars().count();
    spaces >= 2 && letters * 10 >= all * 6 && !text.chars().any(char::is_control)
}

fn decode_base64(run: &str) -> Option<Vec<u8>> {
    let run = run.trim_end_matches('=');
    let usable = run.len() - usize::from(run.len() % 4 == 1);
    let run = run.get(..usable)?;
    let lenient = GeneralPurposeConfig::new()
        .with_decode_allow_trailing_bits(true)
        .with_decode_padding_mode(DecodePaddingMode::Indifferent);
    [&alphabet::STANDARD, &alphabet::URL_SAFE]
        .into_iter()
        .find_map(|letters| GeneralPurpose::new(letters, lenient).decode(run).ok())
}

fn decode_hex(run: &str) -> Option<Vec<u8>> {
    (0..run.len() / 2)
        .map(|at| {
            run.get(at * 2..at * 2 + 2)
                .and_then(|pair| u8::from_str_radix(pair, 16).ok())
        })
        .collect()
}
