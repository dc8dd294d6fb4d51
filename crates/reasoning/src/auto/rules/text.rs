//! Splits a text into words and sentences and replaces its quotations.

/// Replaces a quotation.
const QUOTE_PLACEHOLDER: &str = " quoted ";

/// The token for a pause among the words of a sentence.
pub(super) const PAUSE_TOKEN: &str = ",";

#[derive(Debug, Default)]
pub(super) struct RuleSentence {
    /// Words and pause tokens.
    pub(super) words: Vec<String>,
    pub(super) is_question: bool,
}

/// Splits a text into lower-case words of letters, digits and apostrophes.
pub(super) fn split_words(text: &str) -> Vec<String> {
    text.split(|letter: char| !letter.is_alphanumeric() && !matches!(letter, '\'' | '’'))
        .map(|word| word.replace('’', "'").trim_matches('\'').to_lowercase())
        .filter(|word| !word.is_empty())
        .collect()
}

/// The position in `words` at which the consecutive words of `phrase` begin.
pub(super) fn find_phrase(words: &[String], phrase: &str) -> Option<usize> {
    let phrase: Vec<&str> = phrase.split(' ').collect();
    let mut windows = words.windows(phrase.len());
    windows.position(|window| window == phrase.as_slice())
}

/// The words after `phrase`, if `words` begin with it.
pub(super) fn strip_phrase<'a>(words: &'a [String], phrase: &str) -> Option<&'a [String]> {
    let phrase: Vec<&str> = phrase.split(' ').collect();
    let (start, rest) = words.split_at_checked(phrase.len())?;
    (start == phrase.as_slice()).then_some(rest)
}

/// Replaces each quotation and each piece of code with a placeholder. One that is not closed
/// reaches to the end of the text.
pub(super) fn replace_quotations(text: &str) -> String {
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
        '\'' if !before.is_alphanumeric() && after.is_some_and(char::is_alphanumeric) => Some('\''),
        _ => None,
    }
}

/// Splits prose into sentences. Lists and lines without punctuation are not prose.
pub(super) fn split_sentences(text: &str) -> Option<Vec<RuleSentence>> {
    let text = text.trim();
    let lines: Vec<&str> = text.lines().map(str::trim).collect();
    let lines: Vec<&str> = lines.into_iter().filter(|line| !line.is_empty()).collect();
    let (_, upper) = lines.split_last()?;
    let goes_on = |line: &&str| line.ends_with(['.', '!', '?', ':', ',', ';']);
    if lines.iter().any(|line| is_list_item(line)) || !upper.iter().all(goes_on) {
        return None;
    }
    let mut sentences = Vec::new();
    let mut start = 0;
    for (at, mark) in text.char_indices() {
        let end = at + mark.len_utf8();
        let rest = text.get(end..).unwrap_or_default();
        if !matches!(mark, '.' | '!' | '?') || rest.starts_with(|next: char| !next.is_whitespace())
        {
            continue;
        }
        // "e.g. this" is one sentence.
        if rest.trim_start().starts_with(char::is_lowercase) {
            continue;
        }
        sentences.push(RuleSentence {
            words: split_words_and_pauses(text.get(start..at).unwrap_or_default()),
            is_question: mark == '?',
        });
        start = end;
    }
    sentences.push(RuleSentence {
        words: split_words_and_pauses(text.get(start..).unwrap_or_default()),
        is_question: false,
    });
    sentences.retain(|sentence| !sentence.words.is_empty());
    Some(sentences)
}

fn split_words_and_pauses(text: &str) -> Vec<String> {
    let clauses = text
        .split([',', ';', ':', '(', ')', '—', '–'])
        .map(split_words);
    let clauses: Vec<_> = clauses.filter(|clause| !clause.is_empty()).collect();
    clauses.join(&PAUSE_TOKEN.to_owned())
}

fn is_list_item(line: &str) -> bool {
    let number = line.trim_start_matches(|letter: char| letter.is_ascii_digit());
    line.starts_with(['-', '*', '•', '–', '#', '>'])
        || (number.len() < line.len() && number.starts_with(['.', ')']))
}
