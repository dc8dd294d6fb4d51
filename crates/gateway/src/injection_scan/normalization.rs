//! Normalizes texts for comparison: lower case, single spaces, no decorations, no look-alike
//! letters.

use super::hidden_characters::is_hidden;

pub(super) fn normalize(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut last_was_space = true;
    for c in text.chars() {
        if is_hidden(c) || matches!(c, '*' | '`' | '"' | '“' | '”' | '\u{fe0f}') {
            continue;
        }
        if c.is_whitespace() {
            if !last_was_space {
                out.push(' ');
            }
            last_was_space = true;
            continue;
        }
        last_was_space = false;
        match c {
            '’' | '‘' | 'ʼ' => out.push('\''),
            '\u{ff01}'..='\u{ff5e}' => {
                let plain = u32::from(c).checked_sub(0xfee0).and_then(char::from_u32);
                out.extend(plain.unwrap_or(c).to_lowercase());
            }
            _ => match latin_lookalike(c) {
                Some(letter) => out.push(letter),
                None => out.extend(c.to_lowercase()),
            },
        }
    }
    let words: Vec<&str> = out
        .split(' ')
        .map(|word| word.trim_matches('_'))
        .filter(|word| !word.is_empty())
        .collect();
    words.join(" ")
}

/// Joins the letters of spaced-out words, as in `i g n o r e`; returns none if there are none.
pub(super) fn join_spaced_letters(normal: &str) -> Option<String> {
    const MIN_LETTERS: usize = 10;
    let mut run = String::new();
    let mut all = String::new();
    for word in normal.split(' ').chain(["end"]) {
        let word = word.trim_matches(|c: char| !c.is_alphanumeric());
        if word.chars().count() == 1 {
            run.push_str(word);
        } else {
            if run.len() >= MIN_LETTERS {
                all.push_str(&run);
                all.push(' ');
            }
            run.clear();
        }
    }
    (!all.is_empty()).then_some(all)
}

/// Returns the Latin letter that a letter of another script looks like.
pub(super) fn latin_lookalike(c: char) -> Option<char> {
    Some(match c {
        'а' | 'А' | 'α' | 'Α' => 'a',
        'В' | 'в' | 'Β' => 'b',
        'с' | 'С' | 'ϲ' => 'c',
        'ԁ' => 'd',
        'е' | 'Е' | 'Ε' | 'ё' => 'e',
        'һ' | 'Н' | 'Η' => 'h',
        'і' | 'І' | 'ι' | 'Ι' => 'i',
        'ј' | 'Ј' => 'j',
        'К' | 'к' | 'Κ' | 'κ' => 'k',
        'М' | 'м' | 'Μ' => 'm',
        'Ν' | 'ո' => 'n',
        'о' | 'О' | 'ο' | 'Ο' => 'o',
        'р' | 'Р' | 'ρ' | 'Ρ' => 'p',
        'ѕ' | 'Ѕ' => 's',
        'т' | 'Т' | 'Τ' | 'τ' => 't',
        'ν' => 'v',
        'ԝ' => 'w',
        'х' | 'Х' | 'χ' | 'Χ' => 'x',
        'у' | 'У' | 'Υ' => 'y',
        'Ζ' => 'z',
        _ => return None,
    })
}
