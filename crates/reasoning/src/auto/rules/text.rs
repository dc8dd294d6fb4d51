//! Splits a text into comparable words and sentences, and matches phrases in them.

use deliberate_core::fold_letters;

/// Replaces a quotation.
const QUOTE_PLACEHOLDER: &str = " quoted ";

/// The token for a pause among the words of a sentence.
pub(super) const PAUSE_TOKEN: &str = ",";

/// Splits a text into folded words and pauses. A Chinese or Japanese character is a word of its own.
pub(super) fn split_words(text: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    let mut word = String::new();
    for letter in fold_letters(text).chain([' ']) {
        let stands_alone = is_ideograph_or_kana(letter);
        if letter.is_alphanumeric() && !stands_alone {
            word.push(letter);
            continue;
        }
        if !word.is_empty() {
            words.push(std::mem::take(&mut word));
        }
        if stands_alone && letter.is_alphanumeric() {
            words.push(letter.to_string());
        } else if ",;:()—–、".contains(letter) && words.last().is_some_and(|it| it != PAUSE_TOKEN)
        {
            words.push(PAUSE_TOKEN.to_owned());
        }
    }
    words
}

const fn is_ideograph_or_kana(letter: char) -> bool {
    matches!(letter, '\u{3005}' | '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{9fff}')
}

/// A sequence of folded words; one that ends with `*` stands for all words that begin so.
pub(super) struct Phrase {
    words: Vec<PhraseWord>,
    /// Whether it counts only where an instruction begins.
    pub(super) is_instruction: bool,
}

struct PhraseWord {
    text: String,
    is_prefix: bool,
}

impl Phrase {
    pub(super) fn new(text: &str) -> Self {
        let word = |text: &str| {
            let is_prefix = text.ends_with('*');
            let words = split_words(text).into_iter();
            words.map(move |text| PhraseWord { text, is_prefix })
        };
        Self {
            words: text.split_whitespace().flat_map(word).collect(),
            is_instruction: text.starts_with('^'),
        }
    }

    pub(super) fn len(&self) -> usize {
        self.words.len()
    }

    pub(super) fn starts(&self, words: &[String]) -> bool {
        let is_equal = |(pattern, word): (&PhraseWord, &String)| {
            *word == pattern.text || (pattern.is_prefix && word.starts_with(&pattern.text))
        };
        words.len() >= self.len() && self.words.iter().zip(words).all(is_equal)
    }

    /// The positions at which the phrase begins.
    pub(super) fn positions(&self, words: &[String]) -> impl Iterator<Item = usize> {
        (0..words.len()).filter(|at| words.get(*at..).is_some_and(|rest| self.starts(rest)))
    }
}

/// The words after the longest of the phrases that begins them.
pub(super) fn strip_longest<'words, 'phrases>(
    words: &'words [String],
    phrases: impl Iterator<Item = &'phrases Phrase>,
) -> Option<&'words [String]> {
    let fitting = phrases.filter(|phrase| phrase.starts(words));
    words.get(fitting.map(Phrase::len).max()?..)
}

/// Splits a text without its quotations and list items into the words of its sentences.
pub(super) fn split_sentences(text: &str) -> Vec<Vec<String>> {
    let text = replace_quotations(text);
    let lines = text.lines().map(str::trim);
    let mut sentences = Vec::new();
    for line in lines.filter(|line| !is_list_item(line)) {
        let mut start = 0;
        for (at, mark) in line.char_indices() {
            let end = at + mark.len_utf8();
            let rest = line.get(end..).unwrap_or_default();
            let ends = match mark {
                '。' | '！' | '？' => true,
                '.' | '!' | '?' => !rest.starts_with(char::is_alphanumeric),
                _ => false,
            };
            if ends {
                sentences.push(split_words(line.get(start..at).unwrap_or_default()));
                start = end;
            }
        }
        sentences.push(split_words(line.get(start..).unwrap_or_default()));
    }
    sentences.retain(|sentence| !sentence.is_empty());
    sentences
}

/// Replaces each quotation and each piece of code with a placeholder. One that is not closed
/// reaches to the end of the text.
fn replace_quotations(text: &str) -> String {
    let mut left = String::new();
    let mut before = ' ';
    let mut rest = text.chars();
    while let Some(letter) = rest.next() {
        let after = rest.clone().next();
        let Some(end) = closing_quote(letter, before, after) else {
            left.push(letter);
            before = letter;
            continue;
        };
        left.push_str(QUOTE_PLACEHOLDER);
        before = letter;
        while let Some(inside) = rest.next() {
            let next = rest.clone().next();
            // An apostrophe inside a word does not close a quotation.
            let in_word = end == '\'' && next.is_some_and(char::is_alphanumeric);
            if inside == end && !in_word {
                break;
            }
        }
    }
    left
}

/// The character that closes the quotation opened by `letter`, if it opens one.
fn closing_quote(letter: char, before: char, after: Option<char>) -> Option<char> {
    match letter {
        '"' | '`' => Some(letter),
        '“' => Some('”'),
        '„' => Some('“'),
        '«' => Some('»'),
        '‘' => Some('’'),
        '「' => Some('」'),
        '『' => Some('』'),
        '\'' if !before.is_alphanumeric() && after.is_some_and(char::is_alphanumeric) => Some('\''),
        _ => None,
    }
}

fn is_list_item(line: &str) -> bool {
    let number = line.trim_start_matches(|letter: char| letter.is_ascii_digit());
    line.starts_with(['-', '*', '•', '–', '#', '>'])
        || (number.len() < line.len() && number.starts_with(['.', ')']))
}
