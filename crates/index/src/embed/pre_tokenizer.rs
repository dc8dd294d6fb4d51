//! Splits text into the words of the vocabulary: lower case, without accents, each punctuation
//! mark and each Chinese character a word. Knows nothing of the vocabulary.

use unicode_general_category::{GeneralCategory as Category, get_general_category};
use unicode_normalization::char::decompose_canonical;

/// Calls `take` with each word of a text, in order.
pub(super) fn for_each_word(text: &str, mut take: impl FnMut(&str)) {
    let mut word = String::new();
    for character in text.chars() {
        if character.is_ascii() {
            push_ascii(character, &mut word, &mut take);
        } else {
            push_unicode(character, &mut word, &mut take);
        }
    }
    finish_word(&mut word, &mut take);
}

fn push_ascii(character: char, word: &mut String, take: &mut impl FnMut(&str)) {
    match character {
        _ if character.is_ascii_alphanumeric() => word.push(character.to_ascii_lowercase()),
        ' ' | '\t' | '\n' | '\r' => finish_word(word, take),
        _ if character.is_ascii_punctuation() => push_single(character, word, take),
        _ => {}
    }
}

fn push_unicode(character: char, word: &mut String, take: &mut impl FnMut(&str)) {
    if character == char::REPLACEMENT_CHARACTER || is_invisible(character) {
        return;
    }
    let stands_alone = is_chinese(character);
    if character.is_whitespace() || stands_alone {
        finish_word(word, take);
    }
    if character.is_whitespace() {
        return;
    }
    decompose_canonical(character, |part| {
        if get_general_category(part) == Category::NonspacingMark {
            return;
        }
        for lower in part.to_lowercase() {
            if is_punctuation(lower) {
                push_single(lower, word, take);
            } else {
                word.push(lower);
            }
        }
    });
    if stands_alone {
        finish_word(word, take);
    }
}

fn finish_word(word: &mut String, take: &mut impl FnMut(&str)) {
    if !word.is_empty() {
        take(word);
        word.clear();
    }
}

fn push_single(mark: char, word: &mut String, take: &mut impl FnMut(&str)) {
    finish_word(word, take);
    take(mark.encode_utf8(&mut [0; 4]));
}

/// Control, format and unassigned characters.
fn is_invisible(character: char) -> bool {
    matches!(
        get_general_category(character),
        Category::Control
            | Category::Format
            | Category::PrivateUse
            | Category::Surrogate
            | Category::Unassigned
    )
}

fn is_punctuation(character: char) -> bool {
    character.is_ascii_punctuation()
        || matches!(
            get_general_category(character),
            Category::ConnectorPunctuation
                | Category::DashPunctuation
                | Category::OpenPunctuation
                | Category::ClosePunctuation
                | Category::InitialPunctuation
                | Category::FinalPunctuation
                | Category::OtherPunctuation
        )
}

/// The blocks that are written without spaces and that the vocabulary holds by character. Other
/// East Asian scripts are words here, as they were when the vocabulary was made.
fn is_chinese(character: char) -> bool {
    matches!(
        u32::from(character),
        0x3400..=0x4DBF
            | 0x4E00..=0x9FFF
            | 0xF900..=0xFAFF
            | 0x2_0000..=0x2_A6DF
            | 0x2_A700..=0x2_B81F
            | 0x2_B920..=0x2_CEAF
            | 0x2_F800..=0x2_FA1F
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<String> {
        let mut found = Vec::new();
        for_each_word(text, |word| found.push(word.to_owned()));
        found
    }

    #[test]
    fn words_are_small_and_bare() {
        assert_eq!(words("Naïve CAFÉ\tÅngström"), ["naive", "cafe", "angstrom"]);
        assert_eq!(words("İstanbul ΣΑΣ"), ["istanbul", "σασ"]);
    }

    #[test]
    fn marks_and_chinese_characters_stand_alone() {
        assert_eq!(words("a-b, (c)…"), ["a", "-", "b", ",", "(", "c", ")", "…"]);
        assert_eq!(words("x東京y"), ["x", "東", "京", "y"]);
    }

    #[test]
    fn what_can_not_be_seen_is_left_out() {
        assert_eq!(
            words("so\u{ad}lid\u{200b} \u{0}\u{7}\u{fffd}x\u{a0}y"),
            ["solid", "x", "y"]
        );
        assert!(words(" \n\u{feff}").is_empty());
    }
}
