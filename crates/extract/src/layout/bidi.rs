//! Right-to-left scripts. A page has them in visual order; text is stored in logical order.

use super::words::LayoutWord;

fn is_rtl_char(letter: char) -> bool {
    !letter.is_numeric()
        && matches!(letter, '\u{590}'..='\u{8ff}' | '\u{fb1d}'..='\u{fdff}' | '\u{fe70}'..='\u{fefc}')
}

fn is_rtl_word(word: &LayoutWord) -> bool {
    let (mut leftward, mut rightward) = (0, 0);
    for letter in word.text.chars() {
        if is_rtl_char(letter) {
            leftward += 1;
        } else if letter.is_alphanumeric() {
            rightward += 1;
        }
    }
    leftward > rightward
}

/// Orders the words of a row, given from left to right, in reading order.
pub(super) fn order_words(words: &[LayoutWord]) -> Vec<&LayoutWord> {
    let letters = |leftward: bool| -> usize {
        words
            .iter()
            .filter(|word| is_rtl_word(word) == leftward)
            .map(|word| word.text.chars().count())
            .sum()
    };
    let mut order: Vec<&LayoutWord> = words.iter().collect();
    if letters(true) <= letters(false) {
        return order;
    }
    order.reverse();
    // Runs of left-to-right words keep their order.
    for run in order.chunk_by_mut(|a, b| is_rtl_word(a) == is_rtl_word(b)) {
        if run.first().is_some_and(|first| !is_rtl_word(first)) {
            run.reverse();
        }
    }
    order
}

/// Reverses a right-to-left word that is stored in visual order.
pub(super) fn reverse_if_rtl(word: &mut LayoutWord) {
    if word.text.is_ascii() || !is_rtl_word(word) {
        return;
    }
    word.text = word.text.chars().rev().collect();
}
