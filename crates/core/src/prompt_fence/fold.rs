//! Folds a text for comparison with tag names: what is invisible is left out, and each letter has
//! the form that a reader would take it for. Every folded letter knows where it stands in the text.

use unicode_normalization::char::{decompose_compatible, is_combining_mark};

/// A letter of the folded text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct FoldedLetter {
    pub(super) letter: char,
    /// Where it begins in the text.
    pub(super) start: usize,
    /// Where it ends there.
    pub(super) end: usize,
}

/// The longest escape, such as `&#x0000003c;`.
const MAX_ESCAPE: usize = 64;

/// Escapes by name. What they stand for may be invisible.
const NAMED_ESCAPES: [(&str, char); 12] = [
    ("lt", '<'),
    ("gt", '>'),
    ("sol", '/'),
    ("bsol", '\\'),
    ("nbsp", ' '),
    ("tab", ' '),
    ("newline", ' '),
    ("shy", '\u{ad}'),
    ("zwj", '\u{200d}'),
    ("zwnj", '\u{200c}'),
    ("lrm", '\u{200e}'),
    ("zerowidthspace", '\u{200b}'),
];

/// Folds a text: no invisible characters, no accents, compatible forms such as `ｇ` and `𝗀` as
/// plain letters, all in lower case, and escapes such as `&lt;` and `\u003c` as what they stand for.
pub(super) fn fold(text: &str) -> Vec<FoldedLetter> {
    let mut glyphs = Vec::with_capacity(text.len());
    for (start, letter) in text.char_indices() {
        let end = start + letter.len_utf8();
        push_folded(&mut glyphs, letter, start, end);
    }
    decode_escapes(&glyphs)
}

fn push_folded(glyphs: &mut Vec<FoldedLetter>, letter: char, start: usize, end: usize) {
    let mut push = |letter: char| {
        if is_invisible(letter) || is_combining_mark(letter) {
            return;
        }
        let letter = if letter.is_whitespace() { ' ' } else { letter };
        for letter in letter.to_lowercase().filter(|it| !is_combining_mark(*it)) {
            glyphs.push(FoldedLetter { letter, start, end });
        }
    };
    if letter.is_ascii() {
        push(letter);
    } else if !is_invisible(letter) {
        decompose_compatible(letter, push);
    }
}

fn decode_escapes(glyphs: &[FoldedLetter]) -> Vec<FoldedLetter> {
    let mut decoded = Vec::with_capacity(glyphs.len());
    let mut rest = glyphs;
    while let Some((first, after)) = rest.split_first() {
        let Some((letter, length)) = escape_at(rest) else {
            decoded.push(*first);
            rest = after;
            continue;
        };
        let (escape, after) = rest.split_at(length.min(rest.len()));
        let end = escape.last().map_or(first.end, |last| last.end);
        push_folded(&mut decoded, letter, first.start, end);
        rest = after;
    }
    decoded
}

/// Returns what the escape at the start stands for, and its length.
fn escape_at(glyphs: &[FoldedLetter]) -> Option<(char, usize)> {
    let first = glyphs.first()?.letter;
    if !matches!(first, '&' | '\\' | '%') {
        return None;
    }
    let window: String = glyphs.iter().take(MAX_ESCAPE).map(|it| it.letter).collect();
    let (letter, rest) = match first {
        '&' => entity(&window)?,
        '%' => percent(&window)?,
        _ => backslash(&window)?,
    };
    let length = window.chars().count().checked_sub(rest.chars().count())?;
    Some((letter, length))
}

/// Reads `&lt;`, `&#60;` and `&#x3c;`, with or without the semicolon, encoded once or more often.
fn entity(window: &str) -> Option<(char, &str)> {
    let mut body = window.strip_prefix('&')?;
    while let Some(inner) = body.strip_prefix("amp;") {
        body = inner;
    }
    let (letter, rest) = if let Some(number) = body.strip_prefix('#') {
        match number.strip_prefix('x') {
            Some(hex) => code_point(hex, 16, usize::MAX)?,
            None => code_point(number, 10, usize::MAX)?,
        }
    } else {
        let named = |(name, letter): &(&str, char)| Some((*letter, body.strip_prefix(name)?));
        NAMED_ESCAPES.iter().find_map(named)?
    };
    Some((letter, rest.strip_prefix(';').unwrap_or(rest)))
}

