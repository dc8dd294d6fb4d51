//! Scripts that are read from right to left. A page shows them as they look; text is kept as
//! they are read.

use super::words::LayoutWord;

/// Whether a letter belongs to a script read from right to left.
fn is_rtl_char(letter: char) -> bool {
    !letter.is_numeric()
        && matches!(letter, '\u{590}'..='\u{8ff}' | '\u{fb1d}'..='\u{fdff}' | '\u{fe70}'..='\u{fefc}')
}

/// Whether most letters of a word are read from right to left.
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

/// The words of a row, given from left to right, in the order they are read.
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
    // What is read rightwards inside keeps its own order.
    for run in order.chunk_by_mut(|a, b| is_rtl_word(a) == is_rtl_word(b)) {
        if run.first().is_some_and(|first| !is_rtl_word(first)) {
            run.reverse();
        }
    }
    order
}

/// Turns a word around if its letters were shown from left to right but are read the other way.
pub(super) fn reverse_if_rtl(word: &mut LayoutWord) {
    if word.text.is_ascii() || !is_rtl_word(word) {
        return;
    }
    word.text = word.text.chars().rev().collect();
}
