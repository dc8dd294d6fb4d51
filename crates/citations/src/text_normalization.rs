//! Normalizes text for output and for comparison. Knows no formats.

use deliberate_core::fold_letters;

/// One line without control characters: runs of white space become one space.
///
/// Bidirectional and invisible characters are removed too, because they can hide text.
pub(crate) fn single_line(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut space = false;
    for it in text.chars() {
        if it.is_whitespace() {
            space = !out.is_empty();
        } else if !it.is_control() && !is_control(it) {
            if space {
                out.push(' ');
            }
            space = false;
            out.push(it);
        }
    }
    out
}

/// [`single_line`], or `None` if it is empty.
pub(crate) fn non_empty_line(text: &str) -> Option<String> {
    Some(single_line(text)).filter(|it| !it.is_empty())
}

/// [`single_line`] of an optional value.
pub(crate) fn optional_line(text: Option<&String>) -> Option<String> {
    text.and_then(|it| non_empty_line(it))
}

fn is_control(it: char) -> bool {
    matches!(it, '\u{200B}' | '\u{200E}' | '\u{200F}' | '\u{202A}'..='\u{202E}' | '\u{2060}'..='\u{2069}' | '\u{FEFF}' | '\u{FFF9}'..='\u{FFFB}')
}

/// Folds to lower case without accents: letters and digits, words separated by one space.
pub fn fold_text(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut space = false;
    for it in fold_letters(text) {
        // An apostrophe joins its word: `don't`, `O'Neill`.
        if matches!(it, '\'' | '’' | 'ʼ') {
            continue;
        }
        if !it.is_alphanumeric() {
            space = !out.is_empty();
            continue;
        }
        if space {
            out.push(' ');
        }
        space = false;
        out.push(it);
    }
    out
}

/// The words of [`fold_text`].
pub(crate) fn folded_words(text: &str) -> Vec<String> {
    fold_text(text)
        .split(' ')
        .filter(|it| !it.is_empty())
        .map(str::to_owned)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_one_line() {
        assert_eq!(
            single_line(" a\r\n\tb\u{0}c\u{202E} d\u{2028}e "),
            "a bc d e"
        );
        assert_eq!(non_empty_line("\n\u{200B} "), None);
    }

    #[test]
    fn folding_takes_accents_and_signs_away() {
        assert_eq!(
            fold_text("Łukasz  Ærø-Müller’s «naïve» Straße"),
            "lukasz aero mullers naive strasse"
        );
        assert_eq!(fold_text("—"), "");
        assert_eq!(folded_words("Ab, cd."), ["ab", "cd"]);
    }
}