/// Reads `%3c`, encoded once or more often.
fn percent(window: &str) -> Option<(char, &str)> {
    let mut body = window.strip_prefix('%')?;
    while let Some(inner) = body.strip_prefix("25") {
        body = inner;
    }
    code_point(body, 16, 2)
}

/// Reads `\u003c`, `\u{3c}` and `\x3c`, with any number of backslashes.
fn backslash(window: &str) -> Option<(char, &str)> {
    let body = window.trim_start_matches('\\');
    let (digits, body) = match body.strip_prefix('u') {
        Some(body) => (4, body),
        None => (2, body.strip_prefix('x')?),
    };
    match body.strip_prefix('{') {
        Some(braced) => {
            let (letter, rest) = code_point(braced, 16, usize::MAX)?;
            Some((letter, rest.strip_prefix('}')?))
        }
        None => code_point(body, 16, digits),
    }
}

/// Reads the number of a character, of at most that many digits.
fn code_point(text: &str, radix: u32, most: usize) -> Option<(char, &str)> {
    let digits = text.chars().take_while(|it| it.is_digit(radix)).take(most);
    let (number, rest) = text.split_at_checked(digits.count())?;
    let letter = char::from_u32(u32::from_str_radix(number, radix).ok()?)?;
    Some((letter, rest))
}

/// Tells whether a character is shown as nothing: Unicode's default-ignorable code points, control
/// characters, and what is shown as blank without being white space.
pub(super) const fn is_invisible(letter: char) -> bool {
    if letter.is_ascii() {
        return letter.is_ascii_control() && !letter.is_ascii_whitespace() && letter != '\u{b}';
    }
    matches!(letter,
        '\u{80}'..='\u{84}' | '\u{86}'..='\u{9f}'
        | '\u{ad}'
        | '\u{34f}'
        | '\u{61c}'
        | '\u{115f}'..='\u{1160}'
        | '\u{17b4}'..='\u{17b5}'
        | '\u{180b}'..='\u{180f}'
        | '\u{200b}'..='\u{200f}'
        | '\u{202a}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}'
        | '\u{2800}'
        | '\u{3164}'
        | '\u{fe00}'..='\u{fe0f}'
        | '\u{feff}'
        | '\u{ffa0}'
        | '\u{fff0}'..='\u{fffc}'
        | '\u{1bca0}'..='\u{1bca3}'
        | '\u{1d173}'..='\u{1d17a}'
        | '\u{e0000}'..='\u{e0fff}')
}

/// Tells whether a folded letter may be taken for a plain one.
pub(super) fn looks_like(letter: char, plain: char) -> bool {
    letter == plain
        || LOOK_ALIKES
            .iter()
            .any(|(of, alike)| *of == plain && alike.contains(letter))
}

/// Letters of other alphabets, in lower case, that look like a Latin one, in lower or upper case.
const LOOK_ALIKES: [(char, &str); 26] = [
    ('a', "аαɑᴀꭺ"),
    ('b', "ьвβʙᏼ"),
    ('c', "сϲᴄꮯ"),
    ('d', "ԁᴅꭰժ"),
    ('e', "еєεᴇꭼҽ℮"),
    ('f', "ϝꜰғբ"),
    ('g', "ɡɢցԍᶃꮐ"),
    ('h', "һнηʜհꮋ"),
    ('i', "іιıɪɩӏ1|ꭵ"),
    ('j', "јϳᴊյ"),
    ('k', "кκᴋᏦ"),
    ('l', "ӏιʟ1|ⅼіıɪⲓլ"),
    ('m', "мμᴍꮇ"),
    ('n', "пηνɴոռи"),
    ('o', "оοσᴏօ0ꮎ"),
    ('p', "рρᴘꮲթ"),
    ('q', "ԛզգ"),
    ('r', "гʀꭱꮁ"),
    ('s', "ѕꜱꮪ"),
    ('t', "тτᴛꭲ"),
    ('u', "υцᴜսʋ"),
    ('v', "ѵνᴠυꮩ"),
    ('w', "ԝωᴡѡɯաꮃ"),
    ('x', "хχⲭ"),
    ('y', "уυγʏүყ"),
    ('z', "ᴢζꮓ"),
];
